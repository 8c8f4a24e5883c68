"""How alike a conversation is to the tasks that a model was fitted to, by the words of both sides."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

_SIDES = "ac"


@dataclass(frozen=True, slots=True)
class Tasks:
    """The words, grams of one word, of each task that a model was fitted to.

    `rarity` weighs every word that is known, `unknown` is that of any other. `weights` tells for
    each task what a word adds to the cosine between the task and a conversation.
    """

    rarity: Mapping[str, float]
    unknown: float
    weights: tuple[Mapping[str, float], ...]

    def likeness(self, grams: Collection[str]) -> float:
        """Return the cosine, 0 to 1, between a conversation and the task that is most like it."""
        words = words_of(grams)
        known = self.rarity.keys() & words
        # fsum is exact, whatever the order of a set: the same input gives the same sum.
        squares = math.fsum([self.rarity[word] ** 2 for word in known])
        squares += (len(words) - len(known)) * self.unknown**2
        if not squares:
            return 0.0
        best = max(
            (math.fsum(map(task.__getitem__, task.keys() & known)) for task in self.weights),
            default=0.0,
        )
        return best / math.sqrt(squares)


def words_of(grams: Collection[str]) -> set[str]:
    """Pick the grams of one word, wherever a side says it."""
    return {gram for gram in grams if " " not in gram and gram[0] in _SIDES}


def tasks_from(document: Mapping[str, Any]) -> Tasks:
    """Read the tasks from their JSON document."""
    return Tasks(
        rarity=document["rarity"],
        unknown=document["unknown"],
        weights=tuple(document["weights"].values()),
    )
