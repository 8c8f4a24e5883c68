"""Pages of lists: evaluations, their saved views and actions, and the queue of reviews."""
