"""Draft as its editor shows it: sections with their criteria, each under its place in the document."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from app.dashboard.views.scorecards.controls import ParameterControl, parameter_controls
from app.dashboard.views.scorecards.draft_form import CRITERION_FIELDS, rest_of


@dataclass(frozen=True, slots=True)
class EditedCriterion:
    """A criterion of the form.

    Attributes:
        path: its path in the document, with which the names of its fields begin.
        rest: the fields that the form does not edit, as JSON.
        more: the names of those fields.
        was: its type and its rule, so that another choice is noticed.
        methods: the methods of its judge, one a line.
    """

    index: int
    path: str
    document: Mapping[str, Any]
    controls: Sequence[ParameterControl]
    rest: str
    more: Sequence[str]
    was: str
    methods: str


@dataclass(frozen=True, slots=True)
class EditedSection:
    """A section of the form; criteria of unknown sections have one without index."""

    index: int | None
    document: Mapping[str, Any]
    criteria: Sequence[EditedCriterion]


def edited_sections(document: Mapping[str, Any], channel: str) -> list[EditedSection]:
    """Return the sections in their order, then the criteria whose section is unknown."""
    criteria = [
        _edited(index, criterion, channel) for index, criterion in enumerate(document["criteria"])
    ]
    known = [section.get("key") for section in document["sections"]]
    groups = [
        EditedSection(index, section, _of_section(criteria, section.get("key")))
        for index, section in enumerate(document["sections"])
    ]
    lost = [item for item in criteria if item.document.get("section") not in known]
    return [*groups, EditedSection(None, {}, lost)] if lost else groups


def _of_section(criteria: Sequence[EditedCriterion], key: str | None) -> list[EditedCriterion]:
    return [item for item in criteria if item.document.get("section") == key]


def _edited(index: int, criterion: Mapping[str, Any], channel: str) -> EditedCriterion:
    path, judge = f"criteria[{index}]", criterion.get("judge", {})
    rest = rest_of(criterion, CRITERION_FIELDS)
    return EditedCriterion(
        index=index,
        path=path,
        document=criterion,
        controls=parameter_controls(f"{path}.judge.parameters", judge, channel),
        rest=orjson.dumps(rest).decode(),
        more=list(rest),
        was=f"{criterion.get('type', '')} {judge.get('rule', '')}",
        methods="\n".join(judge.get("methods", [])),
    )
