"""Executive performance assessment (EPA) of a call, derived from its evaluation."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.directory.service import EXECUTIVES
from app.evaluations import results
from app.evaluations import service as evaluations
from app.evaluations.enums import Channel, Status
from app.evaluations.models import Evaluation
from app.voice_calls import queries
from app.voice_calls.enums import EpaStatus
from app.voice_calls.models import VoiceCall

# The bands of evaluations, with the third one split in two.
_GRADES = ((90, "A"), (75, "B"), (60, "C"), (50, "D"), (0, "E"))
_MET = {"goal_met": True, "goal_not_met": False}
_GOAL = "outcome.goal"
_NO_BENCHMARK = {"executive_mean": None, "campaign_mean": None, "percentile": None}
_DIMENSION_TITLES = {
    "opening": "Opening",
    "understanding": "Understanding",
    "task_completion": "Task completion",
    "accuracy": "Accuracy",
    "conversation_flow": "Conversation flow",
    "empathy_tone": "Empathy and tone",
    "compliance": "Compliance",
    "closing": "Closing",
}
# Sections of the built-in scorecards; other scorecards should use the same names.
_DIMENSION_OF_SECTION = {
    "opening": "opening",
    "understanding": "understanding",
    "discovery": "understanding",
    "outcome": "task_completion",
    "resolution": "task_completion",
    "flow": "conversation_flow",
    "control": "conversation_flow",
    "responsiveness": "conversation_flow",
    "tone": "empathy_tone",
    "communication": "empathy_tone",
    "safety": "compliance",
    "compliance": "compliance",
    "closing": "closing",
}
_DIMENSION_OF_CRITERION = {"outcome.accuracy": "accuracy", "resolution.accuracy": "accuracy"}
_MAX_EVIDENCE = 5


def assess(session: Session, voice_call_id: str) -> dict[str, Any]:
    """Assess the agent side of a call; values are null or empty until it is evaluated.

    Raises:
        NotFound: there is no such call.
    """
    call = queries.get(session, voice_call_id)
    evaluation = None
    document: Mapping[str, Any] = {}
    if call["evaluation_id"] is not None:
        evaluation = evaluations.find(session, call["evaluation_id"])
        document = results.results_of(session, evaluation)
    judged = evaluation if call["epa_status"] == EpaStatus.COMPLETED else None
    criteria = document.get("criteria", []) if judged else []
    coaching = (document.get("coaching") if judged else None) or {}
    # Without a verdict there is neither a grade nor a comparison.
    ranked_score = judged.ranked_score if judged else None
    return {
        "voice_call_id": voice_call_id,
        "status": call["epa_status"],
        "subject": _subject(session, call),
        "overall_score": judged.score if judged else None,
        "grade": None if ranked_score is None else _grade(ranked_score),
        "dimensions": _dimensions(criteria) if judged else [],
        "delivery": _delivery(document.get("metrics", {}) if judged else {}),
        "outcome": _outcome(call, criteria),
        "compliance_flags": _compliance_flags(criteria),
        "strengths": coaching.get("strengths", []),
        "improvements": coaching.get("improvements", []),
        "benchmark": _NO_BENCHMARK
        if ranked_score is None
        else _benchmark(session, call, ranked_score),
        "evaluation_id": call["evaluation_id"],
        "scorecard_id": evaluation.scorecard_id if evaluation else None,
        "scorecard_version": evaluation.scorecard_version if evaluation else None,
        "engine": evaluation.engine if evaluation else None,
        "generated_at": evaluation.completed_at if evaluation else None,
    }


def _grade(score: int) -> str:
    return next(grade for lowest, grade in _GRADES if score >= lowest)


def _subject(session: Session, call: Mapping[str, Any]) -> dict[str, Any]:
    """Return the bot, or the executive if the source names no bot."""
    executive_id = call["executive_id"]
    of_bot = call["bot_id"] is not None or call["bot_name"] is not None
    by_human = call["channel"] == Channel.VOICE or (executive_id is not None and not of_bot)
    name = call["bot_name"]
    if by_human:
        name = EXECUTIVES.names(session, [executive_id]).get(executive_id)
    return {
        "kind": "human" if by_human else "bot",
        "executive_id": executive_id,
        "bot_id": call["bot_id"],
        "name": name,
    }


def _dimensions(criteria: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Group the criteria by dimension; each criterion belongs to at most one."""
    grouped: dict[str, list[Mapping[str, Any]]] = {key: [] for key in _DIMENSION_TITLES}
    for criterion in criteria:
        key = _dimension(criterion)
        if key is not None:
            grouped[key].append(criterion)
    return [_summary_of(key, members) for key, members in grouped.items()]


