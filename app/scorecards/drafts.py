"""Drafts of scorecards: authors write the differences from the default."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from app.ai.dialogue.friction import HALF_AT, WEIGHTS
from app.ai.scorecard.findings import Finding
from app.scorecards import default_scorecards as defaults

_TAKEN_OVER = ("passThreshold", "bands", "maxFailedWeightPercent")
_MERGED = ("minimum", "metrics")
_PLAIN = {"criticality": "none", "errorClass": "none", "failsAt": 0, "suggestion": ""}
_YES_OR_NO = (
    {"answer": "yes", "score": 1, "anchor": "It is so."},
    {"answer": "no", "score": 0, "anchor": "It is not so."},
)
_METHODS = {"binary": "rule", "scale": "rule", "metric": "metric"}


def completed(
    draft: Mapping[str, Any], *, channel: str, version: int
) -> tuple[dict[str, Any], list[Finding]]:
    """Complete a draft with the default scorecard of its channel.

    A criterion with `use` starts from the criterion of that key. Returns the document, which needs
    no other to be understood, and what could not be completed.
    """
    shipped = deepcopy(defaults.document_of(channel))
    document = {**deepcopy(dict(draft)), "channel": channel, "version": version}
    for name in _TAKEN_OVER:
        document.setdefault(name, shipped[name])
    for name in _MERGED:
        document[name] = {**shipped[name], **document.get(name, {})}
    if "topics" not in document and "topics" in shipped:
        document["topics"] = shipped["topics"]
    known = {criterion["key"]: criterion for criterion in shipped["criteria"]}
    findings: list[Finding] = []
    criteria = []
    for index, criterion in enumerate(document.get("criteria", ())):
        use = criterion.pop("use", None)
        if use is not None and use not in known:
            message = f"{use!r} is not one of {', '.join(known)}."
            findings.append(Finding(f"criteria[{index}].use", "ENUM", message))
        criteria.append(_pinned(_from_shipped(criterion, known.get(use))))
    document["criteria"] = criteria
    document.setdefault("sections", _sections(criteria, shipped["sections"]))
    return document, findings


def _from_shipped(criterion: dict[str, Any], shipped: Mapping[str, Any] | None) -> dict[str, Any]:
    if shipped is None:
        return _plain(criterion)
    judge = {**shipped["judge"], **criterion.get("judge", {})}
    if judge.get("rule") == shipped["judge"].get("rule"):
        own = criterion.get("judge", {}).get("parameters", {})
        judge["parameters"] = {**shipped["judge"].get("parameters", {}), **own}
    if "rule" not in judge:
        judge.pop("parameters", None)
    return {**deepcopy(dict(shipped)), **criterion, "judge": judge}


def _pinned(criterion: dict[str, Any]) -> dict[str, Any]:
    """Write out the values that a version would otherwise take from the release that judges by it."""
    judge = criterion["judge"]
    if judge.get("rule") == "completeness":
        pinned = {"halfAt": HALF_AT, "weights": {}, **judge.get("parameters", {})}
        if isinstance(pinned["weights"], dict):
            pinned["weights"] = {**WEIGHTS, **pinned["weights"]}
        judge["parameters"] = pinned
    return criterion


def _plain(criterion: dict[str, Any]) -> dict[str, Any]:
    kind = criterion.get("type")
    judge = dict(criterion.get("judge", {}))
    method = _METHODS.get(str(kind), "rule") if "rule" in judge else "model"
    judge.setdefault("methods", [method])
    options = [dict(option) for option in _YES_OR_NO] if kind == "binary" else []
    return {**_PLAIN, "options": options, **criterion, "judge": judge}


def _sections(
    criteria: list[dict[str, Any]], shipped: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    used = {criterion.get("section") for criterion in criteria}
    return [section for section in shipped if section["key"] in used]
