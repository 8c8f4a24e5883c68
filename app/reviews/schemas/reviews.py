"""Schemas of review requests, and of the examples that overrides give to the judge."""

from typing import Any

from marshmallow import ValidationError, fields, validates_schema

from app.evaluations.enums import BANDS, RESOLUTIONS, REVIEW_ACTIONS, ReviewAction
from app.evaluations.schemas.results import AutoFailSchema
from app.web.schemas.base import (
    LENGTH,
    REQUIRED,
    TYPE,
    UNKNOWN,
    AnswerSchema,
    CamelSchema,
    CodedMessage,
    StoredAnswerSchema,
    about,
    reject,
)
from app.web.schemas.fields import (
    BASE_MESSAGES,
    Choice,
    Flag,
    Items,
    Nested,
    Number,
    Reference,
    Text,
    Timestamp,
    Whole,
)
from app.web.schemas.query_fields import PageQuery, sort_field

_MAX_QUOTE_LENGTH = 10_000
_RATING_FIELDS = ("criteria", "confirms_others")
_LABEL_FIELDS = ("score", "resolution", "satisfaction")
_ALLOWED_FIELDS: dict[str, tuple[str, ...]] = {
    ReviewAction.OVERRIDE: _RATING_FIELDS + _LABEL_FIELDS,
    ReviewAction.ACCEPT_DISPUTE: _RATING_FIELDS + _LABEL_FIELDS,
    ReviewAction.COMMENT: _RATING_FIELDS + _LABEL_FIELDS,
    ReviewAction.CONFIRM: _LABEL_FIELDS,
    ReviewAction.DISPUTE: ("criteria",),
}
_WITHOUT_REASON = (ReviewAction.REQUEST, ReviewAction.START, ReviewAction.CONFIRM)


class Verbatim(fields.String):
    """A quote, neither trimmed nor normalised."""

    default_error_messages = {
        **BASE_MESSAGES,
        "invalid": CodedMessage(TYPE, "This must be a string."),
        "length": CodedMessage(LENGTH, f"This must have 1 to {_MAX_QUOTE_LENGTH:,} characters."),
    }

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str:
        text = super()._deserialize(value, attr, data, **kwargs)
        if not text.strip() or len(text) > _MAX_QUOTE_LENGTH:
            raise self.make_error("length")
        return text


class CriterionAnswer(fields.Raw):
    """An answer of a criterion: a text or a number."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValidationError(CodedMessage(TYPE, "This must be a string or a number."))
        return value


class ReviewEvidenceCreate(CamelSchema):
    """A quote that must occur in the transcript, character for character."""

    segment_id = Text(40, low=1, required=True)
    quote = Verbatim(required=True)
    char_start = Whole(
        high=10_000_000,
        **about("Position of the quote in the segment; by default its first occurrence."),
    )
    polarity = Choice(("supports", "contradicts"), load_default="supports")


class CriterionRatingCreate(CamelSchema):
    """The answer to one criterion, its score, or both."""

    key = Text(200, low=1, required=True)
    applicable = Flag(load_default=True)
    answer = CriterionAnswer(**about("One of the criterion's options.", type=["string", "number"]))
    normalized_score = Number(low=0, high=1)
    reason = Text(2_000, low=1, multiline=True)
    evidence = Items(Nested(ReviewEvidenceCreate), high=20)


class ReviewCreate(CamelSchema):
    action = Choice(REVIEW_ACTIONS, required=True)
    reviewer = Text(200, low=1, required=True, metadata={"example": "Nora Field"})
    reviewer_ref = Text(200, low=1, **about("Your id of the reviewer.", example="qa-nora"))
    reason = Text(
        4_000, low=1, multiline=True, **about("Required, except for request, start and confirm.")
    )
    criteria = Items(
        Nested(CriterionRatingCreate),
        high=200,
        **about(
            "With override and accept_dispute they replace the answers; with dispute "
            "they are the answers that are demanded; with comment they are a second opinion."
        ),
    )
    confirms_others = Flag(
        load_default=False, **about("Whether the reviewer checked all other criteria and agrees.")
    )
    score = Whole(
        high=100,
        **about("The reviewer's overall score. It changes no score; it is used for calibration."),
    )
    resolution = Choice(
        RESOLUTIONS, **about("With override and accept_dispute it replaces the judge's resolution.")
    )
    satisfaction = Number(low=1, high=5)
    reviews_seen = Whole(
        high=200,
        **about(
            "How many reviews you have read; if there are others by now, the answer "
            "is 409 and nothing is changed."
        ),
    )

    @validates_schema
    def _check_action(self, data: dict[str, Any], **_: Any) -> None:
        action = data.get("action")
        if action is None:
            return
        for name in (*_RATING_FIELDS, *_LABEL_FIELDS):
            field = self.fields[name].data_key or name
            if data.get(name) and name not in _ALLOWED_FIELDS.get(action, ()):
                message = f"{field} cannot be given with {action}."
                raise reject(field, message, code=UNKNOWN)
        if action not in _WITHOUT_REASON and not data.get("reason"):
            raise reject("reason", f"reason is required for {action}.", code=REQUIRED)
        changes = data.get("criteria") or data.get("resolution")
        if action in (ReviewAction.OVERRIDE, ReviewAction.ACCEPT_DISPUTE) and not changes:
            message = f"criteria or resolution is required for {action}."
            raise reject("criteria", message, code=REQUIRED)


class ReviewPreviewBody(CamelSchema):
    """Answers whose score is to be shown before a review is saved."""

    criteria = Items(Nested(CriterionRatingCreate), high=200, required=True)


class ReviewPreviewSchema(StoredAnswerSchema):
    """The score with other answers, and the present one."""

    score_before = fields.Integer()
    score = fields.Integer()
    raw_score = fields.Float()
    compliance_score = fields.Float(allow_none=True)
    coverage = fields.Float()
    band = Choice(BANDS, allow_none=True)
    passed = fields.Boolean(allow_none=True)
    auto_fail = Nested(AutoFailSchema)


class ReviewQuery(PageQuery):
    sort = sort_field("createdAt", default="createdAt")


class ReviewExampleQuery(PageQuery):
    engagement_id = Reference("eng")
    sort = sort_field("createdAt")


class ReviewExampleSchema(AnswerSchema):
    """A line that people took for something else than the judge did."""

    id = fields.String(metadata={"example": "ex_01k9zq4v2me8wb7xq3s5ndt6ha"})
    engagement_id = fields.String()
    evaluation_id = fields.String(**about("The evaluation that was overridden."))
    criterion_key = fields.String()
    kind = fields.String(**about("What the line is an example of.", example="rude"))
    counts = fields.Boolean(**about("False: it only looks like it."))
    text = fields.String(**about("The sentence, masked as in the transcript."))
    reviewer = fields.String()
    created_at = Timestamp()
