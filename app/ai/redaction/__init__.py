"""Takes what identifies or endangers a person out of texts, and tells what stood where."""
