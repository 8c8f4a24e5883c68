"""Likeness of lines: by the words that carry their subject and, with the encoder, by their meaning."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Protocol

from app.judge.acts.features import Heard
from app.judge.languages.lexicon import folded
from app.judge.languages.words import words_in

# From here on two lines are taken to say the same.
ALIKE = 0.6
_MOST_SENTENCES = 12
_NUMBER = re.compile(r"\d+")
# Words of courtesy and grammar, which say nothing about the subject.
_COMMON = frozenset(
    [
        "a",
        "an",
        "the",
        "and",
        "or",
        "but",
        "so",
        "to",
        "of",
        "for",
        "in",
        "on",
        "at",
        "is",
        "are",
        "was",
        "be",
        "i",
        "you",
        "we",
        "it",
        "this",
        "that",
        "my",
        "your",
        "our",
        "me",
        "us",
        "please",
        "just",
        "with",
        "will",
        "would",
        "can",
        "could",
        "do",
    ]
)


class MeaningReader(Protocol):
    """Reads the meaning of a line as a vector of length 1."""

    def meaning(self, text: str, *, by_customer: bool) -> Any:
        """Return the vector of the beginning of a line."""
        ...


class Likeness:
    """Compares lines; without a reader by their words alone."""

    def __init__(self, reader: MeaningReader | None) -> None:
        self._reader = reader

    def is_like(
        self,
        line: str,
        alike: Iterable[str],
        unlike: Iterable[str] = (),
        *,
        by_customer: bool = False,
        least: float = ALIKE,
    ) -> bool:
        """Tell whether a line, or a sentence of it, is like one of some examples and less like the others."""
        near = self._nearest(line, alike, by_customer)
        return near >= least and near > self._nearest(line, unlike, by_customer)

    def _nearest(self, line: str, examples: Iterable[str], by_customer: bool) -> float:
        sentences = Heard(by_customer, line).sentences[:_MOST_SENTENCES]
        parts = [line[sentence.start : sentence.end] for sentence in sentences]
        pairs = ((part, example) for example in examples for part in {line, *parts})
        return max((self._of(*pair, by_customer) for pair in pairs), default=0.0)

    def _of(self, one: str, other: str, by_customer: bool) -> float:
        shared = _shared(_content(one), _content(other))
        if self._reader is None or shared == 1.0:
            return shared
        first, second = (
            self._reader.meaning(text, by_customer=by_customer) for text in (one, other)
        )
        return max(shared, float(first @ second))


# Each line is compared with each example.
@lru_cache(2_000)
def _content(text: str) -> frozenset[str]:
    words = (_NUMBER.sub("0", folded(word)) for word in words_in(text))
    every = frozenset(words)
    return every - _COMMON or every


def _shared(one: frozenset[str], other: frozenset[str]) -> float:
    return 2 * len(one & other) / max(1, len(one) + len(other))
