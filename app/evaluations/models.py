"""Tables of evaluations, their results and their search texts."""

from datetime import datetime
from typing import Any

from sqlalchemy import DDL, JSON, ForeignKey, Index, Text, event
from sqlalchemy.dialects.postgresql import TSVECTOR
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database.counters import Total
from app.core.database.session import Table, UtcDateTime, first_known, partial_index
from app.core.jobs.leases import JobState, LeasedJob
from app.evaluations.enums import ReviewStatus, Status

_OPTIONAL_JSON = JSON(none_as_null=True)

# Columns that lists filter by in any combination. The indexes include them, so that a filtered
# count reads only an index and never the rows.
_FACETS = (
    *("is_current", "status", "channel", "score", "passed", "auto_failed", "review_status"),
    *("sentiment_trend", "resolution"),
)
_MORE_FACETS = ("source_type", "language", "scorecard_id")


class Evaluation(Table):
    """One revision of the evaluation of a source; names and ids as they were when it was opened.

    Of each source exactly one revision is current: the newest completed one, and where none is
    completed the newest. `conversation_at` is when the conversation began, or came in where that is
    unknown: the time that reports count it at. `context` has the facts about the conversation that the judge received.
    `re_evaluation_id` names the bulk re-evaluation that opened it. `agent_unnamed`: voices were told
    apart, and a person has to say which one is the agent's.
    """

    __tablename__ = "evaluations"
    __table_args__ = (
        Index("uq_evaluations_revision", "source_id", "source_type", "revision", unique=True),
        Index(
            "ix_evaluations_facets",
            *("is_current", "conversation_at", "id"),
            *_FACETS[1:],
            *_MORE_FACETS,
        ),
        Index("ix_evaluations_engagement", "engagement_id", "conversation_at", "id", *_FACETS),
        Index("ix_evaluations_campaign", "campaign_id", "conversation_at", "id", *_FACETS),
        Index("ix_evaluations_campaign_name", "campaign_id", "campaign"),
        Index("ix_evaluations_call_center", "call_center_id", "conversation_at", "id", *_FACETS),
        Index("ix_evaluations_executive", "executive_id", "conversation_at", "id", *_FACETS),
        Index("ix_evaluations_status", "is_current", "status", "conversation_at", "id"),
        Index("ix_evaluations_score", "is_current", "score", "id"),
        Index(
            "ix_evaluations_confidence",
            *("is_current", "confidence", "id"),
            *("conversation_at", "status", "review_status"),
        ),
        Index("ix_evaluations_completed", "is_current", "completed_at", "id"),
        Index("ix_evaluations_started", "is_current", "started_at", "id"),
        Index("ix_evaluations_duration", "is_current", "duration_seconds", "id"),
        Index("ix_evaluations_created", "created_at", "id"),
        Index("ix_evaluations_conversation", "conversation_at", "id"),
        partial_index(
            "ix_evaluations_reviewed",
            *("executive_id", "conversation_at", "is_current", "status", "review_status"),
            where="review_status <> 'none'",
        ),
        partial_index(
            "ix_evaluations_review_queue",
            *("review_status", "conversation_at", "id"),
            where="review_status <> 'none'",
        ),
        partial_index(
            "ix_evaluations_auto_failed",
            *("auto_failed", "conversation_at", "id"),
            *("is_current", "status", "review_status"),
            where="auto_failed",
            sqlite_where="auto_failed = 1",
        ),
        partial_index(
            "ix_evaluations_agent_unnamed",
            *("conversation_at", "id", "is_current"),
            where="agent_unnamed",
            sqlite_where="agent_unnamed = 1",
        ),
        partial_index(
            "ix_evaluations_re_evaluation",
            *("re_evaluation_id", "status"),
            where="re_evaluation_id IS NOT NULL",
        ),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    engagement_id: Mapped[str | None] = mapped_column(ForeignKey("engagements.id"))
    campaign_id: Mapped[str | None]
    campaign: Mapped[str | None]
    call_center_id: Mapped[str | None]
    call_center: Mapped[str | None]
    executive_id: Mapped[str | None]
    executive: Mapped[str | None]
    source_type: Mapped[str]
    source_id: Mapped[str]
    channel: Mapped[str]
    direction: Mapped[str] = mapped_column(default="unknown")
    language: Mapped[str | None]
    status: Mapped[str] = mapped_column(default=Status.QUEUED)
    review_status: Mapped[str] = mapped_column(default=ReviewStatus.NONE)
    score: Mapped[int | None]
    raw_score: Mapped[float | None]
    compliance_score: Mapped[float | None]
    judged_weight_percent: Mapped[float | None]
    passed: Mapped[bool | None]
    pass_threshold: Mapped[int | None]
    band: Mapped[str | None]
    auto_failed: Mapped[bool] = mapped_column(default=False)
    failed_criteria: Mapped[list[str]] = mapped_column(JSON, default=list)
    customer_sentiment: Mapped[float | None]
    sentiment_trend: Mapped[str | None]
    resolution: Mapped[str | None]
    predicted_satisfaction: Mapped[float | None]
    topics: Mapped[list[str]] = mapped_column(JSON, default=list)
    summary: Mapped[dict[str, Any] | None] = mapped_column(_OPTIONAL_JSON)
    scorecard_id: Mapped[str]
    scorecard_version: Mapped[int]
    scorecard_name: Mapped[str]
    engine: Mapped[dict[str, Any] | None] = mapped_column(_OPTIONAL_JSON)
    confidence: Mapped[float | None]
    duration_seconds: Mapped[int | None]
    turn_count: Mapped[int | None]
    started_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    conversation_at: Mapped[datetime] = mapped_column(
        UtcDateTime, default=first_known("started_at", "created_at")
    )
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    completed_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime)
    redacted: Mapped[bool] = mapped_column(default=False)
    revision: Mapped[int] = mapped_column(default=1)
    supersedes_id: Mapped[str | None]
    is_current: Mapped[bool] = mapped_column(default=True)
    error: Mapped[dict[str, str] | None] = mapped_column(_OPTIONAL_JSON)
    external_id: Mapped[str | None]
    labels: Mapped[dict[str, str]] = mapped_column(JSON, default=dict)
    transcript_id: Mapped[str | None]
    context: Mapped[dict[str, Any] | None] = mapped_column(_OPTIONAL_JSON)
    re_evaluation_id: Mapped[str | None]
    agent_unnamed: Mapped[bool] = mapped_column(default=False)

    @property
    def ranked_score(self) -> int | None:
        """The score that means and ranks count: None without a verdict."""
        return None if self.passed is None else self.score


