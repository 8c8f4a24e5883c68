"""Leaderboards of campaigns, call centres and executives: measured, ranked, and cut to a page."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy.orm import Session

from app.analytics import codes, figures, lanes, layouts, measures, names, reading
from app.analytics.reading import Question
from app.analytics.statistics import rounded
from app.analytics.tallies import Detail, Tally
from app.core.database.paging import Page, PageRequest

# So many evaluations of average score are added to everybody's, so that few good ones don't lead.
_PRIOR = 5
_DETAILS = (Detail.LAST_MS, Detail.SCORES, Detail.WAITS, Detail.SHARES)
_CHANGED = ("mean_score", "pass_rate")
_SORTED_BY = ("mean_score", "pass_rate", "auto_fail_rate")


def campaigns(session: Session, question: Question, request: PageRequest, **how: Any) -> Page[Any]:
    """List the campaigns that have completed evaluations (see `_board`)."""
    return _board(session, question, request, "campaign", **how)


def call_centers(
    session: Session, question: Question, request: PageRequest, **how: Any
) -> Page[Any]:
    """List the call centres that have completed evaluations (see `_board`)."""
    return _board(session, question, request, "call_center", **how)


def executives(session: Session, question: Question, request: PageRequest, **how: Any) -> Page[Any]:
    """List the executives that have completed evaluations; people and bots have ranks apart."""
    return _board(session, question, request, "executive", **how)


def _board(
    session: Session,
    question: Question,
    request: PageRequest,
    group: str,
    *,
    min_evaluations: int,
    compare: bool,
) -> Page[Any]:
    """Measure every member of the group, rank those with enough evaluations, return one page.

    Args:
        min_evaluations: how many completed evaluations a rank takes.
        compare: also tell the change since the period before.
    """
    found = _tallied(session, question, group)
    members = [dict(each) for each in _described(session, group, found)]
    for kind in dict.fromkeys(each["kind"] for each in members):
        rank([each for each in members if each["kind"] == kind], min_evaluations)
    members = _sorted(members, request.sort)
    offset = (request.page - 1) * request.page_size
    shown = members[offset : offset + request.page_size]
    _add_details(session, question, group, shown, min_evaluations)
    _add_change(session, question, group, shown, compare=compare)
    if group == "executive":
        names.add_executives(session, question, shown)
    return Page(shown, request.page, request.page_size, len(members))


def rank(members: Sequence[dict[str, Any]], min_evaluations: int) -> None:
    """Adjust the scores of one kind and rank the eligible by them; equals share a rank."""
    total = sum(each["evaluations"] for each in members)
    overall = sum(each["score_sum"] for each in members) / total if total else 0.0
    for each in members:
        number = each["evaluations"]
        each["adjusted"] = (each["score_sum"] + _PRIOR * overall) / (number + _PRIOR)
        each["adjusted_score"] = rounded(each["adjusted"], measures.SCORE_PLACES)
        each["rank_eligible"] = number >= min_evaluations
        each["rank"] = None
    eligible = sorted(
        (each for each in members if each["rank_eligible"]), key=lambda each: -each["adjusted"]
    )
    for place, each in enumerate(eligible):
        tied = place and eligible[place - 1]["adjusted"] == each["adjusted"]
        each["rank"] = eligible[place - 1]["rank"] if tied else place + 1


def _tallied(
    session: Session,
    question: Question,
    group: str,
    members: Collection[int] | None = None,
    details: Collection[Detail] = (),
) -> dict[int, Tally]:
    """Tally the members with completed evaluations, or those alone that are named."""
    whole = [reading.whole(question)]
    found = reading.tallies(session, question, whole, group, members=members, details=details)
    return {code: each for (_, code), each in found.items() if each.completed}


def _described(session: Session, group: str, found: Mapping[int, Tally]) -> list[dict[str, Any]]:
    """Tell of every member what it may be sorted and ranked by."""
    keys = codes.keys_of(session, found)
    told = names.of_group(session, group, keys.values())
    return [
        {
            "code": code,
            "id": keys[code],
            "kind": "human",
            **told[keys[code]],
            "evaluations": tally.completed,
            "score_sum": tally.total("score")[0],
            **{name: measures.BOARD[name](tally) for name in _SORTED_BY},
        }
        for code, tally in found.items()
    ]


def _sorted(members: list[dict[str, Any]], sort: str) -> list[dict[str, Any]]:
    """Sort by one value and then by id; what has no value comes last, whichever the direction."""
    field, descending = sort.lstrip("-"), sort.startswith("-")
    value: Callable[[dict[str, Any]], Any] = lambda each: (  # noqa: E731 - named for its type
        each[field].casefold() if field == "name" else each[field]
    )
    known = [each for each in members if each[field] is not None]
    known.sort(key=lambda each: each["id"], reverse=descending)
    known.sort(key=value, reverse=descending)
    missing = [each for each in members if each[field] is None]
    return known + sorted(missing, key=lambda each: each["id"], reverse=descending)


def _add_details(
    session: Session,
    question: Question,
    group: str,
    members: Sequence[dict[str, Any]],
    at_least: int,
) -> None:
    found = _tallied(session, question, group, [each["code"] for each in members], _DETAILS)
    known = layouts.lanes_by_layout(session)
    for each in members:
        tally = found[each["code"]]
        each.update({name: measure(tally) for name, measure in measures.BOARD.items()})
        each["last_evaluation_at"] = figures.EPOCH + timedelta(milliseconds=tally.last_ms)
        means = lanes.means_of(tally.shares, known)
        each["sections"] = [
            {"key": lane.key, "mean_score": rounded(lane.mean, measures.SCORE_PLACES)}
            for lane in means.sections
        ]
        weakest = means.weakest(at_least=at_least, limit=1)
        strongest = means.strongest(at_least=at_least)
        each["top_strength"] = _lane(strongest) if strongest else None
        each["top_weakness"] = _lane(weakest[0]) if weakest else None


def _lane(lane: lanes.LaneMean) -> dict[str, Any]:
    return {
        "key": lane.key,
        "title": lane.title,
        "mean_score": rounded(lane.mean, measures.SCORE_PLACES),
    }


def _add_change(
    session: Session,
    question: Question,
    group: str,
    members: Sequence[dict[str, Any]],
    *,
    compare: bool,
) -> None:
    shown = [each["code"] for each in members]
    before = _tallied(session, question.former(), group, shown) if compare else {}
    for each in members:
        former = before.get(each["code"], Tally())
        told = {name: measures.BOARD[name](former) for name in _CHANGED}
        each["change"] = measures.change(each, told) if compare else None
