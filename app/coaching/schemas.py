"""Schemas of coaching sessions, their effect, and goals."""

from marshmallow import fields

from app.coaching.enums import NotesFor, SessionState
from app.web.schemas.base import AnswerSchema, CamelSchema, about
from app.web.schemas.fields import Choice, Items, Nested, Number, Reference, Text, Timestamp
from app.web.schemas.query_fields import PageQuery, sort_field

_TEXT = 4_000


class CoachingEvidenceBody(CamelSchema):
    """An evaluation of the agent as evidence, with words of it if given."""

    evaluation_id = Reference("eval", required=True)
    quote = Text(2_000, low=1, load_default=None, **about("Words of one turn."))


class CoachingSessionChange(CamelSchema):
    at = Timestamp(**about("When it is, or was, held."))
    criteria = Items(Text(200, low=1), low=1, high=20)
    evidence = Items(Nested(CoachingEvidenceBody), high=50)
    steps = Text(_TEXT, multiline=True, allow_none=True)
    due = Timestamp(allow_none=True, **about("Until when the steps are due."))
    notes = Text(_TEXT, multiline=True, allow_none=True)
    notes_for = Choice(list(NotesFor))
    state = Choice(list(SessionState))


class CoachingSessionCreate(CoachingSessionChange):
    executive_id = Reference("exec", required=True)
    scorecard_id = Reference("sc", required=True)
    at = Timestamp(required=True, **about("When it is, or was, held."))
    criteria = Items(Text(200, low=1), low=1, high=20, required=True)
    evidence = Items(Nested(CoachingEvidenceBody), high=50, load_default=[])
    notes_for = Choice(list(NotesFor), load_default=NotesFor.BOTH)


class CoachingSessionSchema(AnswerSchema):
    id = fields.String()
    executive_id = fields.String()
    coach = fields.String(**about("Name of the coach."))
    at = Timestamp()
    scorecard_id = fields.String()
    criteria = fields.List(fields.String())
    evidence = fields.List(Nested(CoachingEvidenceBody))
    steps = fields.String(allow_none=True)
    due = Timestamp(allow_none=True)
    notes = fields.String(allow_none=True)
    notes_for = Choice(list(NotesFor))
    state = Choice(list(SessionState))
    created_at = Timestamp()
    updated_at = Timestamp()


class CoachingQuery(PageQuery):
    executive_id = Reference("exec")
    call_center_id = Reference("cc")
    sort = sort_field("at", default="-at")


class CoachingSessionQuery(CoachingQuery):
    state = Choice(list(SessionState))


class CoachingSideSchema(AnswerSchema):
    mean = fields.Float(allow_none=True, **about("0 to 100."))
    count = fields.Integer(**about("How many conversations."))


class CoachingDifferenceSchema(AnswerSchema):
    """A difference in points of 100, with its 95 % interval."""

    value = fields.Float()
    low = fields.Float()
    high = fields.Float()
    is_clear = fields.Boolean(**about("Whether the interval leaves out zero."))


def _difference(description: str) -> Nested:
    return Nested(CoachingDifferenceSchema, allow_none=True, **about(description))


class CoachingEffectSchema(AnswerSchema):
    """Scores of a criterion in the 30 days before and after a session."""

    key = fields.String()
    title = fields.String()
    is_share = fields.Boolean(**about("Whether the mean is the share that passed."))
    before = Nested(CoachingSideSchema)
    after = Nested(CoachingSideSchema)
    difference = _difference("After minus before; null with too few conversations.")
    team = _difference("The same of the others of the call centre.")
    missing = fields.String(allow_none=True, **about("Why there is no difference."))


class GoalChange(CamelSchema):
    start_value = Number(low=0, high=100, data_key="from")
    target = Number(low=0, high=100, data_key="to")
    at = Timestamp(data_key="by")


class GoalCreate(CamelSchema):
    """A score to reach by a date, of an agent or of a call centre."""

    executive_id = Reference("exec")
    call_center_id = Reference("cc")
    scorecard_id = Reference("sc")
    criterion = Text(200, low=1, **about("With scorecardId; without, the whole score."))
    start_value = Number(low=0, high=100, required=True, data_key="from")
    target = Number(low=0, high=100, required=True, data_key="to")
    at = Timestamp(required=True, data_key="by")


class GoalSchema(AnswerSchema):
    """A score to reach by a date."""

    id = fields.String()
    executive_id = fields.String(allow_none=True)
    call_center_id = fields.String(allow_none=True)
    scorecard_id = fields.String(allow_none=True)
    criterion = fields.String(allow_none=True)
    start_value = fields.Float(data_key="from")
    target = fields.Float(data_key="to")
    at = Timestamp(data_key="by")
    created_at = Timestamp()
    updated_at = Timestamp()


class GoalProgressSchema(AnswerSchema):
    """Mean of the last 30 days, or of those before the date of the goal."""

    value = fields.Float(allow_none=True, **about("0 to 100."))
    count = fields.Integer(**about("How many conversations."))
    is_reached = fields.Boolean(
        allow_none=True, **about("Null below ten conversations: too few to say.")
    )
