"""From a sound file of a stranger to a transcript."""
