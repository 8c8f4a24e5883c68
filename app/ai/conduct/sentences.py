"""Splits a line into the sentences that a classifier reads, with their offsets."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_SENTENCE = re.compile(r"\S(?:[^.!?\n]|[.!?](?!\s|$))*(?:[.!?]+(?=\s|$))?")
_TOKEN = re.compile(r"[a-z0-9']+|[?!]")
_CAPITALISED = re.compile(r"[A-Za-z]{3,}")
_MARKS = frozenset("?!")
# Speech recognition writes no full stops: a longer sentence is read in overlapping windows.
_MOST_WORDS = 20
_WINDOW, _STEP = 16, 8
# Far more words than the training texts have would add up to certainty.
_MOST_WORDS_AT_ONCE = 40
_LEAST_SHOUTED = 2


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, or a window of a long one, at `text[start:end]` of its line.

    `words` are in lower case, with 0 for each number. `questions` and `exclamations` count marks;
    `shouted` says that most of its longer words are in capitals.
    """

    start: int
    end: int
    words: tuple[str, ...]
    questions: int
    exclamations: int
    shouted: bool


def sentences_of(text: str) -> list[Sentence]:
    """List the sentences of a text and at the end the whole text, where it is several and short."""
    found = [
        window
        for match in _SENTENCE.finditer(text)
        for window in _windows(text, match.start(), match.end())
    ]
    if len(found) > 1:
        whole = whole_of(text)
        if len(whole.words) <= _MOST_WORDS_AT_ONCE:
            found.append(whole)
    return found


def whole_of(text: str) -> Sentence:
    """Read a text as one sentence, however long it is."""
    return _sentence(text, 0, len(text))


def _windows(text: str, start: int, end: int) -> Iterator[Sentence]:
    words = [match.span() for match in re.finditer(r"\S+", text[start:end])]
    if len(words) <= _MOST_WORDS:
        yield _sentence(text, start, end)
        return
    for first in range(0, len(words) - _STEP, _STEP):
        last = min(first + _WINDOW, len(words)) - 1
        yield _sentence(text, start + words[first][0], start + words[last][1])


def _sentence(text: str, start: int, end: int) -> Sentence:
    written = text[start:end]
    tokens = _TOKEN.findall(written.lower().replace("\u2019", "'"))
    return Sentence(
        start=start,
        end=end,
        words=tuple(
            "0" if token[0].isdigit() else token for token in tokens if token not in _MARKS
        ),
        questions=tokens.count("?"),
        exclamations=tokens.count("!"),
        shouted=_is_shouted(_CAPITALISED.findall(written)),
    )


def _is_shouted(words: Sequence[str]) -> bool:
    shouted = sum(word.isupper() for word in words)
    return shouted >= _LEAST_SHOUTED and 2 * shouted >= len(words)
