"""Words of texts, and word lists."""

import re

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text in lower case, with straight apostrophes."""
    return frozenset(_WORD.findall(text.lower().replace("\u2019", "'")))


def split_words(text: str) -> frozenset[str]:
    """Return the words of a word list."""
    return frozenset(text.split())
