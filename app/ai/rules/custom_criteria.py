"""The rules of criteria that an author writes: phrases that must or must not be said, and metrics."""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from app.ai.dialogue.evidence import CONTRADICTS, SUPPORTS
from app.ai.dialogue.turns import Line, Turn
from app.ai.facts.conversation_facts import Facts, distinct, examined
from app.ai.facts.measures import NO_CUSTOMER
from app.ai.facts.spoken_phrases import Window, is_known_to_be, window_of
from app.ai.scorecard.values import Criterion
from app.ai.scoring.answers import Answer, judged, not_applicable, unjudged, yes_or_no
from app.ai.wording.sentences import part, sentence
from app.ai.wording.words import in_quotes, listed

_QUOTES = 5
_LEVELS = (("full", 1.0), ("half", 0.5))


def required_phrases(facts: Facts, criterion: Criterion) -> Answer:
    """Answer yes when each statement is made in one of its phrases, in their order if so asked."""
    parameters = criterion.parameters
    window, reason = _window(facts, parameters)
    if reason is not None:
        return reason
    statements = parameters["statements"]
    matches, after = [], (-1, -1)
    for statement in statements:
        place = window.first_said(statement["anyOf"], after)
        matches.append(place)
        if place is not None and parameters.get("inOrder", False):
            after = place.place
    pairs = list(zip(statements, matches, strict=True))
    missing = [statement for statement, place in pairs if place is None]
    early = [item["title"] for item in missing if window.first_said(item["anyOf"]) is not None]
    never = [item["title"] for item in missing if item["title"] not in early]
    matched = [place for place in matches if place is not None]
    evidence = [piece for place in matched for piece in place.evidence()]
    problems = [
        sentence(key, titles=listed([in_quotes(title) for title in titles]))
        for key, titles in (("required_phrases.never", never), ("required_phrases.early", early))
        if titles
    ]
    return yes_or_no(
        not missing,
        " ".join(problems) or sentence("required_phrases.complete"),
        confidence=facts.confidence(0.7 if missing else 0.95),
        evidence=distinct(evidence) or examined(_first_lines(window.turns)),
    )


def forbidden_phrases(facts: Facts, criterion: Criterion) -> Answer:
    """Answer no when one of the phrases is said."""
    parameters = criterion.parameters
    window, reason = _window(facts, parameters)
    if reason is not None:
        return reason
    matches = list(islice(window.said(parameters["anyOf"]), _QUOTES))
    if not matches:
        return yes_or_no(
            True,
            sentence("forbidden_phrases.none"),
            confidence=facts.confidence(0.9),
            evidence=examined(_first_lines(window.turns), SUPPORTS),
        )
    if not is_known_to_be(facts, _by(parameters)):
        return unjudged(sentence("not_judged.phrase_by_unknown"))
    return yes_or_no(
        False,
        sentence("forbidden_phrases.found"),
        confidence=0.95,
        evidence=distinct(piece for place in matches for piece in place.evidence(CONTRADICTS)),
    )


def metric_range(facts: Facts, criterion: Criterion) -> Answer:
    """Answer with a metric: in the full range 1, in the half range 0.5, else 0."""
    parameters = criterion.parameters
    metric = parameters["metric"]
    value = facts.measures.get(metric)
    if value is None:
        reason = facts.measures.missing.get(metric, sentence("metric_range.other_channel"))
        return not_applicable(
            sentence("metric_range.missing", metric=part(f"metric.{metric}"), reason=reason),
            by="metric",
        )
    levels = [(name, score) for name, score in _LEVELS if name in parameters]
    reached = (score for name, score in levels if holds(parameters[name], value))
    ranges = [part(f"metric_range.{name}", range=spelled(parameters[name])) for name, _ in levels]
    return judged(
        value,
        next(reached, 0.0),
        sentence(
            "metric_range.measured",
            metric=part(f"metric.{metric}"),
            value=f"{value:g}",
            wanted="; ".join(ranges),
        ),
        confidence=0.9,
        by="metric",
    )


def holds(bounds: Mapping[str, Any], value: float) -> bool:
    """Tell whether a value is within a range, including its limits."""
    return bool(bounds.get("atLeast", value) <= value <= bounds.get("atMost", value))


def spelled(bounds: Mapping[str, Any]) -> str:
    """Spell a range in words."""
    words = (("atLeast", "at least"), ("atMost", "at most"))
    return " and ".join(f"{word} {bounds[name]:g}" for name, word in words if name in bounds)


def _window(facts: Facts, parameters: Mapping[str, Any]) -> tuple[Window, Answer | None]:
    """Return the turns to look in, and the answer where nothing can be told from them."""
    by, within = _by(parameters), parameters.get("within")
    window = window_of(facts, by, within)
    if within and not facts.dialogue.attributed:
        return window, unjudged(sentence("not_judged.turns_not_counted"))
    return window, None if window.turns else not_applicable(NO_CUSTOMER)


def _first_lines(turns: Iterable[Turn]) -> list[Line]:
    return [turn.lines[0] for turn in turns]


def _by(parameters: Mapping[str, Any]) -> str:
    return str(parameters.get("by", "agent"))