class EvaluationResult(Table):
    """The results of a completed evaluation, in a table of their own to keep lists fast.

    `document` is in the API's shape, with the changes of reviews. `as_judged` is the judge's own
    document, None without a change. `segment_sentiments` maps the id of a segment to its label and
    its score: the judge's, and so not part of the transcript. `signals` are the numbers that a
    calibration may weigh.
    """

    __tablename__ = "evaluation_results"

    evaluation_id: Mapped[str] = mapped_column(ForeignKey("evaluations.id"), primary_key=True)
    document: Mapped[dict[str, Any]] = mapped_column(JSON)
    segment_sentiments: Mapped[dict[str, tuple[str, float]]] = mapped_column(JSON)
    signals: Mapped[dict[str, float]] = mapped_column(JSON, default=dict, deferred=True)
    as_judged: Mapped[dict[str, Any] | None] = mapped_column(_OPTIONAL_JSON, deferred=True)


class EvaluationTopic(Table):
    """A topic of an evaluation, indexed both ways."""

    __tablename__ = "evaluation_topics"
    __table_args__ = (Index("ix_evaluation_topics_evaluation", "evaluation_id"),)

    topic: Mapped[str] = mapped_column(primary_key=True)
    evaluation_id: Mapped[str] = mapped_column(ForeignKey("evaluations.id"), primary_key=True)


class EvaluationReviewer(Table):
    """A person who has started or given a review of an evaluation, by reference or folded name."""

    __tablename__ = "evaluation_reviewers"

    reviewer: Mapped[str] = mapped_column(primary_key=True)
    evaluation_id: Mapped[str] = mapped_column(ForeignKey("evaluations.id"), primary_key=True)


class SearchText(Table):
    """The text that `q` searches, case folded; the rows are narrow, since a search reads all."""

    __tablename__ = "evaluation_search_texts"

    evaluation_id: Mapped[str] = mapped_column(ForeignKey("evaluations.id"), primary_key=True)
    text: Mapped[str]


class EvaluationTotal(Total):
    """The number of evaluations, so that an unfiltered list need not count them.

    `kind` is `all` (every revision) or `current` (one for each source).
    """

    __tablename__ = "evaluation_totals"


