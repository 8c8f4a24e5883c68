"""Logistic regression over the n-grams of a sentence: how likely each label is.

The features of a sentence are its words, the pieces of four and five letters of its longer words,
its pairs and triples of words and its marks. Each known one adds its weight over the square root of
how many are known.
"""

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, TypeAlias

from app.ai.conduct.sentences import Sentence
from app.ai.shipped_models import document_of

# Weights are kept as whole hundredths, whose sums are exact.
SCALE = 100
_START, _END = "<", ">"
_LEAST_LETTERS = 5
_PIECES = (4, 5)
_SHORT = 3
_WORDS_REMEMBERED = 20_000

_Weights: TypeAlias = tuple[int, Sequence[int]]


@dataclass(frozen=True, slots=True)
class Classifier:
    """The labels of one side, with a bias each, and the weights of every known feature.

    `of_word` returns how many features a word by itself has, and the sums of their weights.
    """

    labels: tuple[str, ...]
    biases: tuple[float, ...]
    weights: Mapping[str, Sequence[int]]
    of_word: Callable[[str], _Weights]

    def probabilities(self, sentence: Sentence) -> dict[str, float]:
        """Return the probability of each label, 0 to 1."""
        known, rows = 0, []
        for word in dict.fromkeys(sentence.words):
            count, row = self.of_word(word)
            known += count
            if count:
                rows.append(row)
        others = [self.weights[gram] for gram in _phrases(sentence) if gram in self.weights]
        known += len(others)
        sums = map(sum, zip(*rows, *others, strict=True)) if known else [0] * len(self.labels)
        scale = SCALE * math.sqrt(known or 1)
        return {
            label: 1 / (1 + math.exp(-(bias + total / scale)))
            for label, bias, total in zip(self.labels, self.biases, sums, strict=True)
        }


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
    pairs = [f"{one} {two}" for one, two in pairwise(framed)]
    triples = [f"{pair} {three}" for pair, three in zip(pairs, framed[2:], strict=False)]
    marks = (
        ("#?", sentence.questions > 0),
        ("#!", sentence.exclamations > 0),
        ("#!!", sentence.exclamations > 1),
        ("#caps", sentence.shouted),
        ("#short", len(sentence.words) <= _SHORT),
    )
    return dict.fromkeys([*pairs, *triples, *(mark for mark, shown in marks if shown)])


def classifier_from(document: Mapping[str, Any]) -> Classifier:
    """Read a classifier from its JSON document."""
    weights: dict[str, Sequence[int]] = {
        gram: array("h", row) for gram, row in document["weights"].items()
    }
    nothing = (0,) * len(document["labels"])

    @lru_cache(maxsize=_WORDS_REMEMBERED)
    def of_word(word: str) -> _Weights:
        rows = [weights[gram] for gram in word_features(word) if gram in weights]
        return (len(rows), tuple(map(sum, zip(*rows, strict=True)))) if rows else (0, nothing)

    return Classifier(
        labels=tuple(document["labels"]),
        biases=tuple(document["biases"]),
        weights=weights,
        of_word=of_word,
    )


@cache
def shipped(side: str) -> Classifier:
    """Return the classifier of the package for `customer` or `agent` lines."""
    return classifier_from(document_of(f"{side}-turns"))
