"""Languages: words, phrases, lexicons and detection."""
