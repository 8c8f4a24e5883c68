"""Leaderboards of campaigns, call centres and executives."""

from collections.abc import Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

from app.analytics.engine.aggregates import Aggregate, Groups, ScoreMean
from app.analytics.engine.reader import FactReader
from app.analytics.engine.selection import Selection
from app.analytics.reports import measures, names
from app.analytics.reports.measures import rounded
from app.core.database.paging import Page, PageRequest, cut_page

# The adjusted score adds this many evaluations of average score, so that a few good ones do not
# lead.
_PRIOR = 5
_CHANGED = ("mean_score", "pass_rate")
_SORTED_BY = ("mean_score", "pass_rate", "auto_fail_rate")


def executive_changes(
    facts: FactReader, selection: Selection, *, min_evaluations: int
) -> list[dict[str, Any]]:
    """List all executives with their mean scores and changes, without the other measures."""
    column = "executive_id"
    members = members_of(facts, "executive", Groups(facts, selection, column).aggregates())
    rank(members, min_evaluations)
    _add_change(members, Groups(facts, selection.before(), column).aggregates())
    return members


def lowest_executives(
    facts: FactReader, selection: Selection, members: Sequence[dict[str, Any]], number: int
) -> list[dict[str, Any]]:
    """Return the people with the lowest adjusted scores, of those who are ranked, with their deviations."""
    ranked = [member for member in members if member["rank_eligible"] and member["kind"] != "bot"]
    chosen = sorted(ranked, key=itemgetter("adjusted", "name"))[:number]
    if not chosen:
        return []
    column = "executive_id"
    groups = Groups(facts, selection, column, {column: [member["id"] for member in chosen]})
    aggregates = groups.aggregates()
    groups.add_details(aggregates)
    deviation = measures.LEADERBOARD["stdev"]
    return [{**member, "stdev": deviation(aggregates[member["id"]])} for member in chosen]


def _leaderboard(
    facts: FactReader,
    selection: Selection,
    request: PageRequest,
    *,
    group: str,
    min_evaluations: int,
    compare: bool,
    named: str = "",
) -> Page[Any]:
    """Rank the members of a group that have completed evaluations; return a page with measures.

    People and bots are ranked separately.

    Args:
        min_evaluations: the number of evaluations with a verdict that a rank requires.
        compare: add the change since the period before.
        named: only the members whose names contain this, in any case.
    """
    column = f"{group}_id"
    aggregates = Groups(facts, selection, column).aggregates()
    members = members_of(facts, group, aggregates)
    for kind in dict.fromkeys(member["kind"] for member in members):
        rank([member for member in members if member["kind"] == kind], min_evaluations)
    members = [member for member in members if named.casefold() in member["name"].casefold()]
    members = _sorted(members, request.sort)
    page = cut_page(members, request)
    if shown := page.items:
        among = {column: [member["id"] for member in shown]}
        groups = Groups(facts, selection, column, among)
        before = Groups(facts, selection.before(), column, among) if compare else None
        _add_details(groups, shown, aggregates, min_evaluations)
        _add_change(shown, before.aggregates() if before else None)
    if group == "executive":
        names.add_executives(facts.session, selection, shown)
    return page


campaigns = partial(_leaderboard, group="campaign")
call_centers = partial(_leaderboard, group="call_center")
executives = partial(_leaderboard, group="executive")


def rank(members: Sequence[dict[str, Any]], min_evaluations: int) -> None:
    """Set the adjusted scores and the ranks of one kind of members; equal scores share a rank."""
    total = sum(member["with_verdict"] for member in members)
    overall = sum(member["score_sum"] for member in members) / total if total else 0.0
    for member in members:
        number = member["with_verdict"]
        member["adjusted"] = (member["score_sum"] + _PRIOR * overall) / (number + _PRIOR)
        member["adjusted_score"] = (
            rounded(member["adjusted"], measures.SCORE_PLACES) if number else None
        )
        member["rank_eligible"] = number >= min_evaluations
        member["rank"] = None
    eligible = sorted(
        (member for member in members if member["rank_eligible"]),
        key=lambda member: -member["adjusted"],
    )
    for place, member in enumerate(eligible):
        tied = place and eligible[place - 1]["adjusted"] == member["adjusted"]
        member["rank"] = eligible[place - 1]["rank"] if tied else place + 1


def members_of(
    facts: FactReader, group: str, aggregates: Mapping[str, Aggregate]
) -> list[dict[str, Any]]:
    """Return all members with the values to sort and rank by."""
    described = names.of_group(facts.session, group, aggregates)
    return [
        {
            "id": key,
            "kind": "human",
            **described[key],
            "evaluations": aggregate.evaluations,
            "with_verdict": aggregate.with_verdict,
            "without_verdict": aggregate.evaluations - aggregate.with_verdict,
            "score_sum": int(aggregate.totals["score"][0]),
            **{name: measures.LEADERBOARD[name](aggregate) for name in _SORTED_BY},
        }
        for key, aggregate in aggregates.items()
    ]


def _sorted(members: list[dict[str, Any]], sort: str) -> list[dict[str, Any]]:
    """Sort by one value and then by id; members without the value come last in both directions."""
    field, descending = sort.lstrip("-"), sort.startswith("-")

    def value(member: dict[str, Any]) -> Any:
        return member[field].casefold() if field == "name" else member[field]

    by_id = sorted(members, key=itemgetter("id"), reverse=descending)
    known = [member for member in by_id if member[field] is not None]
    missing = [member for member in by_id if member[field] is None]
    return sorted(known, key=value, reverse=descending) + missing


def _add_details(
    groups: Groups,
    members: Sequence[dict[str, Any]],
    aggregates: Mapping[str, Aggregate],
    at_least: int,
) -> None:
    groups.add_details(aggregates)
    last = groups.last_completed()
    for member in members:
        aggregate = aggregates[member["id"]]
        member.update({name: measure(aggregate) for name, measure in measures.LEADERBOARD.items()})
        member["last_evaluation_at"] = last[member["id"]]
        member["sections"] = [
            {"key": section.key, "mean_score": rounded(section.mean, measures.SCORE_PLACES)}
            for section in aggregate.score_means.sections
        ]
        weakest = aggregate.score_means.weakest(at_least=at_least, limit=1)
        strongest = aggregate.score_means.strongest(at_least=at_least)
        member["top_strength"] = _criterion(strongest[0]) if strongest else None
        member["top_weakness"] = _criterion(weakest[0]) if weakest else None


def _criterion(mean: ScoreMean) -> dict[str, Any]:
    return {
        "key": mean.key,
        "title": mean.title,
        "mean_score": rounded(mean.mean, measures.SCORE_PLACES),
    }


def _add_change(members: Sequence[dict[str, Any]], before: Mapping[str, Aggregate] | None) -> None:
    for member in members:
        member["change"] = None
        if before is not None:
            former = before.get(member["id"], Aggregate())
            values = {name: measures.LEADERBOARD[name](former) for name in _CHANGED}
            member["change"] = measures.change(member, values)
