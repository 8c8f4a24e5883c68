"""Schemas of evaluation filters in the body of a request."""

from typing import Any

from marshmallow import ValidationError, fields, validates_schema

from app.core.ids import SUFFIX
from app.evaluations.enums import (
    RESOLUTIONS,
    TRENDS,
    Channel,
    ReviewStatus,
    SourceType,
    Status,
)
from app.web.schemas.base import ENUM, RANGE, TYPE, CamelSchema, CodedMessage, reject
from app.web.schemas.fields import (
    Flag,
    LanguageTag,
    Number,
    Pattern,
    Reference,
    Text,
    Timestamp,
    Whole,
)
from app.web.schemas.query_fields import Ids

MOST_IDS = 100
MAX_CONFIDENCE = "Only evaluations with at most this confidence."
HAS_VERDICT = "false: scored, but too little was judged for a band, pass or fail."


class Words(fields.Field[list[str]]):
    """Values of an enum, as a comma-separated string or an array; loads as a list."""

    def __init__(self, choices: list[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._choices = choices
        self.metadata = {
            "oneOf": [
                {"type": "string", "description": f"Comma list of {', '.join(choices)}"},
                {"type": "array", "items": {"type": "string", "enum": choices}},
            ],
            **self.metadata,
        }

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> list[str]:
        words = value.split(",") if isinstance(value, str) else value
        if not isinstance(words, list) or not words:
            raise ValidationError(
                CodedMessage(TYPE, "This must be a string or an array of strings.")
            )
        for word in words:
            if word not in self._choices:
                raise ValidationError(
                    CodedMessage(ENUM, f"{word!r} is none of {', '.join(self._choices)}.")
                )
        return list(dict.fromkeys(words))


class EvaluationFilters(CamelSchema):
    """The filters of evaluations; subclasses add the period and `current`."""

    ids = Ids("eval", most=MOST_IDS)
    engagement_id = Reference("eng")
    campaign_id = Reference("camp")
    call_center_id = Reference("cc")
    executive_id = Reference("exec")
    source_type: fields.Field[Any] = Words([str(kind) for kind in SourceType])
    source_id = Pattern(
        f"(conv|aud|call)_{SUFFIX}",
        "This must be the id of a conversation, an audio file or a voice call.",
    )
    channel: fields.Field[Any] = Words([str(channel) for channel in Channel])
    status: fields.Field[Any] = Words([str(status) for status in Status])
    review_status: fields.Field[Any] = Words([str(status) for status in ReviewStatus])
    reviewed_by = Text(
        200,
        low=1,
        metadata={
            "description": "The `reviewerRef`, or the name if there is none, of a person who has "
            "started or given a review; case is ignored."
        },
    )
    scorecard_id = Reference("sc")
    scorecard_version = Whole(low=1, high=1_000_000)
    min_score = Whole(low=0, high=100)
    max_score = Whole(low=0, high=100)
    max_confidence = Number(low=0, high=1, metadata={"description": MAX_CONFIDENCE})
    passed = Flag()
    has_verdict = Flag(metadata={"description": HAS_VERDICT})
    auto_failed = Flag()
    sentiment_trend: fields.Field[Any] = Words(list(TRENDS))
    resolution: fields.Field[Any] = Words(list(RESOLUTIONS))
    topic = Text(100, low=1)
    language = LanguageTag(metadata={"description": "`en` also finds `en-GB` and other subtags."})
    q = Text(
        200,
        low=1,
        metadata={
            "description": "Words that all occur in the summary, the externalId, or the name of "
            "the executive, the campaign or the call centre; case is ignored."
        },
    )

    @validates_schema
    def _check_scores(self, data: dict[str, Any], **_: Any) -> None:
        if data.get("min_score", 0) > data.get("max_score", 100):
            raise reject("maxScore", "maxScore must not be less than minScore.", code=RANGE)


class CurrentFilters(EvaluationFilters):
    """Filters of current evaluations; `from` and `to` bound createdAt."""

    start = Timestamp(data_key="from", allow_date=True)
    end = Timestamp(data_key="to", allow_date=True)

    @validates_schema
    def _check_order(self, data: dict[str, Any], **_: Any) -> None:
        if "start" in data and "end" in data and data["start"] >= data["end"]:
            raise reject("to", "to must be later than from.", code=RANGE)
