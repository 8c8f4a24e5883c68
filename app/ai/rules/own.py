"""The rules of criteria that an author writes: phrases that must or must not be said, and metrics."""

from collections.abc import Mapping
from typing import Any

from app.ai.dialogue.evidence import CONTRADICTS
from app.ai.dialogue.turns import Turn
from app.ai.facts.gathering import Facts
from app.ai.facts.measures import NO_CUSTOMER, NO_ROLES
from app.ai.facts.spoken_phrases import Found, is_known_to_be, said, statement_said, turns_of
from app.ai.scorecard.values import Criterion
from app.ai.scoring.answers import Answer, judged, not_applicable, unjudged, yes_or_no

_QUOTES = 5
_LEVELS = (("full", 1.0), ("half", 0.5))


def required_phrases(facts: Facts, criterion: Criterion) -> Answer:
    """Answer yes when each statement is made in one of its phrases, in their order if so asked."""
    parameters = criterion.parameters
    turns, reason = _window(facts, parameters)
    if reason is not None:
        return reason
    statements = parameters["statements"]
    found, after = [], (-1, -1)
    for statement in statements:
        place = statement_said(turns, statement, after)
        found.append(place)
        if place is not None and parameters.get("inOrder", False):
            after = place.place
    pairs = list(zip(statements, found, strict=True))
    missing = [statement for statement, place in pairs if place is None]
    early = [item["title"] for item in missing if statement_said(turns, item) is not None]
    never = [item["title"] for item in missing if item["title"] not in early]
    made = [place for place in found if place is not None]
    evidence = [piece for place in made for piece in place.evidence()]
    told = [f"Not said: {'; '.join(never)}."] if never else []
    told += [f"Said too early: {'; '.join(early)}."] if early else []
    ids = ", ".join(dict.fromkeys(piece.segment_id for piece in evidence))
    return yes_or_no(
        not missing,
        " ".join(told) or f"Everything that is asked for is said ({ids}).",
        confidence=facts.sure(0.7 if missing else 0.95),
        evidence=evidence,
    )


def forbidden_phrases(facts: Facts, criterion: Criterion) -> Answer:
    """Answer no when one of the phrases is said."""
    parameters = criterion.parameters
    turns, reason = _window(facts, parameters)
    if reason is not None:
        return reason
    found = _first(said(turns, parameters["anyOf"]))
    if not found:
        return yes_or_no(True, "None of the phrases is said.", confidence=facts.sure(0.9))
    if not is_known_to_be(facts, _by(parameters)):
        return unjudged(f"One of the phrases is said. {NO_ROLES}")
    evidence = [piece for place in found for piece in place.evidence(CONTRADICTS)]
    ids = ", ".join(dict.fromkeys(piece.segment_id for piece in evidence))
    return yes_or_no(False, f"It is said ({ids}).", confidence=0.95, evidence=evidence)


def metric_range(facts: Facts, criterion: Criterion) -> Answer:
    """Answer with a metric: in the full range 1, in the half range 0.5, else 0."""
    parameters = criterion.parameters
    metric = parameters["metric"]
    value = facts.measures.get(metric)
    if value is None:
        reason = facts.measures.missing.get(metric, "It is not measured on this channel.")
        return not_applicable(f"{metric}: {reason}", by="metric")
    known = [(name, score) for name, score in _LEVELS if name in parameters]
    reached = (score for name, score in known if holds(parameters[name], value))
    wanted = "; ".join(f"{name}: {spelled(parameters[name])}" for name, _ in known)
    return judged(
        value,
        next(reached, 0.0),
        f"{metric} is {value:g} ({wanted}).",
        confidence=0.9,
        by="metric",
    )


def holds(bounds: Mapping[str, Any], value: float) -> bool:
    """Tell whether a value lies in a range, whose ends belong to it."""
    return bool(bounds.get("atLeast", value) <= value <= bounds.get("atMost", value))


def spelled(bounds: Mapping[str, Any]) -> str:
    """Spell a range in words."""
    words = (("atLeast", "at least"), ("atMost", "at most"))
    return " and ".join(f"{word} {bounds[name]:g}" for name, word in words if name in bounds)


def _window(facts: Facts, parameters: Mapping[str, Any]) -> tuple[tuple[Turn, ...], Answer | None]:
    """Return the turns to look in, or why there is nothing to be told from them."""
    by, within = _by(parameters), parameters.get("within")
    if within and not facts.dialogue.attributed:
        return (), unjudged(f"Turns can't be counted. {NO_ROLES}")
    turns = turns_of(facts, by, within)
    return turns, None if turns else not_applicable(NO_CUSTOMER)


def _by(parameters: Mapping[str, Any]) -> str:
    return str(parameters.get("by", "agent"))


def _first(found: Any) -> list[Found]:
    return [place for place, _ in zip(found, range(_QUOTES), strict=False)]
