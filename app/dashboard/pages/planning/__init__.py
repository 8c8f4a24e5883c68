"""Pages of review plans: one's own reviews, the plans, and the reviewers."""
