"""Logistic regression over the n-grams of a sentence: how likely each label is.

The features of a sentence are its words, the pieces of four and five letters of its longer words,
its pairs and triples of words and its marks. Each known one adds its weight over the square root of
how many are known.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from struct import Struct
from typing import Any

from app.ai.conduct.sentences import Sentence
from app.ai.shipped_models import document_of

# Weights are kept as whole hundredths, whose sums are exact.
SCALE = 100
_START, _END = "<", ">"
_LEAST_LETTERS = 5
_PIECES = (4, 5)
_SHORT = 3
_WORDS_REMEMBERED = 20_000


class _Columns:
    """Packs a row of integers into one, 32 bits for each, so that one addition adds up whole rows."""

    def __init__(self, count: int) -> None:
        self._struct = Struct(f"<{count}i")
        self._signs = int.from_bytes(b"\0\0\0\x80" * count, "little")

    def pack(self, row: Sequence[int]) -> int:
        packed = int.from_bytes(self._struct.pack(*row), "little")
        # A negative number borrows from the next column, as it does in a sum.
        return (packed ^ self._signs) - self._signs

    def unpack(self, total: int) -> tuple[int, ...]:
        packed = (total + self._signs) ^ self._signs
        return self._struct.unpack(packed.to_bytes(self._struct.size, "little"))


@dataclass(frozen=True, slots=True)
class Classifier:
    """The labels of one side, with a bias each, and the weights of every known feature.

    The weights of a feature for all labels are packed into one number, which `unpack` takes apart.
    `of_word` returns how many features a word by itself has, and the sum of their weights.
    """

    labels: tuple[str, ...]
    biases: tuple[float, ...]
    weights: Mapping[str, int]
    of_word: Callable[[str], tuple[int, int]]
    unpack: Callable[[int], tuple[int, ...]]

    def logits(self, sentence: Sentence) -> list[float]:
        """Return the logit of each label, in the order of the labels."""
        known = total = 0
        for word in dict.fromkeys(sentence.words):
            count, row = self.of_word(word)
            known += count
            total += row
        phrases = [row for row in map(self.weights.get, _phrases(sentence)) if row is not None]
        known += len(phrases)
        if not known:
            return list(self.biases)
        scale = SCALE * math.sqrt(known)
        sums = self.unpack(total + sum(phrases))
        return [bias + total / scale for bias, total in zip(self.biases, sums, strict=True)]


def probability_of(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


def features_of(sentence: Sentence) -> Iterator[str]:
    """Yield the features of a sentence; a piece of two words comes twice."""
    for word in dict.fromkeys(sentence.words):
        yield from word_features(word)
    yield from _phrases(sentence)


def word_features(word: str) -> Iterator[str]:
    """Yield a word and the pieces of its letters."""
    yield word
    if len(word) >= _LEAST_LETTERS:
        framed = f"{_START}{word}{_END}"
        pieces = (
            f"~{framed[start : start + length]}"
            for length in _PIECES
            for start in range(len(framed) - length + 1)
        )
        yield from dict.fromkeys(pieces)


def _phrases(sentence: Sentence) -> Iterable[str]:
    framed = (_START, *sentence.words, _END)
    found = [f"{one} {two}" for one, two in pairwise(framed)]
    found += [f"{pair} {three}" for pair, three in zip(found, framed[2:], strict=False)]
    if sentence.questions:
        found.append("#?")
    if sentence.exclamations:
        found.append("#!")
        if sentence.exclamations > 1:
            found.append("#!!")
    if sentence.shouted:
        found.append("#caps")
    if len(sentence.words) <= _SHORT:
        found.append("#short")
    return dict.fromkeys(found)


def classifier_from(document: Mapping[str, Any]) -> Classifier:
    """Read a classifier from its JSON document."""
    columns = _Columns(len(document["labels"]))
    weights = {gram: columns.pack(row) for gram, row in document["weights"].items()}

    @lru_cache(maxsize=_WORDS_REMEMBERED)
    def of_word(word: str) -> tuple[int, int]:
        rows = [weights[gram] for gram in word_features(word) if gram in weights]
        return len(rows), sum(rows)

    return Classifier(
        labels=tuple(document["labels"]),
        biases=tuple(document["biases"]),
        weights=weights,
        of_word=of_word,
        unpack=columns.unpack,
    )


@cache
def shipped(side: str) -> Classifier:
    """Return the classifier of the package for `customer` or `agent` lines."""
    return classifier_from(document_of(f"{side}-turns"))
