"""The seam of the judgement: what a judge is asked, and the judgement it answers with."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from app.ai.context import Context
from app.ai.scorecard import Scorecard
from app.ai.scoring import Problem
from app.ai.sentiment import SegmentSentiment
from app.ai.transcript import Transcript


@dataclass(frozen=True, slots=True)
class Engine:
    """Who judged: `kind` is rules, model or hybrid; a change of `model` may change scores."""

    kind: str
    provider: str
    model: str
    prompt_version: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "provider": self.provider,
            "model": self.model,
            "promptVersion": self.prompt_version,
        }


@dataclass(frozen=True, slots=True)
class Quality:
    """What the judgement cost, and how much of its evidence the transcript didn't hold."""

    unverified_evidence_count: int = 0
    model_calls: int = 0
    retries: int = 0
    cost_estimate: float = 0.0

    def as_json(self) -> dict[str, Any]:
        return {
            "unverifiedEvidenceCount": self.unverified_evidence_count,
            "modelCalls": self.model_calls,
            "retries": self.retries,
            "costEstimate": self.cost_estimate,
            "calibration": None,
        }


@dataclass(frozen=True, slots=True)
class Judgement:
    """The outcome of an evaluation: the values of its row, and `results` of contract B6 as JSON.

    With a `problem` there is no score, and score, passed and band are None; metrics, sentiment and
    whatever criteria were judged are in `results` all the same. `customer_sentiment` is -1 to 1,
    `predicted_satisfaction` 1 to 5, `confidence` 0 to 1. `segment_sentiments` belong to the
    transcript. `signals` are the numbers that a calibration may weigh (see `app.ai.signals`). The
    same input gives the same judgement, to the byte of its JSON.
    """

    problem: Problem | None
    score: int | None
    raw_score: float | None
    compliance_score: float | None
    passed: bool | None
    pass_threshold: int
    band: str | None
    auto_failed: bool
    failed_criteria: tuple[str, ...]
    customer_sentiment: float | None
    sentiment_trend: str
    resolution: str
    predicted_satisfaction: float | None
    topics: tuple[str, ...]
    confidence: float
    turn_count: int | None
    duration_seconds: int | None
    engine: Engine
    results: dict[str, Any]
    segment_sentiments: tuple[SegmentSentiment, ...]
    signals: Mapping[str, float]


class Judge(Protocol):
    """Judges a conversation against a scorecard.

    Never raises for what a conversation holds: what can't be judged is not applicable or has a
    `failure`, and a judgement without a score says why in its `problem`.
    """

    def judge(self, transcript: Transcript, scorecard: Scorecard, context: Context) -> Judgement:
        """Judge a conversation."""
        ...
