"""The eight dimensions of an assessment, made of the criteria of a scorecard."""

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
# The sections of the scorecards that ship; other scorecards do well to use the same names.
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
_MOST_EVIDENCE = 5


def dimensions_of(criteria: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Put the criteria together by dimension; every criterion counts in one at the most."""
    grouped: dict[str, list[Mapping[str, Any]]] = {key: [] for key in _TITLES}
    for each in criteria:
        key = _dimension(each)
        if key is not None:
            grouped[key].append(each)
    return [_made_of(key, found) for key, found in grouped.items()]


def flags_of(criteria: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """List the rules that were broken: what belongs to compliance, or fails more than itself."""
    return [
        {
            "criterion_key": each["key"],
            "title": each["title"],
            "severity": "critical" if each["criticality"] != "none" else "warn",
            "explanation": each["explanation"],
            "evidence": each["evidence"],
        }
        for each in criteria
        if each["normalizedScore"] == 0
        and (each["errorClass"] == "compliance" or each["criticality"] != "none")
    ]


def _dimension(criterion: Mapping[str, Any]) -> str | None:
    key: str = criterion["key"]
    return _OF_CRITERION.get(key) or _OF_SECTION.get(criterion["section"])


def _made_of(key: str, criteria: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    judged = [each for each in criteria if each["applicable"] and each["points"] is not None]
    most = math.fsum(each["maxPoints"] for each in judged)
    score = 100 * math.fsum(each["points"] for each in judged) / most if most else None
    told = [each["explanation"] for each in judged or criteria if each["explanation"]]
    evidence = [piece for each in judged for piece in each["evidence"]]
    return {
        "key": key,
        "title": _TITLES[key],
        "weight": math.fsum(each["weight"] for each in criteria),
        "score": None if score is None else round(score, 2),
        "explanation": " ".join(dict.fromkeys(told)) or None,
        "evidence": evidence[:_MOST_EVIDENCE],
    }
