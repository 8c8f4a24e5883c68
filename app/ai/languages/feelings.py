"""Sentiment of a line by the lexicon of its language."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from app.ai.languages.lexicon import Feelings
from app.ai.languages.phrases import NUKTA, PLAIN
from app.ai.languages.words import words_in

# A negation reaches no further than its clause: "no, many thanks" denies nothing.
_CLAUSE_END = re.compile("[,;.!?\u0964\n]")
# The number of words before and after a feeling that may negate it: Hindi does both.
_NEAR = 2
_TURNED = -0.6
_BOOST = 1.3
# The weight at which half of the scale is reached: about two clear words.
_HALF = 4.0
_MIXED_SHARE = 0.15


class Polarity(NamedTuple):
    """`score` is -1 to 1; `mixed` says that both good and bad have a clear share of the words."""

    score: float
    mixed: bool


def polarity_of(text: str, feelings: Feelings) -> Polarity:
    """Score a text by its words; 0 where none is known."""
    clauses = [
        [word.replace(NUKTA, "") for word in words_in(clause)]
        for clause in _CLAUSE_END.split(text.lower().translate(PLAIN))
    ]
    weights = [weight for words in clauses for weight in _weights(words, feelings)]
    good = sum(weight for weight in weights if weight > 0)
    bad = sum(weight for weight in weights if weight < 0)
    least = _MIXED_SHARE * sum(map(len, clauses))
    return Polarity(
        score=round((good + bad) / (abs(good + bad) + _HALF), 4) + 0.0,
        mixed=bad < 0 < good and good >= least and -bad >= least,
    )


def _weights(words: list[str], feelings: Feelings) -> Iterator[float]:
    for index, word in enumerate(words):
        weight = feelings.words.get(word)
        if weight is None:
            continue
        before = words[max(0, index - _NEAR) : index]
        if not feelings.boosters.isdisjoint(before):
            weight *= _BOOST
        if not feelings.negations.isdisjoint(before + words[index + 1 : index + 1 + _NEAR]):
            weight *= _TURNED
        yield weight
