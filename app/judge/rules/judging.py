"""Judgement of a criterion by the rules: first the conditions of its author, then its rule."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from app.judge.facts.conversation_facts import Facts
from app.judge.facts.metrics import NO_SERVICE, NO_TIMES
from app.judge.facts.moments import event_types
from app.judge.languages.detection import UNKNOWN, name_of, primary_language
from app.judge.rules.catalogue import RULES, Needs
from app.judge.rules.metrics import is_within, range_in_words
from app.judge.scorecard.schema import ANYONE, WRITTEN_EVENTS
from app.judge.scorecard.values import Criterion
from app.judge.scoring.answers import Answer, needs_model, not_applicable, on_scale, unjudged
from app.judge.wording import listed, part, sentence

# Confidence lost where all words were read with an unmeasured lexicon.
_FIRST_LEXICON_DOUBT = 0.3
_SURE_LANGUAGE = 0.5
_WHO = {"agent": "the agent", "customer": "the customer", ANYONE: "somebody"}


def answer(facts: Facts, criterion: Criterion) -> Answer:
    """Judge one criterion, or say why the embedded engine doesn't.

    Where speakers are unknown, only rules about the whole conversation are applied.
    """
    inapplicable = unmet(facts, criterion)
    if inapplicable is not None:
        return inapplicable
    if criterion.rule is None:
        return needs_model()
    rule = RULES[criterion.rule]
    by = "metric" if criterion.methods[0] == "metric" else "rule"
    if Needs.ROLES in rule.needs and not facts.dialogue.attributed:
        return unjudged(sentence("not_judged.one_channel"), by=by)
    if facts.dialogue.attributed and not facts.dialogue.service:
        return not_applicable(NO_SERVICE, by=by)
    if Needs.WORDS in rule.needs and not facts.dialogue.readable:
        return unjudged(facts.dialogue.unread_reason, by=by)
    if Needs.SPEECH in rule.needs and not facts.timing.spoken:
        return not_applicable(NO_TIMES, by=by)
    answer = rule.judge(facts, criterion)
    if criterion.kind == "scale":
        answer = on_scale(answer, criterion.options)
    return _hedged(facts, answer) if Needs.WORDS in rule.needs else answer


def _hedged(facts: Facts, answer: Answer) -> Answer:
    # Phrases that nobody has measured yet, and a language that is only guessed, weigh less.
    dialogue, confidence, notes = facts.dialogue, answer.confidence, []
    if confidence is None:
        return answer
    lexicons = dialogue.unmeasured_lexicons
    if lexicons:
        confidence *= 1 - _FIRST_LEXICON_DOUBT * sum(
            dialogue.language_shares[lexicon.language] for lexicon in lexicons
        )
        names = listed([lexicon.name for lexicon in lexicons])
        notes.append(sentence("not_judged.first_word_list", languages=names))
    if dialogue.language_confidence < _SURE_LANGUAGE:
        confidence *= dialogue.language_confidence / _SURE_LANGUAGE
        notes.append(sentence("not_judged.guessed_language"))
    if not notes:
        return answer
    return replace(answer, note=" ".join(notes), confidence=round(confidence, 4))


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
    own = {facts.context.campaign_id, *facts.context.former_campaign_ids}
    return None if own & set(campaign_ids) else _only("campaigns")


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
        if is_within(condition, value)
        else _only("metric", metric=metric, range=range_in_words(condition))
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
    if facts.phrases.window(by).first_said(condition["anyOf"]) is None:
        return _only("said", who=_WHO[by])
    return None if facts.phrases.speaker_known(by) else _unknown_speaker()


def _not_said(facts: Facts, condition: Mapping[str, Any]) -> Answer | None:
    by = condition.get("by", ANYONE)
    if facts.phrases.window(by).first_said(condition["anyOf"]) is None:
        return None
    if not facts.phrases.speaker_known(by):
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
