"""Lists of words as they are written down here: in a text, one after the other."""


def split_words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())
