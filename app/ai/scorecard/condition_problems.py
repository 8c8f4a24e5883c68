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
    """List what is wrong with the conditions that stand at this path."""
    found = shaped(where, conditions, {}, CONDITIONS)
    if found:
        return found
    found += languages(f"{where}.languages", conditions.get("languages", []))
    found += _listed(f"{where}.directions", conditions.get("directions", []), "direction")
    found += _listed(f"{where}.events", conditions.get("events", []), "event")
    found += _texts(f"{where}.campaignIds", conditions.get("campaignIds", []))
    found += _texts(f"{where}.labels", list(conditions.get("labels", {}).values()))
    for name in ("said", "notSaid"):
        if name in conditions:
            found += _said(path(where, name), conditions[name])
    if "metric" in conditions:
        found += _measured(f"{where}.metric", conditions["metric"])
    return found


def _said(where: str, said: Mapping[str, Any]) -> list[Finding]:
    found = shaped(where, said, SAID, SAID_OPTIONAL)
    if found:
        return found
    found += one_of(f"{where}.by", said.get("by", "anyone"), "by")
    return found + phrases(f"{where}.anyOf", said["anyOf"])


def _measured(where: str, measured: Mapping[str, Any]) -> list[Finding]:
    found = shaped(where, measured, {"metric": str}, BOUNDS)
    if found:
        return found
    limits = {name: value for name, value in measured.items() if name != "metric"}
    found += bounds(where, limits) if limits else []
    return found + metric(f"{where}.metric", measured["metric"])


def _listed(where: str, words: list[Any], kind: str) -> list[Finding]:
    found = sized(where, words, high=len(WORDS[kind]))
    for index, word in enumerate(words):
        found += one_of(f"{where}[{index}]", word, kind)
    return found


def _texts(where: str, values: list[Any]) -> list[Finding]:
    found = sized(where, values, high=MOST_NAMED)
    if not all(isinstance(value, str) for value in values):
        found.append(Finding(where, "TYPE", "This must hold texts."))
    return found