class StoredTranscript(Table):
    """A transcript as it was judged; a new transcription of a source gets a new row.

    `segments` are in the API's shape, words included. `origin` has the fields that only judges need.
    """

    __tablename__ = "transcripts"
    __table_args__ = (Index("ix_transcripts_source", "source_id", "source_type", "created_at"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    source_type: Mapped[str]
    source_id: Mapped[str]
    language: Mapped[str | None]
    languages: Mapped[list[dict[str, Any]]] = mapped_column(JSON)
    duration_ms: Mapped[int | None]
    word_count: Mapped[int]
    segment_count: Mapped[int]
    confidence: Mapped[float | None]
    provider: Mapped[str]
    model: Mapped[str]
    redacted: Mapped[bool]
    redaction_entities: Mapped[dict[str, int]] = mapped_column(JSON)
    raw_text_id: Mapped[str | None]
    participants: Mapped[list[dict[str, Any]]] = mapped_column(JSON)
    segments: Mapped[list[dict[str, Any]]] = mapped_column(
        JSON, deferred=True, deferred_raiseload=True
    )
    origin: Mapped[dict[str, Any]] = mapped_column(JSON)
    digest: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    erased_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class SpokenWords(Table):
    """The words of the newest transcript of a source, as the search of what was said indexes them.

    `words` is null where they are not indexed yet.
    """

    __tablename__ = "spoken_words"
    __table_args__ = (partial_index("ix_spoken_words_waiting", "id", where="words IS NULL"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    source_id: Mapped[str] = mapped_column(unique=True)
    transcript_id: Mapped[str] = mapped_column(ForeignKey("transcripts.id"))
    words: Mapped[str | None] = mapped_column(Text().with_variant(TSVECTOR(), "postgresql"))


# The words are folded before they are indexed: here each begins and ends at a space.
SEARCH_INDEX = "spoken_words_index"
CREATE_SEARCH_INDEX = {
    "sqlite": (
        f"CREATE VIRTUAL TABLE {SEARCH_INDEX} USING fts5(words, content='spoken_words', "
        "content_rowid='id', "
        "tokenize=\"unicode61 remove_diacritics 0 categories 'L* M* N*' tokenchars '_'\")"
    ),
    "postgresql": f"CREATE INDEX {SEARCH_INDEX} ON spoken_words USING gin (words)",
}
for _dialect, _statement in CREATE_SEARCH_INDEX.items():
    _ddl = DDL(_statement)  # type: ignore[no-untyped-call]
    event.listen(SpokenWords.__table__, "after_create", _ddl.execute_if(dialect=_dialect))


class EvaluationJob(LeasedJob):
    """The queued or running judgement of an evaluation; the row is deleted at the end.

    Its id is that of the evaluation.
    """

    kind = "evaluations"
    __tablename__ = "evaluation_jobs"
    __table_args__ = (Index("ix_evaluation_jobs_due", "state", "priority", "queued_at", "id"),)

    id: Mapped[str] = mapped_column(ForeignKey("evaluations.id"), primary_key=True)


class ReEvaluation(Table):
    """A bulk re-evaluation and its progress.

    Evaluations after `cursor`, up to `last_id`, are still to be opened. `selected` is their number at
    the request; `failures` counts batches that could not be opened, since the last that could.
    `teams` are those that the requester is limited to, if any.
    """

    __tablename__ = "re_evaluations"
    __table_args__ = (Index("ix_re_evaluations_state", "state", "created_at", "id"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    state: Mapped[str] = mapped_column(default=JobState.QUEUED)
    filters: Mapped[dict[str, Any]] = mapped_column(JSON)
    channel: Mapped[str | None]
    scorecard_id: Mapped[str | None]
    scorecard_version: Mapped[int | None]
    selected: Mapped[int]
    cursor: Mapped[str] = mapped_column(default="")
    last_id: Mapped[str]
    failures: Mapped[int] = mapped_column(default=0)
    error: Mapped[dict[str, str] | None] = mapped_column(_OPTIONAL_JSON)
    teams: Mapped[str | None]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)


class ScorecardTrial(LeasedJob):
    """A trial of a scorecard on past conversations, kept for a day.

    `document` is the complete scorecard that is tried; the baseline is the version that it is
    compared with. `result` has the two scores of each conversation, and none of its words.
    """

    kind = "trials"
    __tablename__ = "scorecard_trials"
    __table_args__ = (Index("ix_scorecard_trials_due", "state", "priority", "queued_at", "id"),)

    channel: Mapped[str]
    document: Mapped[dict[str, Any]] = mapped_column(JSON)
    baseline_id: Mapped[str]
    baseline_version: Mapped[int]
    progress: Mapped[int] = mapped_column(default=0)
    result: Mapped[dict[str, Any] | None] = mapped_column(_OPTIONAL_JSON)
