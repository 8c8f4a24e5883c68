"""Schema of a scorecard document: the shape, range and enum of every field."""

from typing import Any

from marshmallow import ValidationError, validates

from app.judge.rules.catalogue import RULES
from app.judge.scorecard.schema import (
    BANDS,
    CRITICALITIES,
    DIMENSIONS,
    DIRECTIONS,
    ERROR_CLASSES,
    EVENTS,
    KNOWN_METRICS,
    METHODS,
    SPEAKERS,
    TYPES,
)
from app.scorecards import default_scorecards
from app.scorecards.schemas.fields import (
    KEY_CHARS,
    TITLE_CHARS,
    Amount,
    AnswerField,
    Key,
    amount,
    phrases,
    whole,
)
from app.scorecards.schemas.parameters import LimitsShape, ParametersShape
from app.web.schemas.base import RANGE, CodedMessage, StoredSchema
from app.web.schemas.fields import (
    Choice,
    Items,
    Labels,
    LanguageTag,
    Nested,
    Reference,
    Text,
    Whole,
)

CHANNELS = tuple(default_scorecards.IDS)
# Limits that keep judging fast.
_MOST_CRITERIA = 100
_MOST_SECTIONS = 30
_MOST_TOPICS = 100
_MOST_OPTIONS = 10
_MOST_WORDS = 200
_MOST_NAMED = 100
_TEXT_CHARS = 500
_DESCRIPTION_CHARS = 2_000
# Beyond it a threshold is a slip.
_DAY_MS = 86_400_000


def _words(description: str) -> Items:
    return Items(Text(KEY_CHARS, low=1), high=_MOST_WORDS, metadata={"description": description})


class BandShape(StoredSchema):
    """A band: the name of all scores from `from` up to the next band."""

    key = Choice(BANDS, required=True)
    start = Whole(low=0, high=100, required=True, data_key="from")


class MinimumShape(StoredSchema):
    """The shares of the weight that a score and a verdict need."""

    words = Whole(low=0, high=10_000)
    judged_weight_percent = Amount(low=0, high=100)
    verdict_weight_percent = Amount(low=0, high=100)


class MetricsShape(StoredSchema):
    """The thresholds of the metrics (docs/metrics.md)."""

    non_talk_gap_ms = whole("Shortest gap that counts as silence, in ms.", high=_DAY_MS)
    dead_air_ms = whole("Shortest silence that is dead air, in ms.", high=_DAY_MS)
    long_hold_ms = whole("Shortest hold that is long, in ms.", high=_DAY_MS)
    hold_lookback_segments = whole(
        "Segments before a hold in which it may be announced.", high=_DAY_MS
    )
    interruption_overlap_ms = whole("Shortest overlap of an interruption, in ms.", high=_DAY_MS)
    interruption_words = whole("Fewest words of an interruption.", high=_DAY_MS)
    back_channels = _words("Words of attention, such as `mhm`, that do not interrupt.")
    fillers = _words("Filler words, such as `um`.")
    pace_words = whole("Fewest words for measuring pace.", high=_DAY_MS)
    monologue_gap_ms = whole("Longest pause within a monologue, in ms.", high=_DAY_MS)
    sentiment_neutral = amount("Neutral sentiment: distance from 0 up to.", high=_DAY_MS)
    trend_flat = amount("Steady sentiment: change up to.", high=_DAY_MS)
    trend_clear = amount("Clear trend of sentiment: change from.", high=_DAY_MS)
    trend_segments = whole("Fewest segments for a trend.", high=_DAY_MS)


class SectionShape(StoredSchema):
    key = Key(required=True)
    title = Text(TITLE_CHARS, low=1, required=True)


class TopicShape(StoredSchema):
    """A topic, and the phrases that show it."""

    name = Text(TITLE_CHARS, low=1, required=True)
    any_of = phrases(required=True)


