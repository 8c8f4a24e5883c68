"""Parameters of rules, declared as data: schemas, forms and words are made from them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from app.judge.scorecard.schema import (
    ACTS,
    GREETING_PARTS,
    KNOWN_METRICS,
    NEGATED,
    SAID,
    SPEAKERS,
)

_MOST_TURNS = 1_000
_MOST_STATEMENTS = 20
_MOST_ACTS = 10

Kind = Literal["whole", "amount", "flag", "choice", "choices", "phrases", "statements", "object"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a rule, or a member of one.

    Attributes:
        label: what it is, in words.
        low, high: the limits of a number, or of the length of a list.
        options: the values of a choice, with their labels.
        shape: the name of an object's schema, which those with the same members share.
        members: the members of an object.
        one_of: members of which at least one is named, and only one where `only_one` is set.
        default: the value that a form begins with.
    """

    kind: Kind
    name: str
    label: str
    low: float | None = 0
    high: float | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    shape: str = ""
    members: tuple["Parameter", ...] = ()
    one_of: tuple[str, ...] = ()
    only_one: bool = False
    default: Any = None


whole, amount, flag, choice, choices, phrases, _statements, _object = (
    partial(Parameter, kind)
    for kind in ("whole", "amount", "flag", "choice", "choices", "phrases", "statements", "object")
)


def turns(name: str, label: str, default: int | None = None) -> Parameter:
    """Declare a number of turns."""
    return whole(name, label, low=1, high=_MOST_TURNS, default=default)


def bounds(name: str, label: str) -> Parameter:
    """Declare a range of numbers."""
    limits = (
        amount("atLeast", "at least", low=None),
        amount("atMost", "at most", low=None),
    )
    return _object(name, label, shape="RangeShape", members=limits, one_of=("atLeast", "atMost"))


def statements(name: str, label: str, *, low: int = 0) -> Parameter:
    """Declare a list of statements, each with the phrases that make it."""
    default: list[Any] = []
    return _statements(name, label, low=low, high=_MOST_STATEMENTS, default=default)


ACTS_DONE = choices("acts", "What is done, of which any counts", 1, _MOST_ACTS, ACTS)
ANY_OF = phrases("anyOf", "Phrases, of which any counts")
LIKE = phrases("like", "Lines that count, and those like them")
UNLIKE = phrases("unlike", "Lines that do not count, and those like them")
SAID_BY = choice("by", "Said by", options=SPEAKERS)
WITHIN = _object(
    "within",
    "Only within",
    shape="WithinShape",
    members=(
        turns("firstTurns", "first turns"),
        turns("lastTurns", "last turns"),
        turns("firstMessages", "first messages"),
        turns("lastMessages", "last messages"),
    ),
    one_of=("firstTurns", "lastTurns", "firstMessages", "lastMessages"),
    only_one=True,
)
SAID_AS = choice("said", "Said as", options=SAID)
COUNTS = choice("negated", "Counts", options=NEGATED)


def anchor(name: str, label: str) -> Parameter:
    """Declare something that happens in the conversation, and how far from it."""
    members = (
        choices("acts", "is done", 1, _MOST_ACTS, ACTS),
        phrases("anyOf", "is said"),
        choice("by", "by", options=SPEAKERS),
        turns("turns", "turns from it at most"),
    )
    return _object(name, label, shape="AnchorShape", members=members, one_of=("acts", "anyOf"))


def agent_turns(default: int) -> Parameter:
    """Declare how many first turns count."""
    return turns("agentTurns", "First turns that count", default)


def last_turns(default: int) -> Parameter:
    """Declare how many last turns count."""
    return turns("lastTurns", "Last turns that count", default)


def seconds(full: int, half: int) -> tuple[Parameter, Parameter]:
    """Declare the times for the full score and for half of it."""
    return (
        amount("fullSeconds", "Full score within, in seconds", default=full),
        amount("halfSeconds", "Half the score within, in seconds", default=half),
    )


MAX_DEAD_AIR = whole("maxDeadAirCount", "Long silences at most", default=0)
METRIC = choice("metric", "Metric", options={name: name for name in sorted(KNOWN_METRICS)})
REQUIRES = choices(
    "requires",
    "The greeting contains",
    0,
    len(GREETING_PARTS),
    GREETING_PARTS,
    default=["greeting"],
)
