"""Interface of a judge: what it is asked, the judgement it answers with, and its time limit."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from app.core.json_documents import with_api_names
from app.core.process.stopping import never_stop
from app.judge.context import Context
from app.judge.facts.sentiment import SegmentSentiment
from app.judge.scorecard.values import Scorecard
from app.judge.scoring.score import Problem
from app.transcript import Transcript


@dataclass(frozen=True, slots=True)
class Engine:
    """Engine that judged: `kind` is rules, model or hybrid; a change of `model` may change scores."""

    kind: str
    provider: str
    model: str
    prompt_version: str | None = None

    def as_json(self) -> dict[str, Any]:
        return with_api_names(self)


@dataclass(frozen=True, slots=True)
class Fallback:
    """Why the rules have judged alone where a model should have; `message` is for people."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class ModelUse:
    """Request to a language model and its reply; tokens are None where none were reported.

    `cached` says that an earlier answer to the very same question was used. `messages_omitted` were
    left out of the middle of the prompt and `messages_shortened` shown in part, `masked_count`
    stretches were masked. The two scores are those of the model's and of the rules' answers alone,
    0 to 100.
    """

    returned_model: str | None = None
    request_id: str | None = None
    prompt_tokens: int | None = None
    answer_tokens: int | None = None
    latency_ms: int = 0
    repairs: int = 0
    answer_form: str | None = None
    cached: bool = False
    messages_omitted: int = 0
    messages_shortened: int = 0
    masked_count: int = 0
    model_score: int | None = None
    embedded_score: int | None = None


@dataclass(frozen=True, slots=True)
class Quality:
    """Cost of the judgement, and how much of its evidence the transcript didn't hold.

    `model_calls` counts all requests to a model, `retries` those that repeated a failed one.
    `cost_estimate` is in the currency of the prices that are set, None where none are.
    """

    unverified_evidence_count: int = 0
    model_calls: int = 0
    retries: int = 0
    cost_estimate: float | None = 0.0
    fallback: Fallback | None = None
    model: ModelUse | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            **with_api_names(self),
            "fallback": self.fallback and with_api_names(self.fallback),
            "model": self.model and with_api_names(self.model),
            "calibration": None,
        }


@dataclass(frozen=True, slots=True)
class Judgement:
    """The outcome of an evaluation: the values of its row, and `results` as JSON.

    With a `problem` there is no score, and score, passed and band are None; metrics, sentiment and
    whatever criteria were judged are in `results` all the same. Where too little of the scorecard's
    weight was judged, there is a score, but `passed` and `band` are None. `customer_sentiment` is -1 to 1,
    `predicted_satisfaction` 1 to 5, `confidence` 0 to 1. `segment_sentiments` belong to the
    transcript. `signals` are the numbers that a calibration may weigh (see
    `app.judge.results`). `needs_review` says that two judges differ so much that a person
    should look. The same input gives the same judgement, to the byte of its JSON where no model is
    asked.
    """

    problem: Problem | None
    score: int | None
    raw_score: float | None
    compliance_score: float | None
    judged_weight_percent: float
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
    needs_review: bool = False


class Judge(Protocol):
    """Judges a conversation against a scorecard.

    Never raises for what a conversation holds: what can't be judged is not applicable or has a
    `failure`, and a judgement without a score says why in its `problem`.
    """

    def judge(
        self,
        transcript: Transcript,
        scorecard: Scorecard,
        context: Context,
        *,
        should_stop: Callable[[], bool] = never_stop,
    ) -> Judgement:
        """Judge a conversation.

        Args:
            should_stop: asked while something is waited for; when it says yes, `Stopped` is raised.
        """
        ...


class CpuLimitExceeded(Exception):
    """An evaluation needs more processor time than the settings allow."""

    def __init__(self, limit_s: float) -> None:
        super().__init__(
            f"This evaluation needs more than {limit_s:g} s of processor time. "
            "Use a scorecard with fewer criteria and phrases."
        )


class CpuLimit:
    """Processor time of the current thread, counted from the creation of this object."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._begun, self._begun_wall = time.thread_time(), time.monotonic()

    def check(self) -> None:
        """Raise `CpuLimitExceeded` when the time is used up."""
        # A thread takes no more processor time than time passes, and the clock is far cheaper to read.
        if time.monotonic() - self._begun_wall <= self._limit_s:
            return
        if time.thread_time() - self._begun > self._limit_s:
            raise CpuLimitExceeded(self._limit_s)
