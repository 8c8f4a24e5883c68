"""Descriptions of scorecards: sections, criteria, and their parameters and conditions in words."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.dashboard.words import text_of

BY_MODEL_ALONE = "Only a language model can judge this."


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
class DescribedSection:
    """A section with its share of the weight and its criteria."""

    key: str
    title: str
    weight: float
    criteria: Sequence[DescribedCriterion]


def described_sections(document: Mapping[str, Any]) -> list[DescribedSection]:
    """Describe the sections of a complete scorecard document, in their order."""
    sections = []
    for section in document["sections"]:
        criteria = [item for item in document["criteria"] if item["section"] == section["key"]]
        sections.append(
            DescribedSection(
                section["key"],
                section["title"],
                sum(criterion["weight"] for criterion in criteria),
                [described_criterion(criterion) for criterion in criteria],
            )
        )
    return sections


def described_criterion(criterion: Mapping[str, Any]) -> DescribedCriterion:
    """Describe one criterion."""
    judge = criterion["judge"]
    rule = judge.get("rule")
    return DescribedCriterion(
        document=criterion,
        judge=text_of("rule", rule) if rule else BY_MODEL_ALONE,
        parameters=[
            (text_of("parameter", name), parameter_text(name, value))
            for name, value in judge.get("parameters", {}).items()
        ],
        conditions=condition_texts(criterion.get("appliesWhen", {})),
    )


def parameter_text(name: str, value: Any) -> str:
    """Write the value of a rule's parameter in words."""
    if name in _PARAMETER_TEXTS:
        return _PARAMETER_TEXTS[name](value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,g}"
    return _listed(value) if isinstance(value, list) else str(value)


def condition_texts(conditions: Mapping[str, Any]) -> list[str]:
    """Write each condition of a criterion in words."""
    return [_CONDITION_TEXTS[name](value) for name, value in conditions.items()]


def range_text(bounds: Mapping[str, float]) -> str:
    """Write a range in words."""
    names = {"atLeast": "at least", "atMost": "at most"}
    return ", ".join(f"{names[name]} {value:,g}" for name, value in bounds.items())


def _listed(values: Sequence[str]) -> str:
    return ", ".join(values) or "none"


def _phrases(values: Sequence[str]) -> str:
    return " or ".join(
        f"\N{LEFT DOUBLE QUOTATION MARK}{value}\N{RIGHT DOUBLE QUOTATION MARK}" for value in values
    )


def _statements(statements: Sequence[Mapping[str, Any]]) -> str:
    texts = (f"{item['title']}: {_phrases(item['anyOf'])}" for item in statements)
    return "; ".join(texts) or "none"


def _turns(within: Mapping[str, int]) -> str:
    names = {"firstTurns": "first", "lastTurns": "last"}
    return ", ".join(f"the {names[name]} {count} turns" for name, count in within.items())


def _said(said: Mapping[str, Any], verb: str) -> str:
    speaker = text_of("speaker", said.get("by", "anyone"))
    return f"{speaker} {verb} {_phrases(said['anyOf'])}"


def _measured(condition: Mapping[str, Any]) -> str:
    bounds = {name: value for name, value in condition.items() if name != "metric"}
    return f"{condition['metric']} is {range_text(bounds) or 'measured'}"


_PARAMETER_TEXTS: Mapping[str, Callable[[Any], str]] = {
    "statements": _statements,
    "requiredStatements": _statements,
    "anyOf": _phrases,
    "weights": lambda weights: ", ".join(f"{name} {value:g}" for name, value in weights.items()),
    "within": _turns,
    "full": range_text,
    "half": range_text,
    "by": lambda speaker: text_of("speaker", speaker),
}
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
