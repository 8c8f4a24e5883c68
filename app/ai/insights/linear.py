"""Small linear models of our own: features and n-grams, weighed by numbers kept as JSON."""

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

MODELS = Path(__file__).parent / "models"
LIMIT = 3.0


@dataclass(frozen=True, slots=True)
class Rule:
    """What judges where the words are strange to a model: features weighed by hand.

    The model takes the rule's place as the share of the phrases that it knows, grams of two or
    three words of either side, rises from `strange` to `familiar`.
    """

    bias: float
    weights: tuple[tuple[str, float], ...]
    strange: float
    familiar: float

    def logit(self, values: Mapping[str, float]) -> float:
        return self.bias + math.fsum(weight * values[name] for name, weight in self.weights)

    def trust(self, known: float) -> float:
        """Return how far the model is to be trusted, 0 to 1, that knows this share of the phrases."""
        return min(1.0, max(0.0, (known - self.strange) / (self.familiar - self.strange)))


@dataclass(frozen=True, slots=True)
class LinearModel:
    """`features` holds name, mean, scale and weight; `ngrams` a weight for each known gram."""

    name: str
    bias: float
    features: tuple[tuple[str, float, float, float], ...]
    ngrams: Mapping[str, float]
    rule: Rule | None = None

    def probability(self, values: Mapping[str, float], grams: Collection[str]) -> float:
        """Return the probability, 0 to 1, that what the model was trained on is so.

        A feature counts by its distance from the mean in scales, at most three; the grams by the
        sum of their weights over the root of how many are known.
        """
        logit = self.bias
        for name, mean, scale, weight in self.features:
            logit += weight * min(LIMIT, max(-LIMIT, (values[name] - mean) / scale))
        known = self.ngrams.keys() & grams
        if known:
            # In one order, whatever the set's, so that the same input gives the same sum.
            weights = sorted(map(self.ngrams.__getitem__, known))
            logit += math.fsum(weights) / math.sqrt(len(weights))
        if self.rule is not None:
            trust = self.rule.trust(_phrases_in(known) / max(1, _phrases_in(grams)))
            logit = trust * logit + (1 - trust) * self.rule.logit(values)
        return 1 / (1 + math.exp(-min(30.0, max(-30.0, logit))))


def _phrases_in(grams: Collection[str]) -> int:
    return sum([" " in gram for gram in grams])


def model_from(document: Mapping[str, Any]) -> LinearModel:
    """Read a model from its JSON document."""
    rule = document["rule"]
    return LinearModel(
        name=document["name"],
        bias=document["bias"],
        features=tuple(
            (name, mean, scale, weight) for name, mean, scale, weight in document["features"]
        ),
        ngrams=document["ngrams"],
        rule=None if rule is None else _rule_from(rule),
    )


def _rule_from(document: Mapping[str, Any]) -> Rule:
    return Rule(
        bias=document["bias"],
        weights=tuple(document["weights"].items()),
        strange=document["strange"],
        familiar=document["familiar"],
    )


@cache
def shipped(name: str) -> LinearModel:
    """Return a model of the package: `resolved` or `annoyed`."""
    return model_from(json.loads((MODELS / f"{name}.json").read_text("utf-8")))
