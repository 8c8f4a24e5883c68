"""Queue of reviews: its tabs as queries of the list, and a sample dealt evenly over executives."""

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


SAMPLE = "sample"
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
        SAMPLE,
        "Sample",
        {"reviewStatus": "none", "status": "completed", "hasVerdict": "true"},
        is_dated=True,
        when_empty="Every evaluation of this period was reviewed.",
    ),
)


def tab_of(key: str) -> QueueTab:
    """Return the tab of a key; the first one for an unknown key."""
    return next((tab for tab in TABS if tab.key == key), TABS[0])


def dealt(rows: Sequence[Mapping[str, Any]], most: int) -> list[Mapping[str, Any]]:
    """Deal rows in turn over their executives, so that each gets a share; order is kept within."""
    hands: dict[str | None, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        hands[row["executive_id"]].append(row)
    rounds = chain.from_iterable(zip_longest(*hands.values()))
    return [row for row in rounds if row is not None][:most]