class OptionShape(StoredSchema):
    answer = AnswerField(
        required=True,
        metadata={"oneOf": [{"type": "string"}, {"type": "integer"}], "example": "yes"},
    )
    score = Amount(low=0, high=1, required=True)
    anchor = Text(
        _TEXT_CHARS,
        low=1,
        required=True,
        metadata={"description": "When this is the right answer."},
    )


class JudgeShape(StoredSchema):
    """The rule of a criterion; without one only a language model can judge it."""

    methods = Items(
        Choice(METHODS), low=1, high=3, metadata={"description": "The preferred one first."}
    )
    rule = Choice(list(RULES))
    parameters = Nested(
        ParametersShape,
        metadata={"description": "Those of the rule; see docs/scorecards-criteria.md."},
    )


class SaidShape(StoredSchema):
    """Phrases, any of which must be said."""

    any_of = phrases(required=True)
    by = Choice(SPEAKERS)


class MeasuredShape(LimitsShape):
    """A metric, optionally within a range."""

    metric = Choice(sorted(KNOWN_METRICS), required=True)
    at_least = Amount()
    at_most = Amount()


class ConditionsShape(StoredSchema):
    """The conditions of a criterion; all must be met."""

    languages = Items(LanguageTag(), high=_MOST_NAMED)
    directions = Items(Choice(DIRECTIONS), high=len(DIRECTIONS))
    campaign_ids = Items(Reference("camp"), high=_MOST_NAMED)
    labels = Labels()
    said = Nested(SaidShape)
    not_said = Nested(SaidShape)
    events = Items(Choice(EVENTS), high=len(EVENTS))
    metric = Nested(MeasuredShape)


class CriterionShape(StoredSchema):
    """One criterion; with `use` it starts from the default's criterion of that key."""

    use = Key()
    key = Key()
    title = Text(TITLE_CHARS, low=1)
    section = Key()
    question = Text(_TEXT_CHARS, low=1)
    type = Choice(TYPES)
    weight = Amount(low=0, high=100)
    criticality = Choice(CRITICALITIES)
    error_class = Choice(ERROR_CLASSES)
    options = Items(Nested(OptionShape), high=_MOST_OPTIONS)
    applies_when = Nested(ConditionsShape)
    not_applicable_when = Text(
        _TEXT_CHARS,
        allow_none=True,
        metadata={"description": "In words, for people and language models."},
    )
    judge = Nested(JudgeShape)
    fails_at = Amount(low=0, high=1)
    dimension = Choice(DIMENSIONS, allow_none=True)
    suggestion = Text(_TEXT_CHARS)

    @validates("fails_at")
    def _check_fails_at(self, value: float, **_: Any) -> None:
        if value == 1:
            raise ValidationError(CodedMessage(RANGE, "This must be at least 0 and below 1."))


class ScorecardVersionCreate(StoredSchema):
    """The next version of a scorecard; omitted fields are those of the default."""

    name = Text(TITLE_CHARS, low=1)
    description = Text(_DESCRIPTION_CHARS, multiline=True, allow_none=True)
    channel = Choice(CHANNELS)
    languages = Items(
        LanguageTag(),
        high=_MOST_NAMED,
        metadata={"description": "A conversation in another one is not judged; empty: any."},
    )
    pass_threshold = Whole(low=0, high=100)
    bands = Items(Nested(BandShape), low=1, high=4)
    max_failed_weight_percent = Amount(low=0, high=100)
    minimum = Nested(MinimumShape)
    metrics = Nested(MetricsShape)
    sections = Items(
        Nested(SectionShape),
        low=1,
        high=_MOST_SECTIONS,
        metadata={"description": "By default those of the default scorecard that are used."},
    )
    criteria = Items(
        Nested(CriterionShape),
        low=1,
        high=_MOST_CRITERIA,
        required=True,
        metadata={"description": "Their weights sum to 100."},
    )
    topics = Items(Nested(TopicShape), high=_MOST_TOPICS)


class ScorecardCreate(ScorecardVersionCreate):
    name = Text(TITLE_CHARS, low=1, required=True)
    channel = Choice(CHANNELS, required=True)
