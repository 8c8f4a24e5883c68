"""Languages: their detection, words and lexicons."""
