"""Draft as its editor shows it: sections with their criteria, each under its place in the document."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.dashboard.views.scorecards.controls import (
    FormControl,
    condition_controls,
    parameter_controls,
)


@dataclass(frozen=True, slots=True)
class EditedCriterion:
    """A criterion of the form.

    Attributes:
        path: its path in the document, with which the names of its fields begin.
        parameters: the controls of the parameters of its rule.
        conditions: the controls of its conditions.
        was: its type and its rule, so that another choice is noticed.
        methods: the methods of its judge, one a line.
    """

    index: int
    path: str
    document: Mapping[str, Any]
    parameters: Sequence[FormControl]
    conditions: Sequence[FormControl]
    was: str
    methods: str


@dataclass(frozen=True, slots=True)
class EditedSection:
    """A section of the form; criteria of unknown sections have one without index."""

    index: int | None
    document: Mapping[str, Any]
    criteria: Sequence[EditedCriterion]


def edited_sections(
    document: Mapping[str, Any], channel: str, campaigns: Mapping[str, str]
) -> list[EditedSection]:
    """Return the sections in their order, then the criteria whose section is unknown.

    Args:
        campaigns: the names of campaigns, by id.
    """
    criteria = [
        _edited(index, criterion, channel, campaigns)
        for index, criterion in enumerate(document["criteria"])
    ]
    known = [section.get("key") for section in document["sections"]]
    groups = [
        EditedSection(index, section, _of_section(criteria, section.get("key")))
        for index, section in enumerate(document["sections"])
    ]
    unknown = [item for item in criteria if item.document.get("section") not in known]
    return [*groups, EditedSection(None, {}, unknown)] if unknown else groups


def named_campaigns(document: Mapping[str, Any]) -> set[str]:
    """Return the ids of the campaigns that the conditions of criteria name."""
    conditions = (criterion.get("appliesWhen", {}) for criterion in document["criteria"])
    return {campaign_id for named in conditions for campaign_id in named.get("campaignIds", [])}


def _of_section(criteria: Sequence[EditedCriterion], key: str | None) -> list[EditedCriterion]:
    return [item for item in criteria if item.document.get("section") == key]


def _edited(
    index: int, criterion: Mapping[str, Any], channel: str, campaigns: Mapping[str, str]
) -> EditedCriterion:
    path, judge = f"criteria[{index}]", criterion.get("judge", {})
    conditions = criterion.get("appliesWhen", {})
    return EditedCriterion(
        index=index,
        path=path,
        document=criterion,
        parameters=parameter_controls(f"{path}.judge.parameters", judge, channel),
        conditions=condition_controls(f"{path}.appliesWhen", conditions, channel, campaigns),
        was=f"{criterion.get('type', '')} {judge.get('rule', '')}",
        methods="\n".join(judge.get("methods", [])),
    )
