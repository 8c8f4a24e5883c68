"""Contradictions: quotes that show the opposite of what they should speak for."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from app.judge.acts.catalogue import Act
from app.judge.dialogue.evidence import SUPPORTS, Evidence
from app.judge.dialogue.turns import Side
from app.judge.facts.conversation_facts import Facts

SOLVED, MET_FEELING = "solved", "met_feeling"


class _Opposite(NamedTuple):
    """Acts of the two sides that speak against something."""

    service: tuple[Act, ...] = ()
    customer: tuple[Act, ...] = ()


# Nothing good is shown by these.
_HARSH = (Act.MOCK, Act.THREATEN, Act.INSULT)
_OPPOSITES: Mapping[str, _Opposite] = {
    SOLVED: _Opposite(
        service=(Act.CANNOT, Act.REFUSE, Act.REFUSE_REASON, Act.UNDONE),
        customer=(Act.UNSOLVED, Act.COMPLAIN, Act.SARCASTIC, Act.GIVE_UP, Act.LEAVE),
    ),
    MET_FEELING: _Opposite(customer=(Act.THANK, Act.PRAISE, Act.SOLVED)),
}


def is_opposed(facts: Facts, piece: Evidence, purpose: str) -> bool:
    """Tell whether a quote that should support something shows its opposite.

    Args:
        purpose: what it supports, such as `SOLVED`; for any other, only harsh words of the service side oppose it.
    """
    line = next(
        (item for item in facts.acts.lines if item.line.segment.id == piece.segment_id), None
    )
    if line is None or piece.polarity != SUPPORTS:
        return False
    opposite = _OPPOSITES.get(purpose, _Opposite())
    if line.line.side is Side.CUSTOMER:
        return line.shows_within(piece.char_start, piece.char_end, *opposite.customer)
    rude = any(item.is_rude and item.line is line.line for item in facts.readings.agent)
    return rude or line.shows_within(piece.char_start, piece.char_end, *_HARSH, *opposite.service)


def unopposed(facts: Facts, evidence: Iterable[Evidence], purpose: str) -> tuple[Evidence, ...]:
    """Leave out the quotes that show the opposite of what they should support."""
    return tuple(piece for piece in evidence if not is_opposed(facts, piece, purpose))
