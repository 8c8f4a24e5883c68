"""Views: by what the cells of a span are told apart, so that most questions find ready sums."""

from collections.abc import Collection
from enum import IntEnum
from typing import Any

from app.analytics.models import Fact, FactCell, FactCode

IDS = ("executive", "campaign", "call_center", "engagement", "scorecard")
TOPIC, CHANNEL = "topic", "channel"


class View(IntEnum):
    """Every view tells the channels apart, and besides what its name says.

    In `TOPIC` a fact counts with each topic that it has, and there are no details; `FULL` tells all
    ids apart.
    """

    OVERALL = 0
    EXECUTIVE = 1
    CAMPAIGN = 2
    CALL_CENTER = 3
    ENGAGEMENT = 4
    SCORECARD = 5
    TOPIC = 6
    FULL = 7

    @property
    def names(self) -> tuple[str, ...]:
        """What its cells are told apart by; a topic comes first."""
        if self is View.FULL:
            return (*IDS, CHANNEL)
        return (CHANNEL,) if self is View.OVERALL else (self.name.lower(), CHANNEL)


def view_for(names: Collection[str]) -> View | None:
    """Return the view with the fewest cells that tells these apart; None where there is none."""
    ids = set(names) - {CHANNEL}
    if not ids:
        return View.OVERALL
    if len(ids) == 1:
        return View[ids.pop().upper()]
    return None if TOPIC in ids else View.FULL


def cell_column(view: View, name: str) -> Any:
    """Return the column of the cells of a view that has these codes.

    Topics are told by their text: the cells are to be joined with `FactCode` by `member`.
    """
    if name == TOPIC:
        return FactCode.key
    return getattr(FactCell, name if view is View.FULL or name == CHANNEL else "member")


def fact_column(name: str) -> Any:
    """Return the column of the facts that has these codes; topics lie several in one."""
    return Fact.topics if name == TOPIC else getattr(Fact, name)
