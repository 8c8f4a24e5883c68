"""Checks of drafts: what the API would refuse, and what the linter warns of."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.core.errors import Detail, InvalidInput
from app.dashboard import forms
from app.dashboard.views.scorecards.draft_changes import weight_text
from app.scorecards import authoring
from app.scorecards.schemas import ScorecardCreate
from app.web.schemas.base import load_valid

_SCHEMA = ScorecardCreate()
# Where the path of a part ends within the path of a field.
_PART_END = re.compile(r"[.\[]|$")


@dataclass(frozen=True, slots=True)
class DraftCheck:
    """The findings about a draft, by the paths of their fields.

    Attributes:
        weights: how much of the weight is given, in words.
    """

    errors: list[dict[str, str]]
    warnings: list[dict[str, str]]
    weights: str

    @property
    def messages(self) -> dict[str, str]:
        """The messages of the errors by path: at their fields, and at every part around these."""
        messages: dict[str, list[str]] = {}
        for error in self.errors:
            path = error["field"]
            for part in _PART_END.finditer(path):
                messages.setdefault(path[: part.start()], []).append(error["message"])
        return {path: " ".join(texts) for path, texts in messages.items()}


def loaded_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """Load a draft as the API loads a scorecard; raises `InvalidInput`."""
    return load_valid(_SCHEMA, document, location=forms.LOCATION)


def checked(document: Mapping[str, Any], channel: str) -> DraftCheck:
    """Check a draft."""
    weights = weight_text(document)
    try:
        loaded = loaded_document(document)
    except InvalidInput as error:
        findings = [
            {"field": detail["field"], "message": _form_message(detail)} for detail in error.details
        ]
        return DraftCheck(findings, [], weights)
    result = authoring.check(loaded, channel=channel)
    return DraftCheck(
        [finding.as_json() for finding in result.errors],
        [finding.as_json() for finding in result.warnings],
        weights,
    )


def _form_message(detail: Detail) -> str:
    if detail["field"].endswith(".appliesWhen.labels"):
        return "Each line must be a name and a value, such as team=north."
    return detail["message"]
