"""Dimensions of an assessment: groups the criteria of a scorecard into eight dimensions."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

_TITLES = {
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
_OF_SECTION = {
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
_OF_CRITERION = {"outcome.accuracy": "accuracy", "resolution.accuracy": "accuracy"}
_MAX_EVIDENCE = 5


def dimensions_of(criteria: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Group the criteria by dimension; each criterion belongs to at most one."""
    grouped: dict[str, list[Mapping[str, Any]]] = {key: [] for key in _TITLES}
    for criterion in criteria:
        key = _dimension(criterion)
        if key is not None:
            grouped[key].append(criterion)
    return [_summarise(key, members) for key, members in grouped.items()]


def flags_of(criteria: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
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


def _dimension(criterion: Mapping[str, Any]) -> str | None:
    key: str = criterion["key"]
    return _OF_CRITERION.get(key) or _OF_SECTION.get(criterion["section"])


def _summarise(key: str, criteria: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
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
        "title": _TITLES[key],
        "weight": math.fsum(criterion["weight"] for criterion in criteria),
        "score": None if score is None else round(score, 2),
        "explanation": " ".join(dict.fromkeys(explanations)) or None,
        "evidence": evidence[:_MAX_EVIDENCE],
    }
