"""Small linear models of our own: features and n-grams, weighed by numbers kept as JSON."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from app.ai.insights.tasks import Tasks, tasks_from
from app.ai.shipped_models import document_of

LIMIT = 3.0


@dataclass(frozen=True, slots=True)
class HandSetRule:
    """What judges a task that a model was not fitted to: features weighed by hand.

    The model takes the rule's place as the likeness to one of `tasks`, 0 to 1, rises from `strange`
    to `familiar`.
    """

    bias: float
    weights: tuple[tuple[str, float], ...]
    strange: float
    familiar: float

    def logit(self, values: Mapping[str, float]) -> float:
        return self.bias + math.fsum(weight * values[name] for name, weight in self.weights)

    def trust(self, likeness: float) -> float:
        """Return how far, 0 to 1, the model is to be trusted at this likeness."""
        return min(1.0, max(0.0, (likeness - self.strange) / (self.familiar - self.strange)))


@dataclass(frozen=True, slots=True)
class ConversationModel:
    """`features` holds name, mean, scale and weight; `ngrams` a weight for each known gram.

    A `rule` comes with the `tasks` that the model was fitted to.
    """

    name: str
    bias: float
    features: tuple[tuple[str, float, float, float], ...]
    ngrams: Mapping[str, float]
    rule: HandSetRule | None = None
    tasks: Tasks | None = None

    def probability(self, values: Mapping[str, float], grams: Collection[str]) -> float:
        """Return the probability, 0 to 1, that what the model was trained on is so."""
        if self.rule is None or self.tasks is None:
            logit = self._logit(values, grams)
        else:
            trust = self.rule.trust(self.tasks.likeness(grams))
            logit = (1 - trust) * self.rule.logit(values)
            if trust:
                logit += trust * self._logit(values, grams)
        return 1 / (1 + math.exp(-min(30.0, max(-30.0, logit))))

    def _logit(self, values: Mapping[str, float], grams: Collection[str]) -> float:
        # A feature counts by its distance from the mean in scales, at most three; the grams by the
        # sum of their weights over the root of how many are known.
        logit = self.bias
        for name, mean, scale, weight in self.features:
            logit += weight * min(LIMIT, max(-LIMIT, (values[name] - mean) / scale))
        known = [weight for weight in map(self.ngrams.get, grams) if weight is not None]
        if known:
            # fsum is exact, whatever the order: the same grams give the same sum.
            logit += math.fsum(known) / math.sqrt(len(known))
        return logit


def model_from(document: Mapping[str, Any]) -> ConversationModel:
    """Read a model from its JSON document."""
    rule, tasks = document["rule"], document["tasks"]
    return ConversationModel(
        name=document["name"],
        bias=document["bias"],
        features=tuple(
            (name, mean, scale, weight) for name, mean, scale, weight in document["features"]
        ),
        ngrams=document["ngrams"],
        rule=None if rule is None else _rule_from(rule),
        tasks=None if tasks is None else tasks_from(tasks),
    )


def _rule_from(document: Mapping[str, Any]) -> HandSetRule:
    return HandSetRule(
        bias=document["bias"],
        weights=tuple(document["weights"].items()),
        strange=document["strange"],
        familiar=document["familiar"],
    )


@cache
def shipped(name: str) -> ConversationModel:
    """Return a model of the package: `resolved` or `annoyed`."""
    return model_from(document_of(name))
