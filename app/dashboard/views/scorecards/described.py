"""Scorecards in words: sections, criteria with their rules and conditions, and what differs between two versions."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.dashboard.words import text_of
from app.judge.rules.catalogue import PARAMETERS
from app.judge.scorecard.parameters import Parameter

_BY_MODEL_ALONE = "Only a language model can judge this."
_ADDED, _REMOVED = "Added", "Removed"
# Fields of a document and of a criterion, with their labels in the order of the page.
_DOCUMENT_FIELDS = {
    "name": "Name",
    "description": "Description",
    "languages": "Languages",
    "passThreshold": "Passed from",
    "bands": "Bands",
    "minimum": "Minimum",
    "maxFailedWeightPercent": "Failed weight at most",
    "metrics": "Thresholds of metrics",
    "topics": "Topics",
}
_OTHER_FIELDS = {
    "criteria": "Weights",
    "rule": "Judged by",
    "key": "Key",
    "answer": "Answer",
    "score": "Score",
    "anchor": "When it is right",
    "from": "From",
}
_CRITERION_FIELDS = {
    "title": "Title",
    "section": "Section",
    "weight": "Weight",
    "question": "Question",
    "type": "Type",
    "options": "Answers",
    "criticality": "Criticality",
    "errorClass": "Class",
    "failsAt": "Fails up to",
    "appliesWhen": "Applies when",
    "notApplicableWhen": "Not applicable when",
    "dimension": "Dimension",
    "suggestion": "Suggestion",
}
_STEP = re.compile(r"\w+")
_PART = re.compile(r"(criteria|sections)\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class DescribedCriterion:
    """A criterion in words.

    Attributes:
        judge: the rule in words, or that only a language model can judge it.
        parameters: labels and values of the rule's parameters.
        conditions: when it applies, all of which must hold; empty where it always does.
    """

    document: Mapping[str, Any]
    judge: str
    parameters: Sequence[tuple[str, str]]
    conditions: Sequence[str]


@dataclass(frozen=True, slots=True)
class VersionChange:
    """One difference: where it is, and the texts before and after."""

    place: str
    field: str
    before: str
    after: str


def described_sections(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the sections of a complete document, each with its share of the weight and its criteria."""
    sections = []
    for section in document["sections"]:
        criteria = [item for item in document["criteria"] if item["section"] == section["key"]]
        sections.append(
            {
                **section,
                "weight": sum(criterion["weight"] for criterion in criteria),
                "criteria": [_described_criterion(criterion) for criterion in criteria],
            }
        )
    return sections


def place_in_words(path: str, document: Mapping[str, Any]) -> tuple[str, str]:
    """Name the place of a finding, as in `Greeting: Question`; return the id of its part of the page, too."""
    part = _PART.match(path)
    *_, field = [step for step in _STEP.findall(path) if not step.isdigit()]
    label = _CRITERION_FIELDS.get(field) or _DOCUMENT_FIELDS.get(field) or _OTHER_FIELDS.get(field)
    if label is None:
        label = (PARAMETERS[field].label if field in PARAMETERS else "") or field
    if part is None:
        return label, "scorecard-title"
    noun, index = part[1], int(part[2])
    items = document.get(noun, [])
    item = items[index] if index < len(items) else {}
    kind = "criterion" if noun == "criteria" else "section"
    title = item.get("title") or item.get("key") or f"{kind} {index + 1}"
    return f"{title}: {label.lower()}", f"{kind}-{index}"


def version_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[VersionChange]:
    """List what differs between two scorecard documents: settings, sections, then criteria."""
    return [
        *_fields("Scorecard", before, after, _DOCUMENT_FIELDS),
        *_parts("Section", before["sections"], after["sections"], {"title": "Title"}),
        *_parts("Criterion", before["criteria"], after["criteria"], _CRITERION_FIELDS),
        *_order(before["criteria"], after["criteria"]),
    ]


def _described_criterion(criterion: Mapping[str, Any]) -> DescribedCriterion:
    judge = criterion["judge"]
    rule = judge.get("rule")
    return DescribedCriterion(
        document=criterion,
        judge=text_of("rule", rule) if rule else _BY_MODEL_ALONE,
        parameters=[
            (_parameter_label(name), _parameter_text(name, value))
            for name, value in judge.get("parameters", {}).items()
        ],
        conditions=_condition_texts(criterion.get("appliesWhen", {})),
    )


def _parameter_label(name: str) -> str:
    # Without a rule, earlier releases stored parameters of any name.
    return PARAMETERS[name].label if name in PARAMETERS else name


