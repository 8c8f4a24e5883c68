"""Classifier of sentences: a logistic regression for each label over the features of a sentence.

Each known feature adds its weight over the square root of how many are known.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from app.judge.acts.sentences import MARK, Feature, Sentence, sentence_features, word_features
from app.judge.weights import PackedRows

# Weights are kept as whole hundredths, whose sums are exact.
SCALE = 100
_WORDS_REMEMBERED = 20_000


@dataclass(frozen=True, slots=True)
class Classifier:
    """The labels of one side, with a bias each, and the weights of every known feature for them.

    `of_word` adds up the weights of the features that a word has by itself.
    """

    labels: tuple[str, ...]
    biases: tuple[float, ...]
    weights: PackedRows[Feature]
    of_word: Callable[[str], int]

    def logits(self, sentence: Sentence, context: Iterable[str] = ()) -> list[float]:
        """Return the logit of each label, in the order of the labels.

        Args:
            context: features of what was said before the sentence.
        """
        total = sum(map(self.of_word, set(sentence.words)))
        total += self.weights.total(sentence_features(sentence))
        total += self.weights.total(map(_feature, context))
        ((known, *sums),) = self.weights.columns(total)
        scale = SCALE * math.sqrt(known or 1)
        return [bias + total / scale for bias, total in zip(self.biases, sums, strict=True)]


def classifier_from(document: Mapping[str, Any]) -> Classifier:
    """Read a classifier from its JSON document."""
    # A line of 1,500 characters has some thousand features, of weights in the thousands at most.
    weights = PackedRows(
        {_feature(text): row for text, row in document["weights"].items()}, bits=32
    )

    @lru_cache(maxsize=_WORDS_REMEMBERED)
    def of_word(word: str) -> int:
        return weights.total(word_features(word))

    return Classifier(tuple(document["labels"]), tuple(document["biases"]), weights, of_word)


def _feature(text: str) -> Feature:
    # Pairs of words are told by two strings that are there anyway, rather than by a new one.
    return tuple(text.split(" ")) if " " in text or text[0] == MARK else text


def probability_of(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))
