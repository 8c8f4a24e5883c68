"""How a line feels by a lexicon of its language: the words that are known, and what turns them."""

from dataclasses import dataclass

from app.ai.lexicon import Feelings
from app.ai.phrases import PLAIN
from app.ai.words import words_in

# So many words around a feeling may turn it: Hindi says "not" after it, as often as before.
_BEFORE, _AFTER = 2, 2
_TURNED = -0.6
_BOOST = 1.3
# Where half of the scale is reached: with about two clear words.
_HALF = 4.0
_MIXED_SHARE = 0.15


@dataclass(frozen=True, slots=True)
class Polarity:
    """`score` is -1 to 1; `mixed` says that both good and bad have a clear share of the words."""

    score: float
    mixed: bool


def polarity_of(text: str, feelings: Feelings) -> Polarity:
    """Score a text by its words; 0 where none is known."""
    words = [word.replace("\u093c", "") for word in words_in(text.lower().translate(PLAIN))]
    good = bad = 0.0
    for index, word in enumerate(words):
        weight = feelings.words.get(word, 0.0)
        if not weight:
            continue
        around = words[max(0, index - _BEFORE) : index] + words[index + 1 : index + 1 + _AFTER]
        if not feelings.boosters.isdisjoint(words[max(0, index - _BEFORE) : index]):
            weight *= _BOOST
        if not feelings.negations.isdisjoint(around):
            weight *= _TURNED
        good, bad = good + max(0.0, weight), bad + min(0.0, weight)
    total = good + bad
    least = _MIXED_SHARE * len(words)
    return Polarity(
        score=round(total / (abs(total) + _HALF), 4) + 0.0,
        mixed=bool(words) and good >= least and -bad >= least and bad < 0 < good,
    )
