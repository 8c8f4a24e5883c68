"""Applicability of a criterion: the conditions of its author, all of which must hold."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from app.ai.facts.conversation_facts import Facts
from app.ai.facts.moments import event_types
from app.ai.facts.spoken_phrases import ANYONE, is_known_to_be, window_of
from app.ai.languages.detection import UNKNOWN, name_of, primary_language
from app.ai.rules.custom_criteria import holds, spelled
from app.ai.scorecard.schema import WRITTEN_EVENTS
from app.ai.scorecard.values import Criterion
from app.ai.scoring.answers import Answer, not_applicable, unjudged
from app.ai.wording.sentences import part, sentence
from app.ai.wording.words import listed

_WHO = {"agent": "the agent", "customer": "the customer", ANYONE: "somebody"}


def unmet(facts: Facts, criterion: Criterion) -> Answer | None:
    """Answer that the criterion does not apply, or that this can't be told; None when it does."""
    for name, check in _CHECKS.items():
        if name in criterion.applies_when:
            answer = check(facts, criterion.applies_when[name])
            if answer is not None:
                return answer
    return None


def speaks(facts: Facts, languages: Iterable[str]) -> bool | None:
    """Tell whether the conversation is in one of the languages, whatever the region and script.

    None where its language is not known.
    """
    language = primary_language(facts.dialogue.language)
    if language == UNKNOWN:
        return None
    return language in {primary_language(tag) for tag in languages}


def _languages(facts: Facts, languages: list[str]) -> Answer | None:
    is_spoken = speaks(facts, languages)
    if is_spoken is None:
        return unjudged(facts.dialogue.unread_reason)
    return (
        None
        if is_spoken
        else _only("languages", languages=listed([name_of(tag) for tag in languages], "or"))
    )


def _directions(facts: Facts, directions: list[str]) -> Answer | None:
    if facts.context.direction in directions:
        return None
    return _only("directions", directions=listed(directions, "or"))


def _campaigns(facts: Facts, campaign_ids: list[str]) -> Answer | None:
    return None if facts.context.campaign_id in campaign_ids else _only("campaigns")


def _labels(facts: Facts, labels: Mapping[str, str]) -> Answer | None:
    actual = facts.context.labels
    missing = [f"{name} {value}" for name, value in labels.items() if actual.get(name) != value]
    return _only("labels", labels=listed(missing)) if missing else None


def _metric(facts: Facts, condition: Mapping[str, Any]) -> Answer | None:
    metric = part(f"metric.{condition['metric']}")
    value = facts.measures.get(condition["metric"])
    if value is None:
        return _only("unmeasured", metric=metric)
    return (
        None
        if holds(condition, value)
        else _only("metric", metric=metric, range=spelled(condition))
    )


def _events(facts: Facts, events: list[str]) -> Answer | None:
    if not event_types(facts).isdisjoint(events):
        return None
    if not facts.dialogue.readable and not set(WRITTEN_EVENTS).isdisjoint(events):
        return unjudged(
            sentence("not_judged.condition_unread", reason=facts.dialogue.unread_reason)
        )
    return _only("events", events=listed([part(f"event.{event}") for event in events], "or"))


def _said(facts: Facts, condition: Mapping[str, Any]) -> Answer | None:
    by = condition.get("by", ANYONE)
    if window_of(facts, by).first_said(condition["anyOf"]) is None:
        return _only("said", who=_WHO[by])
    return None if is_known_to_be(facts, by) else _unknown_speaker()


def _not_said(facts: Facts, condition: Mapping[str, Any]) -> Answer | None:
    by = condition.get("by", ANYONE)
    if window_of(facts, by).first_said(condition["anyOf"]) is None:
        return None
    if not is_known_to_be(facts, by):
        return _unknown_speaker()
    return _only("not_said", who=_WHO[by])


def _unknown_speaker() -> Answer:
    return unjudged(sentence("not_judged.unknown_speaker"))


def _only(key: str, **values: str) -> Answer:
    return not_applicable(sentence(f"applies_only.{key}", **values))


# The cheap ones first: what does not apply costs nothing then.
_CHECKS: dict[str, Callable[[Facts, Any], Answer | None]] = {
    "languages": _languages,
    "directions": _directions,
    "campaignIds": _campaigns,
    "labels": _labels,
    "metric": _metric,
    "events": _events,
    "said": _said,
    "notSaid": _not_said,
}
