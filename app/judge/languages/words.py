"""Words in all scripts: letters, digits and the marks that belong to them."""

import re

# The vowel signs and accents that Python's \w leaves out: combining marks, Hebrew and Arabic
# points, the Indic scripts without their full stops, Thai and Lao, and the two joiners.
MARKS = (
    r"\u0300-\u036f\u0591-\u05bd\u05bf\u0610-\u061a\u064b-\u065f\u0670"
    r"\u0900-\u0963\u0966-\u0dff\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd"
    r"\u200c\u200d"
)
LETTER = rf"[^\W_]|[{MARKS}]"
_NO_LETTER = rf"[^\w{MARKS}]|_"
# Where a word begins or ends: what \b means where letters have no marks.
_EDGE = rf"(?:(?<![\w{MARKS}])(?=[\w{MARKS}])|(?<=[\w{MARKS}])(?![\w{MARKS}]))"

_PLAIN_WORD = re.compile(r"[^\W_]+")
_CONTRACTED = re.compile(r"(?<=[a-z])n t\b", re.IGNORECASE)
WORD = re.compile(rf"(?:{LETTER})++")
# Scripts that put no space between words: Thai, Lao, Khmer, Burmese, kana and Han.
UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]"
)


def words_in(text: str) -> list[str]:
    """List the words of a text as they are written, whatever its script."""
    return (_PLAIN_WORD if text.isascii() else WORD).findall(text)


def phrase_pattern(phrase: str, *, most_between: int) -> str:
    """Spell a phrase as a pattern: its words in their order, up to so many other signs between.

    "don't" may be written without its apostrophe. Empty for a phrase without words. Where a script
    puts no space between words it is found within other letters. A phrase is a text: nothing in it is
    read as a pattern.
    """
    if holds_unspaced(phrase):
        return re.escape(phrase.strip())
    words = [re.escape(word) for word in words_in(phrase)]
    if not words:
        return ""
    if phrase.isascii():
        between = rf"[\W_]{{1,{most_between}}}"
        parts = _CONTRACTED.split(" ".join(words))
        return r"\b" + r"n\W?t".join(part.replace(" ", between) for part in parts) + r"\b"
    return _EDGE + rf"(?:{_NO_LETTER}){{1,{most_between}}}".join(words) + _EDGE


def holds_unspaced(phrase: str) -> bool:
    """Tell whether a phrase holds letters of a script without spaces, so that it has no edges."""
    return not phrase.isascii() and UNSPACED.search(phrase) is not None


def is_unspaced(text: str) -> bool:
    """Tell whether most of a text is in a script without spaces, so that words can't be counted."""
    return not text.isascii() and 2 * len(UNSPACED.findall(text)) > len(text)