def _dimension(criterion: Mapping[str, Any]) -> str | None:
    key: str = criterion["key"]
    return _DIMENSION_OF_CRITERION.get(key) or _DIMENSION_OF_SECTION.get(criterion["section"])


def _summary_of(key: str, criteria: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    judged = [
        criterion
        for criterion in criteria
        if criterion["applicable"] and criterion["points"] is not None
    ]
    max_points = math.fsum(criterion["maxPoints"] for criterion in judged)
    points = math.fsum(criterion["points"] for criterion in judged)
    score = 100 * points / max_points if max_points else None
    explanations = [
        criterion["explanation"] for criterion in judged or criteria if criterion["explanation"]
    ]
    evidence = [piece for criterion in judged for piece in criterion["evidence"]]
    return {
        "key": key,
        "title": _DIMENSION_TITLES[key],
        "weight": math.fsum(criterion["weight"] for criterion in criteria),
        "score": None if score is None else round(score, 2),
        "explanation": " ".join(dict.fromkeys(explanations)) or None,
        "evidence": evidence[:_MAX_EVIDENCE],
    }


def _compliance_flags(criteria: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """List violated rules: failed criteria of compliance, or critical ones."""
    return [
        {
            "criterion_key": criterion["key"],
            "title": criterion["title"],
            "severity": "critical" if criterion["criticality"] != "none" else "warn",
            "explanation": criterion["explanation"],
            "evidence": criterion["evidence"],
        }
        for criterion in criteria
        if criterion["normalizedScore"] == 0
        and (criterion["errorClass"] == "compliance" or criterion["criticality"] != "none")
    ]


def _delivery(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Select the metrics of speaking style; pitch and energy are not measured yet."""
    return {
        "agent_wpm": metrics.get("agentWpm"),
        "pitch_variation": None,
        "energy": None,
        "filler_per_minute": metrics.get("fillerPerMinute"),
        "response_latency_ms": {
            "p50": metrics.get("latencyMsP50"),
            "p90": metrics.get("latencyMsP90"),
        },
        "interruptions": metrics.get("interruptionsByAgent"),
        "talk_ratio": metrics.get("talkRatio"),
        "silence_percent": metrics.get("silencePercent"),
    }


def _outcome(call: Mapping[str, Any], criteria: list[Mapping[str, Any]]) -> dict[str, Any]:
    goal = next((criterion for criterion in criteria if criterion["key"] == _GOAL), None)
    met, confidence = _MET.get(call["outcome"]), None
    if met is None and goal is not None and goal["normalizedScore"] is not None:
        met, confidence = goal["normalizedScore"] == 1, goal["confidence"]
    return {
        "goal": None if call["outcome"] == "unknown" else call["outcome"],
        "met": met,
        "confidence": confidence,
        "details": call["collected_fields"],
    }


def _benchmark(session: Session, call: Mapping[str, Any], score: int) -> dict[str, Any]:
    campaign_mean = percentile = None
    if call["campaign_id"] is not None:
        campaign_mean, percentile = _within_campaign(session, call, score)
    return {
        "executive_mean": _mean_of_subject(session, call),
        "campaign_mean": campaign_mean,
        "percentile": percentile,
    }


def _within_campaign(
    session: Session, call: Mapping[str, Any], score: int
) -> tuple[float | None, float | None]:
    is_compared = (
        Evaluation.campaign_id == call["campaign_id"],
        Evaluation.is_current,
        Evaluation.status == Status.COMPLETED,
        Evaluation.channel == call["channel"],
        Evaluation.passed.is_not(None),
    )
    count, mean = session.execute(
        select(func.count(), func.avg(Evaluation.score)).where(*is_compared)
    ).one()
    not_above = session.scalar(
        select(func.count()).select_from(Evaluation).where(*is_compared, Evaluation.score <= score)
    )
    if not count:
        return None, None
    return round(float(mean), 2), round(100 * (not_above or 0) / count, 1)


def _mean_of_subject(session: Session, call: Mapping[str, Any]) -> float | None:
    if call["bot_id"] is not None:
        is_of_subject = VoiceCall.bot_id == call["bot_id"]
    elif call["executive_id"] is not None:
        is_of_subject = VoiceCall.executive_id == call["executive_id"]
    else:
        return None
    mean = session.scalar(
        select(func.avg(VoiceCall.score))
        .join(Evaluation, Evaluation.id == VoiceCall.evaluation_id)
        .where(is_of_subject, Evaluation.passed.is_not(None))
    )
    return None if mean is None else round(float(mean), 2)
