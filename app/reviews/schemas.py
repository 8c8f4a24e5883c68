"""Shapes of requests about reviews."""

from typing import Any

from marshmallow import ValidationError, fields, validates_schema

from app.evaluations.enums import RESOLUTIONS, REVIEW_ACTIONS, ReviewAction
from app.web.fields import BASE_MESSAGES, Choice, Flag, Items, Nested, Number, Text, Whole
from app.web.messages import LENGTH, REQUIRED, TYPE, UNKNOWN, Message
from app.web.pagination import PageQuery, sort_field
from app.web.shapes import CamelSchema, reject

_MOST_QUOTED = 10_000
_OF_RATINGS = ("criteria", "confirms_others")
_OF_LABELS = ("score", "resolution", "satisfaction")
_TAKES: dict[str, tuple[str, ...]] = {
    ReviewAction.OVERRIDE: _OF_RATINGS + _OF_LABELS,
    ReviewAction.ACCEPT_DISPUTE: _OF_RATINGS + _OF_LABELS,
    ReviewAction.COMMENT: _OF_RATINGS + _OF_LABELS,
    ReviewAction.CONFIRM: _OF_LABELS,
    ReviewAction.DISPUTE: ("criteria",),
}
_WITHOUT_REASON = (ReviewAction.REQUEST, ReviewAction.START, ReviewAction.CONFIRM)


class Verbatim(fields.String):
    """A quote: not trimmed, not normalised."""

    default_error_messages = {
        **BASE_MESSAGES,
        "invalid": Message(TYPE, "This must be a text."),
        "length": Message(LENGTH, f"This must have 1 to {_MOST_QUOTED:,} characters."),
    }

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str:
        text = super()._deserialize(value, attr, data, **kwargs)
        if not text.strip() or len(text) > _MOST_QUOTED:
            raise self.make_error("length")
        return text


class AnswerField(fields.Raw):
    """One of the scorecard's answers: a text or a number."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValidationError(Message(TYPE, "This must be a text or a number."))
        return value


class ReviewEvidenceCreate(CamelSchema):
    """A quote from the transcript that was judged; it must stand there character for character."""

    segment_id = Text(40, low=1, required=True)
    quote = Verbatim(required=True)
    char_start = Whole(
        high=10_000_000,
        metadata={"description": "Where it stands in the segment; its first place unless said."},
    )
    polarity = Choice(("supports", "contradicts"), load_default="supports")


class CriterionRatingCreate(CamelSchema):
    """What the reviewer answers to one question: an answer, its score, or both."""

    key = Text(200, low=1, required=True)
    applicable = Flag(load_default=True)
    answer = AnswerField(
        metadata={"type": ["string", "number"], "description": "One of the criterion's options."}
    )
    normalized_score = Number(low=0, high=1)
    reason = Text(2_000, low=1, multiline=True)
    evidence = Items(Nested(ReviewEvidenceCreate), high=20)


class ReviewCreate(CamelSchema):
    """One review."""

    action = Choice(REVIEW_ACTIONS, required=True)
    reviewer = Text(200, low=1, required=True, metadata={"example": "Nora Field"})
    reviewer_ref = Text(
        200,
        low=1,
        metadata={"example": "qa-nora", "description": "Your id of the reviewer."},
    )
    reason = Text(
        4_000,
        low=1,
        multiline=True,
        metadata={"description": "Needed but for request, start and confirm."},
    )
    criteria = Items(
        Nested(CriterionRatingCreate),
        high=200,
        metadata={
            "description": "With override and accept_dispute they take the place of the answers; "
            "with dispute they say what is contested; with comment they are a second opinion."
        },
    )
    confirms_others = Flag(
        load_default=False,
        metadata={"description": "The reviewer has checked all other criteria: they hold."},
    )
    score = Whole(
        high=100,
        metadata={"description": "The reviewer's own overall score: a label, it changes nothing."},
    )
    resolution = Choice(
        RESOLUTIONS,
        metadata={"description": "With override and accept_dispute it takes the engine's place."},
    )
    satisfaction = Number(low=1, high=5)

    @validates_schema
    def _check_action(self, data: dict[str, Any], **_: Any) -> None:
        action = data.get("action")
        if action is None:
            return
        for name in (*_OF_RATINGS, *_OF_LABELS):
            if data.get(name) and name not in _TAKES.get(action, ()):
                message = f"This does not go with {action}."
                raise reject(self.fields[name].data_key or name, message, code=UNKNOWN)
        if action not in _WITHOUT_REASON and not data.get("reason"):
            raise reject("reason", f"A reason is needed to {action}.", code=REQUIRED)
        changes = data.get("criteria") or data.get("resolution")
        if action in (ReviewAction.OVERRIDE, ReviewAction.ACCEPT_DISPUTE) and not changes:
            message = f"Criteria or a resolution are needed to {action}."
            raise reject("criteria", message, code=REQUIRED)


class ReviewQuery(PageQuery):
    """The page of the list of reviews."""

    sort = sort_field("createdAt", default="createdAt")
