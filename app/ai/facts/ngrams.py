"""The words of a dialogue as the linear models read them: n-grams that say whose they are.

A gram is `a:` or `c:` (agent, customer) or, of the last lines of a side, `A:` or `C:`, and one or
two to three words. Names and numbers are masked, so that it doesn't matter who speaks of what, nor
whether a text was masked before.
"""

import re
from collections.abc import Collection, KeysView

from app.ai.dialogue.turns import Dialogue

NAME, NUMBER = "@", "0"
_PUNCTUATION = "?!"
_TOKEN = re.compile(rf"\[[A-Z_]{{2,20}}\]|[A-Za-z]+(?:'[a-z]+)?|\d+|[{_PUNCTUATION}]")
_MASKS = {"[NAME]": NAME, "[ADDRESS]": NAME, "[EMAIL]": NAME}
_SENTENCE_START = re.compile(r"(?:^|[.!?:\n]\s{0,3})$")
_MOST_CHARS = 1_000


def grams_of(dialogue: Dialogue, end: Collection[int]) -> KeysView[str]:
    """Return the distinct grams of both sides; `end` holds the positions of their last lines."""
    # Kept in their order: reading strings in the order of a hash is twice as slow.
    grams: list[str] = []
    for letter, lines in (("a", dialogue.service), ("c", dialogue.customer)):
        for line in lines:
            words = tokens_of(line.text)
            grams += _grams(letter, words)
            if line.position in end:
                grams += _grams(letter.upper(), words)
    return dict.fromkeys(grams).keys()


def tokens_of(text: str) -> list[str]:
    """Split a text into lower-case words, with names and numbers masked.

    A word with a capital within a sentence is taken for a name, `I` and shouting apart.
    """
    plain = text[:_MOST_CHARS].replace("\u2019", "'")
    tokens = []
    end = 0
    for word in _TOKEN.findall(plain):
        if word.islower() or word in _PUNCTUATION:
            tokens.append(word)
        elif word[0].isdigit():
            tokens.append(NUMBER)
        else:
            # No other token has capitals, so that the first place after the last one is the word's.
            start = plain.index(word, end)
            end = start + len(word)
            tokens.append(_masked(plain, start, word))
    return tokens


def _masked(text: str, start: int, word: str) -> str:
    if word[0] == "[":
        return _MASKS.get(word, NUMBER)
    shouted = len(word) > 1 and word.isupper()
    if not start or not word[0].isupper() or shouted or word.split("'")[0] == "I":
        return word.lower()
    return word.lower() if _SENTENCE_START.search(text, max(0, start - 4), start) else NAME


def _grams(prefix: str, words: list[str]) -> list[str]:
    framed = ["^", *words, "$"]
    ones = [f"{prefix}:{word}" for word in framed]
    twos = [f"{one} {word}" for one, word in zip(ones, framed[1:], strict=False)]
    threes = [f"{two} {word}" for two, word in zip(twos, framed[2:], strict=False)]
    return ones[:-1] + twos + threes
