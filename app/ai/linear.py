"""Small linear models of our own: features and n-grams, weighed by numbers kept as JSON."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

MODELS = Path(__file__).parent / "models"
LIMIT = 3.0


@dataclass(frozen=True, slots=True)
class LinearModel:
    """`features` holds name, mean, scale and weight; `ngrams` a weight for each known gram."""

    name: str
    bias: float
    features: tuple[tuple[str, float, float, float], ...]
    ngrams: Mapping[str, float]

    def probability(self, values: Mapping[str, float], grams: Iterable[str]) -> float:
        """Return the probability, 0 to 1, that what the model was trained on is so.

        A feature counts by its distance from the mean in scales, at most three; the grams by the
        sum of their weights over the root of how many are known.
        """
        logit = self.bias
        for name, mean, scale, weight in self.features:
            logit += weight * min(LIMIT, max(-LIMIT, (values[name] - mean) / scale))
        # In one order, whatever the set's, so that the same input gives the same sum.
        known = sorted(self.ngrams[gram] for gram in grams if gram in self.ngrams)
        if known:
            logit += math.fsum(known) / math.sqrt(len(known))
        return 1 / (1 + math.exp(-min(30.0, max(-30.0, logit))))


def model_from(document: Mapping[str, Any]) -> LinearModel:
    """Read a model from its JSON document."""
    return LinearModel(
        name=document["name"],
        bias=document["bias"],
        features=tuple(
            (name, mean, scale, weight) for name, mean, scale, weight in document["features"]
        ),
        ngrams=document["ngrams"],
    )


@cache
def shipped(name: str) -> LinearModel:
    """Return a model of the package: `resolved` or `annoyed`."""
    return model_from(json.loads((MODELS / f"{name}.json").read_text("utf-8")))
