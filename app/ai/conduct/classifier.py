"""Logistic regression over the n-grams of a sentence: how likely each label is.

The features of a sentence are its words, the pieces of four and five letters of its longer words,
its pairs and triples of words and its punctuation. Each known one adds its weight over the square root of
how many are known.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, TypeAlias

from app.ai.conduct.sentences import Sentence
from app.ai.packed_rows import PackedRows
from app.ai.shipped_models import document_of

# Weights are kept as whole hundredths, whose sums are exact.
SCALE = 100
_START, _END, _MARK = "<", ">", "#"
_LEAST_LETTERS = 5
_PIECES = (4, 5)
_SHORT = 3
_WORDS_REMEMBERED = 20_000

# A word or a piece of one by itself; a pair or triple of words, or a mark, as a tuple.
_Feature: TypeAlias = str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Classifier:
    """The labels of one side, with a bias each, and the weights of every known feature for them.

    `of_word` adds up the weights of the features that a word has by itself.
    """

    labels: tuple[str, ...]
    biases: tuple[float, ...]
    weights: PackedRows[_Feature]
    of_word: Callable[[str], int]

    def logits(self, sentence: Sentence) -> list[float]:
        """Return the logit of each label, in the order of the labels."""
        of_words = sum(map(self.of_word, set(sentence.words)))
        total = of_words + self.weights.total(_sentence_features(sentence))
        ((known, *sums),) = self.weights.columns(total)
        scale = SCALE * math.sqrt(known or 1)
        return [bias + total / scale for bias, total in zip(self.biases, sums, strict=True)]


def probability_of(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


def features_of(sentence: Sentence) -> Iterator[str]:
    """Yield the features of a sentence as texts; a piece of two words comes twice."""
    for word in dict.fromkeys(sentence.words):
        yield from word_features(word)
    yield from map(" ".join, _sentence_features(sentence))


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


def _sentence_features(sentence: Sentence) -> set[tuple[str, ...]]:
    framed = (_START, *sentence.words, _END)
    triples = zip(framed, framed[1:], framed[2:], strict=False)
    features: set[tuple[str, ...]] = {*pairwise(framed), *triples}
    if sentence.questions:
        features.add(("#?",))
    if sentence.exclamations:
        features.add(("#!",))
        if sentence.exclamations > 1:
            features.add(("#!!",))
    if sentence.shouted:
        features.add(("#caps",))
    if len(sentence.words) <= _SHORT:
        features.add(("#short",))
    return features


def classifier_from(document: Mapping[str, Any]) -> Classifier:
    """Read a classifier from its JSON document."""
    # A line of 1,000 characters has some thousand features, of weights in the thousands at most.
    weights = PackedRows(
        {_feature(text): row for text, row in document["weights"].items()}, bits=32
    )

    @lru_cache(maxsize=_WORDS_REMEMBERED)
    def of_word(word: str) -> int:
        return weights.total(word_features(word))

    return Classifier(tuple(document["labels"]), tuple(document["biases"]), weights, of_word)


def _feature(text: str) -> _Feature:
    # Pairs of words are told by two strings that are there anyway, rather than by a new one.
    return tuple(text.split(" ")) if " " in text or text[0] == _MARK else text


@cache
def shipped(side: str) -> Classifier:
    """Return the classifier of the package for `customer` or `agent` lines."""
    return classifier_from(document_of(f"{side}-turns"))
