"""Agreement of the judge with people's reviews, and of people with each other."""
