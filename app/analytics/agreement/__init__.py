"""Agreement of the engine with people's reviews, and of people with each other."""
