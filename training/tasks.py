"""The words of the tasks that a model is fitted to, by which it knows what is like them."""

import math
from collections import Counter
from typing import Any

from app.ai.insights.linear import words_of
from training.examples import Example


def tasks_of(examples: list[Example], documents: int) -> dict[str, Any]:
    """Describe each family of examples by its words; what is told is what `tasks_from` reads.

    A word must be in `documents` conversations, of whatever family.
    """
    words = [words_of(item.grams) for item in examples]
    counts = Counter(word for found in words for word in found)
    rarity = {
        word: math.log(1 + len(examples) / count)
        for word, count in sorted(counts.items())
        if count >= documents
    }
    families = sorted({item.family for item in examples})
    return {
        "unknown": round(math.log(1 + len(examples) / documents), 3),
        "rarity": {word: round(value, 3) for word, value in rarity.items()},
        "weights": {
            family: _weights(
                [
                    found
                    for item, found in zip(examples, words, strict=True)
                    if item.family == family
                ],
                rarity,
            )
            for family in families
        },
    }


def _weights(words: list[list[str]], rarity: dict[str, float]) -> dict[str, float]:
    counts = Counter(word for found in words for word in found if word in rarity)
    mean = {word: rarity[word] * count / len(words) for word, count in sorted(counts.items())}
    length = math.sqrt(math.fsum(value**2 for value in mean.values())) or 1.0
    weights = {word: round(rarity[word] * value / length, 3) for word, value in mean.items()}
    return {word: weight for word, weight in weights.items() if weight}
