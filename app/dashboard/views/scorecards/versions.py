"""Differences between two versions of a scorecard, field by field."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.dashboard.views.scorecards.described import condition_texts, parameter_text
from app.dashboard.words import text_of

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


@dataclass(frozen=True, slots=True)
class VersionChange:
    """One difference: where it is, and the texts before and after."""

    place: str
    field: str
    before: str
    after: str


def version_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[VersionChange]:
    """List what differs between two scorecard documents: settings, sections, then criteria."""
    return [
        *_fields("Scorecard", before, after, _DOCUMENT_FIELDS),
        *_parts("Section", before["sections"], after["sections"], {"title": "Title"}),
        *_parts("Criterion", before["criteria"], after["criteria"], _CRITERION_FIELDS),
        *_order(before["criteria"], after["criteria"]),
    ]


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
            parameter_text(name, values[name]) if name in values else ""
            for values in (earlier, later)
        ]
        if texts[0] != texts[1]:
            yield VersionChange(place, text_of("parameter", name), *texts)


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
        return "; ".join(condition_texts(value))
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_text('', inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return "; ".join(_text("", item) for item in value)
    return f"{value:g}" if isinstance(value, int | float) else str(value)
