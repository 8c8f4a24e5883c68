"""Linear models of a whole conversation: features and n-grams, weighed by numbers kept as JSON."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from app.ai.weights import PackedRows, model_document

# Weights are kept as whole thousandths, whose sums are exact.
SCALE = 1000
_SIDES = "ac"
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
class Tasks:
    """The words, grams of one word, of the tasks that a model was fitted to.

    `rows` holds for each word that is known the square of its rarity, and what the word adds to the
    cosine between a conversation and each task. `unknown` is the rarity of any other word.
    """

    unknown: float
    rows: Mapping[str, Sequence[int]]

    def likeness(self, words: int, sums: Sequence[int]) -> float:
        """Return the cosine, 0 to 1, between a conversation and the task that is most like it.

        Args:
            words: how many different words the conversation has.
            sums: how many of them are known, and the sums of their rows.
        """
        if not sums[0]:
            return 0.0
        known_words, squares, *cosines = sums
        length = math.sqrt(squares / SCALE**2 + (words - known_words) * self.unknown**2)
        return max(cosines) / SCALE / length


@dataclass(frozen=True, slots=True)
class ConversationModel:
    """`features` holds name, mean, scale and weight. A `rule` comes with the `tasks` that were known."""

    name: str
    bias: float
    features: tuple[tuple[str, float, float, float], ...]
    rule: HandSetRule | None
    tasks: Tasks | None

    def probability(
        self, values: Mapping[str, float], of_grams: float, likeness: float | None
    ) -> float:
        """Return the probability, 0 to 1, that what the model was trained on is so.

        Args:
            of_grams: what the grams add to the logit.
            likeness: that to the nearest of the tasks; None without tasks.
        """
        if self.rule is None or likeness is None:
            logit = self._logit(values, of_grams)
        else:
            trust = self.rule.trust(likeness)
            logit = (1 - trust) * self.rule.logit(values)
            if trust:
                logit += trust * self._logit(values, of_grams)
        return 1 / (1 + math.exp(-min(30.0, max(-30.0, logit))))

    def _logit(self, values: Mapping[str, float], of_grams: float) -> float:
        # A feature counts by its distance from the mean in scales, at most three.
        logit = self.bias
        for name, mean, scale, weight in self.features:
            logit += weight * min(LIMIT, max(-LIMIT, (values[name] - mean) / scale))
        return logit + of_grams


class ConversationModels:
    """Models that share one table of grams, so that those of a conversation are looked up once."""

    def __init__(self, documents: Sequence[Mapping[str, Any]]) -> None:
        """Read the models from their JSON documents."""
        self._models = tuple(map(_model_from, documents))
        ngrams = [
            {gram: (round(weight * SCALE),) for gram, weight in document["ngrams"].items()}
            for document in documents
        ]
        tasks = [model.tasks.rows for model in self._models if model.tasks is not None]
        self._tables = PackedRows(*ngrams, *tasks)

    def probabilities(
        self, values: Mapping[str, float], grams: Collection[str]
    ) -> dict[str, float]:
        """Return by the name of each model the probability, 0 to 1, of what it was trained on."""
        sums = self._tables.columns(self._tables.total(grams))
        of_tasks, words = iter(sums[len(self._models) :]), len(words_of(grams))
        chances = {}
        for model, (known_grams, weight) in zip(self._models, sums, strict=False):
            likeness = None if model.tasks is None else model.tasks.likeness(words, next(of_tasks))
            # The grams add the sum of their weights over the root of how many are known.
            of_grams = weight / SCALE / math.sqrt(known_grams or 1)
            chances[model.name] = model.probability(values, of_grams, likeness)
        return chances


@cache
def shipped_models() -> ConversationModels:
    """Return the models of the package, `resolved` and `annoyed`."""
    return ConversationModels([model_document(name) for name in ("resolved", "annoyed")])


def _model_from(document: Mapping[str, Any]) -> ConversationModel:
    rule, tasks = document["rule"], document["tasks"]
    return ConversationModel(
        name=document["name"],
        bias=document["bias"],
        features=tuple(
            (name, mean, scale, weight) for name, mean, scale, weight in document["features"]
        ),
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


def tasks_from(document: Mapping[str, Any]) -> Tasks:
    """Read the tasks from their JSON document."""
    weights = document["weights"].values()
    return Tasks(
        unknown=document["unknown"],
        rows={
            word: (
                round(rarity * SCALE) ** 2,
                *(round(task.get(word, 0.0) * SCALE) for task in weights),
            )
            for word, rarity in document["rarity"].items()
        },
    )


def words_of(grams: Collection[str]) -> list[str]:
    """Pick the grams of one word, wherever a side says it."""
    return [gram for gram in grams if " " not in gram and gram[0] in _SIDES]
