"""Linter of valid scorecards: warns of questions that judges answer unevenly."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from app.judge.languages.detection import primary_language
from app.judge.rules.catalogue import RULES
from app.judge.scorecard.schema import (
    ACTS,
    ACTS_OF,
    ANYONE,
    KNOWN_VALUES,
    METRICS_OF,
    SLOTS,
    SPOKEN_EVENTS,
    phrases_in,
)
from app.scorecards.problems import Finding

# Words of tone: everybody means something else by them, so that two judges rarely agree.
_TONE_WORDS = (
    "adequate adequately appropriate appropriately charming enthusiastic enthusiastically "
    "excellent friendly good great nice nicely pleasant pleasantly positive positively "
    "professional professionally proper properly satisfactory sincere sincerely suitable suitably "
    "warm warmly well"
)
_TONE = frozenset(_TONE_WORDS.split())
_WORD = re.compile(r"[a-z]+")
_TWO_QUESTIONS = re.compile(
    r"\?.*\?|\band/or\b|,? (?:and|or) (?:is|are|was|were|does|do|did|has|have|had|can|could|will|"
    r"would|should)\b",
    re.IGNORECASE | re.DOTALL,
)
_SLOT = re.compile(r"<[a-z]+>|\{\w+\}")
_MOST_OPTIONS = 3
_MUCH_PERCENT = 50
NEVER_JUDGED = "This service has no language model: this will never be judged. Choose a rule."


def warnings_of(document: Mapping[str, Any], *, has_model: bool = True) -> list[Finding]:
    """List warnings for the author of a document that has no problems."""
    warnings = [*_of_document(document, has_model=has_model)]
    for index, criterion in enumerate(document["criteria"]):
        where = f"criteria[{index}]"
        warnings += _of_question(where, criterion)
        if not has_model and "rule" not in criterion["judge"]:
            warnings.append(_finding(f"{where}.judge.rule", NEVER_JUDGED))
        warnings += _of_judge(f"{where}.judge.parameters", criterion["judge"], document)
        warnings += _of_phrases(f"{where}.judge.parameters", criterion)
        warnings += _of_conditions(f"{where}.appliesWhen", criterion, document)
    return warnings


def _of_document(document: Mapping[str, Any], *, has_model: bool) -> Iterator[Finding]:
    used = {criterion["section"] for criterion in document["criteria"]}
    for index, section in enumerate(document["sections"]):
        if section["key"] not in used:
            yield _finding(f"sections[{index}]", "This section has no criterion.")
    by_model = sum(
        criterion["weight"]
        for criterion in document["criteria"]
        if "rule" not in criterion["judge"]
    )
    if has_model and by_model > _MUCH_PERCENT:
        yield _finding(
            "criteria",
            f"Only a language model can judge {by_model:g} % of the weight; without one these "
            "criteria are not applicable, and the score rests on the rest.",
        )


def _of_question(where: str, criterion: Mapping[str, Any]) -> Iterator[Finding]:
    question = criterion["question"]
    yield from _of_tone(f"{where}.question", question)
    for index, option in enumerate(criterion["options"]):
        yield from _of_tone(f"{where}.options[{index}].anchor", option["anchor"])
    if _TWO_QUESTIONS.search(question):
        message = "These are two questions: make a criterion of each."
        yield _finding(f"{where}.question", message)
    if not question.rstrip().endswith("?"):
        yield _finding(f"{where}.question", "This is not a question; it should end with `?`.")
    if len(criterion["options"]) > _MOST_OPTIONS:
        message = "Judges rarely agree on more than three options: combine some."
        yield _finding(f"{where}.options", message)


def _of_tone(where: str, text: str) -> Iterator[Finding]:
    tone = [word for word in _WORD.findall(text.lower()) if word in _TONE]
    if tone:
        message = (
            f"{tone[0]!r} means something different to everyone: say what can be heard or read."
        )
        yield _finding(where, message)


def _of_phrases(where: str, criterion: Mapping[str, Any]) -> Iterator[Finding]:
    known = [*(f"<{slot}>" for slot in SLOTS), *(f"{{{value}}}" for value in KNOWN_VALUES)]
    unknown = {
        slot
        for phrase in phrases_in([criterion["judge"], criterion.get("appliesWhen", {})])
        for slot in _SLOT.findall(phrase)
        if slot not in known
    }
    if unknown:
        message = f"{min(unknown)} matches only its own word; these match many: {', '.join(known)}."
        yield _finding(where, message)


def _of_judge(
    where: str, judge: Mapping[str, Any], document: Mapping[str, Any]
) -> Iterator[Finding]:
    parameters, channel = judge.get("parameters", {}), document["channel"]
    if "rule" in judge and not RULES[judge["rule"]].fits(channel):
        message = (
            f"The channel {channel} has none of the times that this rule needs: it never applies."
        )
        yield _finding(where.replace(".parameters", ".rule"), message)
    if "metric" in parameters:
        yield from _of_metric(f"{where}.metric", parameters["metric"], document)
    for name, part, by in (
        ("acts", parameters, "agent"),
        ("before.acts", parameters.get("before", {}), ANYONE),
        ("after.acts", parameters.get("after", {}), ANYONE),
    ):
        side = part.get("by", by)
        never = [] if side == ANYONE else sorted({*part.get("acts", ())} - ACTS_OF[side])
        if never:
            message = f"Only the other side {' or '.join(ACTS[act] for act in never)}: this is never found."
            yield _finding(f"{where}.{name}", message)
    full, half = parameters.get("full"), parameters.get("half")
    if isinstance(half, dict) and _lies_within(half, full or {}):
        yield _finding(f"{where}.half", "All of this range is in `full`: nothing is ever half.")


def _of_conditions(
    where: str, criterion: Mapping[str, Any], document: Mapping[str, Any]
) -> Iterator[Finding]:
    conditions, channel = criterion.get("appliesWhen", {}), document["channel"]
    if "metric" in conditions:
        yield from _of_metric(f"{where}.metric", conditions["metric"]["metric"], document)
    events = conditions.get("events", ())
    if channel == "chat" and events and set(events) <= set(SPOKEN_EVENTS):
        yield _finding(f"{where}.events", "In a chat nothing of this happens: it never applies.")
    directions = conditions.get("directions", ())
    if channel == "chat" and directions and "unknown" not in directions:
        message = "The direction of a chat is unknown: it never applies."
        yield _finding(f"{where}.directions", message)
    languages = conditions.get("languages", ())
    if document.get("languages") and languages and not _meet(languages, document["languages"]):
        message = "The scorecard is made for other languages: it never applies."
        yield _finding(f"{where}.languages", message)


def _of_metric(where: str, metric: str, document: Mapping[str, Any]) -> Iterator[Finding]:
    channel = document["channel"]
    if metric not in METRICS_OF[channel]:
        message = f"{metric} is not measured on the channel {channel}: it never applies."
        yield _finding(where, message)


def _lies_within(inner: Mapping[str, float], outer: Mapping[str, float]) -> bool:
    low, high = float("-inf"), float("inf")
    return bool(
        inner.get("atLeast", low) >= outer.get("atLeast", low)
        and inner.get("atMost", high) <= outer.get("atMost", high)
    )


def _meet(some: Iterable[str], others: Iterable[str]) -> bool:
    return not set(map(primary_language, some)).isdisjoint(map(primary_language, others))


def _finding(field: str, message: str) -> Finding:
    return Finding(field, "WARNING", message)
