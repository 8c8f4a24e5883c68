"""Place of an evaluation in the list or the queue that led to its page, and its neighbours."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from flask import request

from app.core.ids import is_id
from app.dashboard.pages.reviews import queue
from app.dashboard.queries import LIST_PATH, filters_of
from app.dashboard.views import filters
from app.dashboard.views.formatting import whole_number
from app.evaluations.enums import ReviewStatus
from app.web.current import current_runtime

# Parameters that say what led to the page: the query of a tab of the queue with the number of those
# that have left it on the way, or the query of a list with the place of the evaluation in it and the
# length of the list, or a calibration round.
_QUEUE, _DONE, _LIST, _AT, _OF, _ROUND = "queue", "done", "in", "at", "of", "round"
_UNCLAIMED = (ReviewStatus.NONE, ReviewStatus.REQUESTED)


@dataclass(frozen=True, slots=True)
class PlaceInList:
    """Place of an evaluation: `3 of 41`, and the addresses of its neighbours.

    `next_to_claim` is the next evaluation of the queue, unless somebody is reviewing it.
    """

    text: str
    previous_url: str | None
    next_url: str | None
    next_to_claim: str | None = None


def place_of(evaluation: Mapping[str, Any]) -> PlaceInList | None:
    """Return the place of an evaluation, None where neither a list nor a queue led to it."""
    if is_in_queue():
        return _in_queue(evaluation)
    query, at = request.args.get(_LIST), _number(_AT)
    return None if query is None or at is None else _in_list(query, at)


def arguments() -> dict[str, str]:
    """Return the parameters of this request that say what led to the page."""
    return {
        name: request.args[name]
        for name in (_QUEUE, _DONE, _LIST, _AT, _OF, _ROUND)
        if name in request.args
    }


def is_in_queue() -> bool:
    return _QUEUE in request.args


def round_id() -> str | None:
    """Return the calibration round that led to the page, if one did."""
    value = request.args.get(_ROUND, "")
    return value if is_id(value, "round") else None


def queue_url() -> str:
    return filters.url(queue.PATH, _queue_query())


def url_in_list(evaluation_id: str, query: str, at: int, count: int) -> str:
    """Return the address of an evaluation at a place of a list, counted from 0."""
    place = {_LIST: query, _AT: str(at), _OF: str(count)}
    return filters.url(f"{LIST_PATH}/{evaluation_id}", place)


def _in_queue(evaluation: Mapping[str, Any]) -> PlaceInList:
    with current_runtime().db.reading() as session:
        around = queue.read_around(session, filters_of(_queue_query()), evaluation)
    before, after = around.before, around.after
    tab, done = request.args[_QUEUE], _number(_DONE) or 0
    return PlaceInList(
        text=f"{done + around.at + 1:,} of {done + around.count:,}",
        previous_url=queue.url_in_queue(before["id"], tab, done) if before else None,
        next_url=queue.url_in_queue(after["id"], tab, done + around.has_left) if after else None,
        next_to_claim=after["id"] if after and after["review_status"] in _UNCLAIMED else None,
    )


def _in_list(query: str, at: int) -> PlaceInList:
    count = _number(_OF)
    of = "" if count is None else f" of {count:,}"
    return PlaceInList(
        text=f"{at + 1:,}{of}",
        previous_url=_place_url(query, at - 1) if at else None,
        next_url=_place_url(query, at + 1) if count is None or at + 1 < count else None,
    )


def _place_url(query: str, at: int) -> str:
    return filters.url(f"{LIST_PATH}/at", {_LIST: query, _AT: str(at)})


def _queue_query() -> dict[str, str]:
    return dict(parse_qsl(request.args[_QUEUE]))


def _number(name: str) -> int | None:
    return whole_number(request.args.get(name, ""))
