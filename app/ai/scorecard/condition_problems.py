"""Problems of the conditions of a criterion."""

from collections.abc import Mapping
from typing import Any

from app.ai.scorecard.findings import (
    Finding,
    bounds,
    languages,
    metric,
    one_of,
    path,
    phrases,
    shaped,
    sized,
)
from app.ai.scorecard.schema import BOUNDS, CONDITIONS, MOST_NAMED, SAID, SAID_OPTIONAL, WORDS


def problems_of_conditions(where: str, conditions: Mapping[str, Any]) -> list[Finding]:
    """List the problems of the conditions at this path."""
    findings = shaped(where, conditions, {}, CONDITIONS)
    if findings:
        return findings
    findings += languages(f"{where}.languages", conditions.get("languages", []))
    findings += _listed(f"{where}.directions", conditions.get("directions", []), "direction")
    findings += _listed(f"{where}.events", conditions.get("events", []), "event")
    findings += _texts(f"{where}.campaignIds", conditions.get("campaignIds", []))
    findings += _texts(f"{where}.labels", list(conditions.get("labels", {}).values()))
    for name in ("said", "notSaid"):
        if name in conditions:
            findings += _said(path(where, name), conditions[name])
    if "metric" in conditions:
        findings += _measured(f"{where}.metric", conditions["metric"])
    return findings


def _said(where: str, condition: Mapping[str, Any]) -> list[Finding]:
    findings = shaped(where, condition, SAID, SAID_OPTIONAL)
    if findings:
        return findings
    findings += one_of(f"{where}.by", condition.get("by", "anyone"), "by")
    return findings + phrases(f"{where}.anyOf", condition["anyOf"])


def _measured(where: str, measured: Mapping[str, Any]) -> list[Finding]:
    findings = shaped(where, measured, {"metric": str}, BOUNDS)
    if findings:
        return findings
    limits = {name: value for name, value in measured.items() if name != "metric"}
    findings += bounds(where, limits) if limits else []
    return findings + metric(f"{where}.metric", measured["metric"])


def _listed(where: str, words: list[Any], kind: str) -> list[Finding]:
    findings = sized(where, words, high=len(WORDS[kind]))
    for index, word in enumerate(words):
        findings += one_of(f"{where}[{index}]", word, kind)
    return findings


def _texts(where: str, values: list[Any]) -> list[Finding]:
    findings = sized(where, values, high=MOST_NAMED)
    if not all(isinstance(value, str) for value in values):
        findings.append(Finding(where, "TYPE", "This must hold texts."))
    return findings
