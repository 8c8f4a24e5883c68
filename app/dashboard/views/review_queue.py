"""Queue of reviews: its tabs as queries of the list, their order, and a sample dealt evenly."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any


@dataclass(frozen=True, slots=True)
class QueueTab:
    """A tab and the filters of the list that it shows; `is_dated` where the period applies."""

    key: str
    text: str
    query: Mapping[str, str]
    is_dated: bool
    when_empty: str


SAMPLE, MINE = "sample", "mine"
TABS: tuple[QueueTab, ...] = (
    QueueTab(
        "disputes",
        "Disputes",
        {"reviewStatus": "disputed", "sort": "createdAt"},
        is_dated=False,
        when_empty="No dispute is open.",
    ),
    QueueTab(
        "auto-fails",
        "Auto-fails",
        {"autoFailed": "true", "reviewStatus": "none", "status": "completed"},
        is_dated=True,
        when_empty="Every auto-fail of this period was reviewed.",
    ),
    QueueTab(
        "requested",
        "Requested",
        {"reviewStatus": "requested,in_review", "sort": "createdAt"},
        is_dated=False,
        when_empty="Nobody has requested a review. Mark rows of the list of evaluations to do so.",
    ),
    QueueTab(
        "unsure",
        "Unsure",
        {
            "maxConfidence": "0.5",
            "reviewStatus": "none",
            "status": "completed",
            "sort": "confidence",
        },
        is_dated=True,
        when_empty="No evaluation is waiting here: the judge was more than 50 % sure of all unreviewed ones.",
    ),
    QueueTab(
        SAMPLE,
        "Sample",
        {"reviewStatus": "none", "status": "completed", "hasVerdict": "true"},
        is_dated=True,
        when_empty="Every evaluation of this period was reviewed.",
    ),
    QueueTab(
        MINE,
        "Mine",
        {},
        is_dated=False,
        when_empty="You have neither started nor given a review.",
    ),
)


_SORTED_BY = {"createdAt": "created_at", "confidence": "confidence"}


def tab_of(key: str) -> QueueTab:
    """Return the tab of a key; the first one for an unknown key."""
    return next((tab for tab in TABS if tab.key == key), TABS[0])


def in_order(tab: QueueTab, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the rows of a tab in its order, given in that of the list."""
    return dealt(rows) if tab.key == SAMPLE else list(rows)


def with_rows(
    tab: QueueTab, rows: Sequence[Mapping[str, Any]], more: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Put rows that have left a tab back to their places among the others, in the list's order."""
    sort = tab.query.get("sort", "-createdAt")
    column = _SORTED_BY[sort.removeprefix("-")]
    return sorted(
        {row["id"]: row for row in (*rows, *more)}.values(),
        key=lambda row: (row[column] is None, row[column], row["id"]),
        reverse=sort.startswith("-"),
    )


def dealt(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Deal rows in turn over their executives, so that each gets a share; order is kept within."""
    hands: dict[str | None, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        hands[row["executive_id"]].append(row)
    rounds = chain.from_iterable(zip_longest(*hands.values()))
    return [row for row in rounds if row is not None]
