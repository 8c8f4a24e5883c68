"""Values of a scorecard version: criteria, weights and thresholds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from app.core.json_documents import from_api_names

Parameters: TypeAlias = Mapping[str, Any]
# The value of versions that are older than the setting.
_DEFAULT_VERDICT_PERCENT = 50.0


@dataclass(frozen=True, slots=True)
class Option:
    """One possible answer; `score` is 0 to 1, `anchor` says in words when it is the right one."""

    answer: str | int
    score: float
    anchor: str


@dataclass(frozen=True, slots=True)
class Section:
    key: str
    title: str


@dataclass(frozen=True, slots=True)
class Criterion:
    """One question of a scorecard.

    `kind` is binary, scale or metric; `criticality` none, section, pass or evaluation; `error_class`
    customer, business, compliance or none. `methods` are those that may judge it, the preferred
    first (rule, metric, model); `rule` is the rule or metric that the embedded engine applies,
    None where only a model can answer. `fails_at` is the highest normalised score that counts as
    failed. `dimension` is the dimension that the answer feeds. `applies_when` are the conditions of
    `app.judge.rules.judging`, which must all hold.
    """

    key: str
    title: str
    section: str
    question: str
    kind: str
    weight: float
    criticality: str
    error_class: str
    options: tuple[Option, ...]
    not_applicable_when: str | None
    methods: tuple[str, ...]
    rule: str | None
    parameters: Parameters
    fails_at: float
    dimension: str | None
    suggestion: str
    applies_when: Parameters = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Band:
    """A name for all scores from `lowest` up to the next band."""

    key: str
    lowest: int


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic and the phrases of which any shows it."""

    name: str
    any_of: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Minimum:
    """Least that must be judged before a score is given.

    `words` are those of all speakers; `judged_weight_percent` is the share that was judged of the
    weight of all criteria that apply. With less than `verdict_weight_percent` of it there is a score, but no
    band, and neither passed nor failed.
    """

    words: int
    judged_weight_percent: float
    verdict_weight_percent: float


@dataclass(frozen=True, slots=True)
class MetricSettings:
    """The thresholds of the metrics, in the units that their names carry (docs/metrics.md)."""

    non_talk_gap_ms: int
    dead_air_ms: int
    long_hold_ms: int
    hold_lookback_segments: int
    interruption_overlap_ms: int
    interruption_words: int
    back_channels: frozenset[str]
    fillers: frozenset[str]
    pace_words: int
    monologue_gap_ms: int
    sentiment_neutral: float
    trend_flat: float
    trend_clear: float
    trend_segments: int


@dataclass(frozen=True, slots=True)
class Scorecard:
    """A version of a scorecard; weights sum to 100, bands are ordered from the highest.

    `languages` are those that it is made for, every one where none is named.
    """

    id: str | None
    version: int
    name: str
    channel: str
    pass_threshold: int
    bands: tuple[Band, ...]
    max_failed_weight_percent: float
    minimum: Minimum
    metrics: MetricSettings
    sections: tuple[Section, ...]
    criteria: tuple[Criterion, ...]
    topics: tuple[Topic, ...] = ()
    languages: tuple[str, ...] = ()

    def criterion(self, key: str) -> Criterion:
        """Return the criterion of that key; KeyError if it does not exist."""
        for criterion in self.criteria:
            if criterion.key == key:
                return criterion
        raise KeyError(key)


def scorecard_from(document: Mapping[str, Any]) -> Scorecard:
    """Read a scorecard version from its JSON document (camelCase), which was validated when it was stored."""
    bands = (Band(band["key"], band["from"]) for band in document["bands"])
    return Scorecard(
        id=document.get("id"),
        version=document["version"],
        name=document["name"],
        channel=document["channel"],
        pass_threshold=document["passThreshold"],
        bands=tuple(sorted(bands, key=lambda band: -band.lowest)),
        max_failed_weight_percent=document["maxFailedWeightPercent"],
        minimum=_minimum(document["minimum"]),
        metrics=_metric_settings(document["metrics"]),
        sections=tuple(Section(item["key"], item["title"]) for item in document["sections"]),
        criteria=tuple(_criterion(item) for item in document["criteria"]),
        topics=tuple(
            Topic(item["name"], tuple(item["anyOf"])) for item in document.get("topics", ())
        ),
        languages=tuple(document.get("languages", ())),
    )


def _minimum(document: Mapping[str, Any]) -> Minimum:
    return Minimum(
        words=document["words"],
        judged_weight_percent=document["judgedWeightPercent"],
        verdict_weight_percent=document.get("verdictWeightPercent", _DEFAULT_VERDICT_PERCENT),
    )


def _metric_settings(document: Mapping[str, Any]) -> MetricSettings:
    values = from_api_names(document, MetricSettings)
    values["back_channels"] = frozenset(values["back_channels"])
    values["fillers"] = frozenset(values["fillers"])
    return MetricSettings(**values)


def _criterion(document: Mapping[str, Any]) -> Criterion:
    judge = document["judge"]
    return Criterion(
        key=document["key"],
        title=document["title"],
        section=document["section"],
        question=document["question"],
        kind=document["type"],
        weight=document["weight"],
        criticality=document["criticality"],
        error_class=document["errorClass"],
        options=tuple(
            Option(option["answer"], option["score"], option["anchor"])
            for option in document["options"]
        ),
        not_applicable_when=document.get("notApplicableWhen"),
        methods=tuple(judge["methods"]),
        rule=judge.get("rule"),
        parameters=judge.get("parameters", {}),
        fails_at=document.get("failsAt", 0),
        dimension=document.get("dimension"),
        suggestion=document["suggestion"],
        applies_when=document.get("appliesWhen", {}),
    )
