"""Queue of reviews: its tabs, the rows that wait in each, their order, and opening one."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, time
from itertools import chain, zip_longest
from typing import Any
from urllib.parse import urlencode

from flask import redirect, render_template, request
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response

from app.agents import disputes
from app.core.clock import iso_utc
from app.core.errors import Conflict
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.pages.audited import audited
from app.dashboard.queries import LIST_PATH, PageFilters, count_of, filters_of_request, listed
from app.dashboard.views.conversation import voices_to_name
from app.dashboard.views.filters import url
from app.evaluations import listing, transcripts
from app.evaluations.enums import ReviewAction, ReviewStatus
from app.people.audit import Action
from app.people.gate import current_person
from app.reviews import assignments
from app.reviews import service as reviews
from app.reviews.schemas.reviews import ReviewCreate
from app.web.current import current_runtime
from app.web.principal import current_principal

blp = PageBlueprint("review_queue", __name__, scope="evaluations:review")
PATH = "/review"
_SHOWN = 25
# Rows that a person can go through without reviewing one.
_MOST = 100
_SORTED_BY = {"conversationAt": "conversation_at", "confidence": "confidence"}


@dataclass(frozen=True, slots=True)
class QueueTab:
    """A tab and the filters of the list that it shows; `is_dated` where the period applies."""

    key: str
    text: str
    query: Mapping[str, str]
    is_dated: bool
    when_empty: str


@dataclass(frozen=True, slots=True)
class PlaceInQueue:
    """Place of an evaluation in a tab, counted from 0, with its neighbours.

    `has_left` says whether it is there only because its page is open.
    """

    at: int
    count: int
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    has_left: bool


_VOICES, _SAMPLE, _MINE = "voices", "sample", "mine"
_TABS: tuple[QueueTab, ...] = (
    QueueTab(
        "disputes",
        "Disputes",
        {"reviewStatus": "disputed", "sort": "conversationAt"},
        is_dated=False,
        when_empty="No dispute is open.",
    ),
    QueueTab(
        "auto-fails",
        "Auto-fails",
        {"autoFailed": "true", "reviewStatus": "none", "status": "completed"},
        is_dated=True,
        when_empty="No auto-fail of this period is without a review.",
    ),
    QueueTab(
        "requested",
        "Requested",
        {"reviewStatus": "requested,in_review", "sort": "conversationAt"},
        is_dated=False,
        when_empty="No review is requested. Mark rows of the list of evaluations to do so.",
    ),
    QueueTab(
        _VOICES,
        "Voices",
        # A call that has the recording is judged again with it.
        {"agentUnnamed": "true", "sourceType": "audio_file", "sort": "conversationAt"},
        is_dated=False,
        when_empty="The agent is known in every recording whose voices were told apart.",
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
        _SAMPLE,
        "Sample",
        {"reviewStatus": "none", "status": "completed", "hasVerdict": "true"},
        is_dated=True,
        when_empty="No evaluation of this period, up to yesterday, is without a review.",
    ),
    QueueTab(
        _MINE,
        "Mine",
        {},
        is_dated=False,
        when_empty="You have neither started nor given a review.",
    ),
)


@blp.get(PATH)
def show() -> str:
    """Show a tab of the queue, and the count of each; without `tab`, the first one that is not empty."""
    page_filters = filters_of_request()
    here = _tab_of(page_filters)
    with current_runtime().db.reading() as session:
        counts = {
            tab.key: count_of(session, _query_of(tab, page_filters), **_except_assigned(tab))
            for tab in _TABS
        }
        if "tab" not in page_filters.texts:
            here = next((tab for tab in _TABS if counts[tab.key]), here)
        query_here = {**_query_of(here, page_filters), "pageSize": str(_MOST)}
        page = listed(session, query_here, **_except_assigned(here))
        rows = _in_order(here, page.items)[:_SHOWN]
        shown = [row["id"] for row in rows]
        subjects = listing.subjects(session, shown)
        addressees = disputes.named_addressees(session, shown)
        voices = _voices(session, shown) if here.key == _VOICES else {}
    query = urlencode({**page_filters.texts, "tab": here.key})
    return render_template(
        "reviews/queue.html",
        page_filters=page_filters,
        tabs=[(tab, url(PATH, page_filters.texts, tab=tab.key), counts[tab.key]) for tab in _TABS],
        here=here,
        query=query,
        rows=[(row, url_in_queue(row["id"], query)) for row in rows],
        subjects=subjects,
        addressees=addressees,
        voices=voices,
        may_name="audio:write" in current_principal().scopes,
        list_url=url(LIST_PATH, _query_of(here, page_filters)),
    )


@blp.post(f"{PATH}/<id:evaluation_id>")
def open_review(evaluation_id: str) -> Response:
    """Set an evaluation in review and open it; a dispute is opened as it is."""
    add_review_step(evaluation_id, ReviewAction.START)
    return redirect(url_in_queue(evaluation_id, request.form.get("queue", "")), 303)


def add_review_step(evaluation_id: str, action: ReviewAction) -> None:
    """Request or start a review for the signed-in person, unless the review status forbids that."""
    person = current_person()
    review = ReviewCreate().load(
        {"action": action, "reviewer": person.display_name, "reviewerRef": person.user_id}
    )
    with suppress(Conflict), audited(Action.REVIEWED, evaluation_id) as session:
        reviews.add(session, evaluation_id, review, created_by=person.user_id)


def url_in_queue(evaluation_id: str, queue: str, done: int = 0) -> str:
    counted = {"done": str(done)} if done else {}
    return url(f"{LIST_PATH}/{evaluation_id}", {"queue": queue, **counted})


def read_around(
    session: Session, page_filters: PageFilters, evaluation: Mapping[str, Any]
) -> PlaceInQueue:
    """Return the place of an evaluation in a tab.

    What the person has set in review keeps its place until it is reviewed, and so does the
    evaluation itself.
    """
    tab = _tab_of(page_filters)
    query = {**_query_of(tab, page_filters), "pageSize": str(_MOST)}
    page = listed(session, query, **_except_assigned(tab))
    waiting = list(page.items)
    if query.get("reviewStatus") == ReviewStatus.NONE:
        claimed = {"reviewStatus": ReviewStatus.IN_REVIEW, "reviewedBy": current_person().user_id}
        waiting += listed(session, {**query, **claimed}, **_except_assigned(tab)).items
    rows = _in_order(tab, _with_rows(tab, waiting, [evaluation]))
    ids = [row["id"] for row in rows]
    at = ids.index(evaluation["id"])
    return PlaceInQueue(
        at=at,
        count=page.total_count + len(rows) - len(page.items),
        before=rows[at - 1] if at else None,
        after=rows[at + 1] if at + 1 < len(rows) else None,
        has_left=len(rows) > len(waiting),
    )


def _tab_of(page_filters: PageFilters) -> QueueTab:
    """Return the tab that a query names; the first one for an unknown name."""
    key = page_filters.texts.get("tab")
    return next((tab for tab in _TABS if tab.key == key), _TABS[0])


def _query_of(tab: QueueTab, page_filters: PageFilters) -> dict[str, str]:
    if tab.key == _MINE:
        return page_filters.all_time_query(**tab.query, reviewedBy=current_person().user_id)
    if not tab.is_dated:
        return page_filters.all_time_query(**tab.query)
    query = page_filters.list_query(**tab.query)
    if tab.key == _SAMPLE and "to" not in page_filters.texts:
        # Only whole days, so that the sample is the same all day.
        today = page_filters.now.astimezone(page_filters.zone).date()
        query["to"] = iso_utc(datetime.combine(today, time(), page_filters.zone))
    return query


def _except_assigned(tab: QueueTab) -> dict[str, Any]:
    """Return the filter that leaves out what a plan has assigned, on tabs of reviews that were not requested."""
    is_unasked = tab.query.get("reviewStatus") == ReviewStatus.NONE
    return {"except_ids": assignments.held_evaluations()} if is_unasked else {}


def _voices(session: Session, evaluation_ids: Sequence[str]) -> dict[str, list[tuple[int, str]]]:
    """Return the number and the first words of each voice, by evaluation."""
    said = transcripts.texts_judged_by(session, evaluation_ids)
    return {id_: voices_to_name(row.participants, row.segments) for id_, row in said.items()}


def _in_order(tab: QueueTab, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the rows of a tab in its order, given in that of the list."""
    return _dealt(rows) if tab.key == _SAMPLE else list(rows)


def _with_rows(
    tab: QueueTab, rows: Sequence[Mapping[str, Any]], more: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Put rows that have left a tab back to their places among the others, in the list's order."""
    sort = tab.query.get("sort", "-conversationAt")
    column = _SORTED_BY[sort.removeprefix("-")]
    return sorted(
        {row["id"]: row for row in (*rows, *more)}.values(),
        key=lambda row: (row[column] is None, row[column], row["id"]),
        reverse=sort.startswith("-"),
    )


def _dealt(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Deal rows in turn over their executives, so that each gets a share; order is kept within."""
    hands: dict[str | None, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        hands[row["executive_id"]].append(row)
    rounds = chain.from_iterable(zip_longest(*hands.values()))
    return [row for row in rounds if row is not None]
