"""Page of one evaluation: what was said, heard and judged, and what the person may do with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from app.ai.scorecard.values import Scorecard
from app.core.errors import AppError
from app.dashboard.views.conversation import ShownMoment, ShownTurn, lanes_of, moments_of
from app.dashboard.views.scored import ScoredCard, ShownEvidence, evidence_of, scored_card
from app.dashboard.views.sentiment import SentimentLine, quarters_of


@dataclass(frozen=True, slots=True)
class ShownConversation:
    """The words of a conversation.

    Attributes:
        is_unmasked: whether the words are those that were said, without masks.
        may_unmask: whether something is masked, and the person may read it.
    """

    turns: Sequence[ShownTurn]
    erased_at: datetime | None
    is_unmasked: bool
    may_unmask: bool


@dataclass(frozen=True, slots=True)
class ShownSound:
    """A recording with the roles of its channels, and who has played it."""

    recording_id: str
    duration_ms: int
    lanes: Sequence[str]
    listeners: Sequence[str]
    may_listen: bool


@dataclass(frozen=True, slots=True)
class ShownAdvice:
    """A strength, or an improvement, with its quotes."""

    text: str
    evidence: Sequence[ShownEvidence]


@dataclass(frozen=True, slots=True)
class ShownJudgement:
    """Judgement of one evaluation, as the page shows it."""

    card: ScoredCard
    moments: Sequence[ShownMoment]
    sentiment: Sequence[SentimentLine]
    strengths: Sequence[ShownAdvice]
    improvements: Sequence[ShownAdvice]


@dataclass(frozen=True, slots=True)
class AllowedActions:
    """Actions that a person may take on an evaluation.

    Attributes:
        reviews: the actions that a review may take; none where no review is allowed.
        resolutions: the resolutions that a review may set.
    """

    reviews: Sequence[str]
    resolutions: Sequence[str]
    judge_again: bool


@dataclass(frozen=True, slots=True)
class SentForm:
    """A form that was refused: what was typed, why, and the problem of each field."""

    typed: Mapping[str, str] = field(default_factory=dict)
    refused: AppError | None = None
    problems: Mapping[str, str] = field(default_factory=dict)


def sound_of(
    recording: Mapping[str, Any] | None,
    transcript: Mapping[str, Any],
    *,
    duration_ms: int | None,
    listeners: Sequence[str],
    may_listen: bool,
) -> ShownSound | None:
    """Return the sound of a conversation; None where no recording is kept."""
    if recording is None:
        return None
    seconds = recording["duration_seconds"]
    return ShownSound(
        recording_id=recording["id"],
        duration_ms=round(1000 * seconds) if seconds else duration_ms or 0,
        lanes=lanes_of(transcript),
        listeners=listeners,
        may_listen=may_listen,
    )


def judgement_of(
    results: Mapping[str, Any],
    transcript: Mapping[str, Any],
    scorecard: Scorecard | None,
    *,
    duration_ms: int | None,
) -> ShownJudgement:
    """Return what results say, with the parts of the sound behind it.

    Args:
        scorecard: the version that was judged with, None where it is not kept any more.
    """
    segments = transcript["segments"]
    turns = {segment["id"]: segment for segment in segments}
    coaching = results["coaching"] or {"strengths": [], "improvements": []}
    advice = {
        kind: [
            ShownAdvice(item["text"], evidence_of(item["evidence"], turns, duration_ms))
            for item in coaching[kind]
        ]
        for kind in ("strengths", "improvements")
    }
    return ShownJudgement(
        card=scored_card(results, transcript, scorecard, duration_ms=duration_ms),
        moments=moments_of(results["moments"], segments),
        sentiment=quarters_of(results["sentiment"]),
        **advice,
    )
