"""Likeness of a conversation to the tasks that a model was trained on."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Weights are kept as whole thousandths, whose sums are exact.
SCALE = 1000
_SIDES = "ac"


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


def words_of(grams: Collection[str]) -> list[str]:
    """Pick the grams of one word, wherever a side says it."""
    return [gram for gram in grams if " " not in gram and gram[0] in _SIDES]


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
