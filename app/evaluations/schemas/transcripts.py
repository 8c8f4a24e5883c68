"""Schemas of the transcripts of evaluations and recordings, and of quotes from them."""

from marshmallow import fields

from app.evaluations.enums import ROLES, TranscriptStatus
from app.redaction.redactor import ENTITY_TYPES
from app.web.schemas.base import AnswerSchema, CamelSchema, StoredAnswerSchema, about
from app.web.schemas.fields import Choice, Nested, Timestamp
from app.web.schemas.query_fields import QueryFlag


class TranscriptQuery(CamelSchema):
    include_words = QueryFlag(load_default=False, **about("With the words of each segment."))
    redacted = QueryFlag(
        load_default=True,
        **about(
            "false: what was said before it was masked, as far as it is kept; the "
            "key needs the scope transcripts:raw as well, and each such request is logged."
        ),
    )


class LanguageShareSchema(StoredAnswerSchema):
    """A language and its share of the words, 0 to 1; `und` is undetermined."""

    code = fields.String(metadata={"example": "en"})
    share = fields.Float()


class ParticipantSchema(StoredAnswerSchema):
    id = fields.String()
    role = Choice(ROLES)
    kind = Choice(("human", "bot", "ivr"))
    display_name = fields.String(allow_none=True)
    channel_index = fields.Integer(allow_none=True)
    executive_id = fields.String(allow_none=True)


class RedactionSchema(StoredAnswerSchema):
    """Personal data that was masked: its type and the position of its placeholder."""

    entity_type = Choice(ENTITY_TYPES)
    char_start = fields.Integer()
    char_end = fields.Integer()


class WordSchema(StoredAnswerSchema):
    text = fields.String()
    start_ms = fields.Integer()
    end_ms = fields.Integer()
    confidence = fields.Float(
        allow_none=True, **about("0 to 1, or null where the speech model gives none.")
    )


class SegmentSchema(StoredAnswerSchema):
    """A stretch of speech or a message; its id is the same in all revisions."""

    id = fields.String(metadata={"example": "seg_0001"})
    index = fields.Integer(**about("Its place, from 0."))
    participant_id = fields.String()
    role = Choice(ROLES)
    start_ms = fields.Integer(allow_none=True)
    end_ms = fields.Integer(allow_none=True)
    text = fields.String()
    sentiment = Choice(("positive", "neutral", "negative", "mixed"), allow_none=True)
    sentiment_score = fields.Float(allow_none=True, **about("-1 to 1, once evaluated."))
    language = fields.String(allow_none=True)
    confidence = fields.Float(allow_none=True)
    channel_index = fields.Integer(allow_none=True)
    redactions = fields.List(Nested(RedactionSchema))
    message_id = fields.String(allow_none=True)
    sent_at = fields.String(allow_none=True, metadata={"format": "date-time"})
    words = fields.List(Nested(WordSchema), **about("Empty unless includeWords=true."))


class TranscriptSchema(AnswerSchema):
    """A transcript; it has no segments while it is pending."""

    source_type = fields.String()
    source_id = fields.String()
    evaluation_id = fields.String(allow_none=True)
    audio_file_id = fields.String(allow_none=True)
    status = Choice(list(TranscriptStatus))
    language = fields.String(allow_none=True)
    languages = fields.List(Nested(LanguageShareSchema))
    duration_seconds = fields.Integer(allow_none=True)
    word_count = fields.Integer()
    segment_count = fields.Integer()
    confidence = fields.Float(allow_none=True)
    provider = fields.String(allow_none=True)
    model = fields.String(allow_none=True)
    redacted = fields.Boolean()
    redaction_entities = fields.Dict(keys=fields.String(), values=fields.Integer())
    erased_at = Timestamp(
        allow_none=True, **about("When the words were erased: then each text is empty.")
    )
    participants = fields.List(Nested(ParticipantSchema))
    segments = fields.List(Nested(SegmentSchema))


class EvidenceSchema(StoredAnswerSchema):
    """A quote that occurs, character for character, in its segment's text."""

    segment_id = fields.String()
    start_ms = fields.Integer(allow_none=True)
    end_ms = fields.Integer(allow_none=True)
    char_start = fields.Integer()
    char_end = fields.Integer()
    quote = fields.String()
    polarity = Choice(("supports", "contradicts"))
    role = Choice(ROLES, **about("Who said it."))
