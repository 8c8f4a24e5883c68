"""Likeness of a conversation to the tasks that a model was trained on."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

_SIDES = "ac"


@dataclass(frozen=True, slots=True)
class Tasks:
    """The words, grams of one word, of the tasks that a model was fitted to.

    `rarity` weighs every word that is known, `unknown` is that of any other. `weights` holds what a
    word adds to the cosine between a conversation and each task, in the order of the tasks.
    """

    rarity: Mapping[str, float]
    unknown: float
    weights: Mapping[str, tuple[float, ...]]

    def likeness(self, grams: Collection[str]) -> float:
        """Return the cosine, 0 to 1, between a conversation and the task that is most like it."""
        words = words_of(grams)
        known = [word for word in words if word in self.rarity]
        # fsum is exact, whatever the order: the same words give the same sum.
        squares = math.fsum([self.rarity[word] ** 2 for word in known])
        squares += (len(words) - len(known)) * self.unknown**2
        sums = map(math.fsum, zip(*map(self.weights.__getitem__, known), strict=True))
        return max(sums) / math.sqrt(squares) if known else 0.0


def words_of(grams: Collection[str]) -> list[str]:
    """Pick the grams of one word, wherever a side says it."""
    return [gram for gram in grams if gram[0] in _SIDES and " " not in gram]


def tasks_from(document: Mapping[str, Any]) -> Tasks:
    """Read the tasks from their JSON document."""
    return Tasks(
        rarity=document["rarity"],
        unknown=document["unknown"],
        weights={
            word: tuple(task.get(word, 0.0) for task in document["weights"].values())
            for word in document["rarity"]
        },
    )
