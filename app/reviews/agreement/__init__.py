"""Agreement of the judge with people, and of people with each other."""
