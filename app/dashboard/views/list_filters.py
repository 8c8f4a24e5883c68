"""Filters of the list of evaluations: every filter of the API with its label and its options."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from app.dashboard.views.filters import PERIOD_NAMES
from app.dashboard.words import WORDS

_YES_NO = {"true": "yes", "false": "no"}
# What is not a filter, or is shown elsewhere on the page.
NO_CHIP = (*PERIOD_NAMES, "page", "pageSize", "sort")
SORTS: Mapping[str, str] = {
    "-createdAt": "Newest first",
    "createdAt": "Oldest first",
    "-completedAt": "Judged last first",
    "completedAt": "Judged first first",
    "-startedAt": "Latest conversation first",
    "startedAt": "Earliest conversation first",
    "score": "Lowest score first",
    "-score": "Highest score first",
    "confidence": "Least sure first",
    "-confidence": "Most sure first",
    "-durationSeconds": "Longest first",
    "durationSeconds": "Shortest first",
}


class Control(StrEnum):
    """The element of the form that a filter has."""

    CHOICES = "choices"
    SELECT = "select"
    PICKER = "picker"
    NUMBER = "number"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class FilterField:
    """A filter by its name in the API; a picker's options are read from the database."""

    name: str
    label: str
    control: Control
    options: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def chip_text(self, text: str, names: Mapping[str, str]) -> str:
        """Write a value of the filter in words; `names` has the names of ids."""
        if self.control is Control.PICKER:
            return f"{self.label}: {names.get(text, text)}"
        values = text.split(",") if self.control is Control.CHOICES else [text]
        return f"{self.label}: {', '.join(self.options.get(value, value) for value in values)}"


def _choices(name: str, label: str) -> FilterField:
    return FilterField(name, label, Control.CHOICES, WORDS[name])


FIELDS: tuple[FilterField, ...] = (
    FilterField("q", "Words", Control.TEXT),
    FilterField("executiveId", "Executive", Control.PICKER),
    FilterField("campaignId", "Campaign", Control.PICKER),
    FilterField("callCenterId", "Call centre", Control.PICKER),
    FilterField("engagementId", "Engagement", Control.PICKER),
    FilterField("scorecardId", "Scorecard", Control.PICKER),
    FilterField("scorecardVersion", "Version of the scorecard", Control.NUMBER),
    FilterField("minScore", "Score from", Control.NUMBER),
    FilterField("maxScore", "Score up to", Control.NUMBER),
    FilterField("maxConfidence", "Confidence up to (0 to 1)", Control.NUMBER),
    FilterField("passed", "Passed", Control.SELECT, _YES_NO),
    FilterField("autoFailed", "Auto-failed", Control.SELECT, _YES_NO),
    FilterField("hasVerdict", "With a verdict", Control.SELECT, _YES_NO),
    _choices("channel", "Channel"),
    _choices("status", "Status"),
    _choices("reviewStatus", "Review"),
    FilterField("reviewedBy", "Reviewed by", Control.TEXT),
    _choices("resolution", "Resolution"),
    _choices("sentimentTrend", "Sentiment"),
    _choices("sourceType", "Source"),
    FilterField("topic", "Topic", Control.TEXT),
    FilterField("language", "Language", Control.TEXT),
    FilterField("ids", "Ids, separated by commas", Control.TEXT),
    FilterField("sourceId", "Id of the source", Control.TEXT),
    FilterField(
        "current",
        "Revisions",
        Control.SELECT,
        {"true": "current ones only", "false": "all, also replaced ones"},
    ),
)


def chip_texts(query: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """Write every filter of a query in words."""
    return {
        field.name: field.chip_text(query[field.name], names)
        for field in FIELDS
        if field.name in query
    }