def _parameter_text(name: str, value: Any) -> str:
    if name in PARAMETERS:
        return _value_text(PARAMETERS[name], value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {inner:g}" for key, inner in value.items())
    return str(value)


def _value_text(parameter: Parameter, value: Any) -> str:
    match parameter.kind:
        case "flag":
            return "yes" if value else "no"
        case "choice":
            return parameter.options.get(value, value)
        case "choices":
            return " or ".join(parameter.options.get(one, one) for one in value) or "none"
        case "phrases":
            return _phrases(value)
        case "statements":
            return "; ".join(f"{one['title']}: {_phrases(one['anyOf'])}" for one in value) or "none"
        case "object":
            named = (member for member in parameter.members if member.name in value)
            return ", ".join(
                f"{member.label.lower()} {_value_text(member, value[member.name])}"
                for member in named
            )
        case _:
            return f"{value:,g}"


def _phrases(values: Sequence[str]) -> str:
    return " or ".join(
        f"\N{LEFT DOUBLE QUOTATION MARK}{value}\N{RIGHT DOUBLE QUOTATION MARK}" for value in values
    )


def _condition_texts(conditions: Mapping[str, Any]) -> list[str]:
    return [_CONDITION_TEXTS[name](value) for name, value in conditions.items()]


def _said(said: Mapping[str, Any], verb: str) -> str:
    speaker = text_of("speaker", said.get("by", "anyone"))
    return f"{speaker} {verb} {_phrases(said['anyOf'])}"


def _range_text(bounds: Mapping[str, float]) -> str:
    names = {"atLeast": "at least", "atMost": "at most"}
    return ", ".join(f"{names[name]} {value:,g}" for name, value in bounds.items())


def _measured(condition: Mapping[str, Any]) -> str:
    bounds = {name: value for name, value in condition.items() if name != "metric"}
    return f"{condition['metric']} is {_range_text(bounds) or 'measured'}"


_CONDITION_TEXTS: Mapping[str, Callable[[Any], str]] = {
    "languages": lambda tags: f"the language is {' or '.join(tags)}",
    "directions": lambda names: f"the direction is {' or '.join(names)}",
    "campaignIds": lambda ids: f"the campaign is {' or '.join(ids)}",
    "labels": lambda labels: ", ".join(f"{name} is {text}" for name, text in labels.items()),
    "metric": _measured,
    "events": lambda names: " or ".join(text_of("event", name) for name in names),
    "said": lambda said: _said(said, "says"),
    "notSaid": lambda said: _said(said, "does not say"),
}


def _parts(
    noun: str,
    before: Sequence[Mapping[str, Any]],
    after: Sequence[Mapping[str, Any]],
    labels: Mapping[str, str],
) -> Iterator[VersionChange]:
    earlier, later = ({item["key"]: item for item in items} for items in (before, after))
    for key, item in later.items():
        place = f"{noun} {item['title']}"
        if key not in earlier:
            yield VersionChange(place, _ADDED, "", _part_text(item))
            continue
        yield from _fields(place, earlier[key], item, labels)
        yield from _judges(place, earlier[key].get("judge", {}), item.get("judge", {}))
    for key, item in earlier.items():
        if key not in later:
            yield VersionChange(f"{noun} {item['title']}", _REMOVED, _part_text(item), "")


def _fields(
    place: str, before: Mapping[str, Any], after: Mapping[str, Any], labels: Mapping[str, str]
) -> Iterator[VersionChange]:
    for name, label in labels.items():
        texts = _text(name, before.get(name)), _text(name, after.get(name))
        if texts[0] != texts[1]:
            yield VersionChange(place, label, *texts)


def _judges(
    place: str, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[VersionChange]:
    rules = [_text("rule", judge.get("rule")) for judge in (before, after)]
    if rules[0] != rules[1]:
        yield VersionChange(place, "Rule", *rules)
    earlier, later = before.get("parameters", {}), after.get("parameters", {})
    for name in {**earlier, **later}:
        texts = [
            _parameter_text(name, values[name]) if name in values else ""
            for values in (earlier, later)
        ]
        if texts[0] != texts[1]:
            yield VersionChange(place, _parameter_label(name), *texts)


def _order(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]
) -> Iterator[VersionChange]:
    earlier, later = ({item["key"]: item["title"] for item in items} for items in (before, after))
    orders = [[key for key in keys if key in earlier and key in later] for keys in (earlier, later)]
    if orders[0] != orders[1]:
        texts = (", ".join(earlier[key] for key in order) for order in orders)
        yield VersionChange("Criteria", "Order", *texts)


def _part_text(item: Mapping[str, Any]) -> str:
    return f"{item['question']} (weight {item['weight']:g})" if "question" in item else ""


def _text(name: str, value: Any) -> str:
    if value is None or value in ("", [], {}):
        return ""
    if name == "rule":
        return text_of("rule", value)
    if name == "appliesWhen":
        return "; ".join(_condition_texts(value))
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_text('', inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return "; ".join(_text("", item) for item in value)
    return f"{value:g}" if isinstance(value, int | float) else str(value)
