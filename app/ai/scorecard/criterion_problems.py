"""Problems of one criterion: its texts, its rule and its conditions."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from app.ai.dialogue.friction import WEIGHTS
from app.ai.scorecard.condition_problems import problems_of_conditions
from app.ai.scorecard.findings import (
    Finding,
    between,
    bounds,
    is_a,
    list_of,
    metric,
    one_of,
    path,
    phrases,
    repeated,
    shaped,
    sized,
    texts,
)
from app.ai.scorecard.schema import (
    CRITERION,
    CRITERION_OPTIONAL,
    KNOWN_RULES,
    MOST_OPTIONS,
    MOST_STATEMENTS,
    NUMBER,
    OPTION,
    STATEMENT,
    WITHIN,
)

_MOST_TURNS = 1_000


def problems_of_criterion(where: str, item: Any) -> list[Finding]:
    """List the problems of the criterion at this path."""
    findings = shaped(where, item, CRITERION, CRITERION_OPTIONAL)
    if findings:
        return findings
    for name in ("type", "criticality", "errorClass"):
        findings += one_of(path(where, name), item[name], name)
    findings += between(f"{where}.weight", item["weight"], 0, 100)
    if item.get("dimension") is not None:
        findings += one_of(f"{where}.dimension", item["dimension"], "dimension")
    if not 0 <= item.get("failsAt", 0) < 1:
        findings.append(Finding(f"{where}.failsAt", "RANGE", "This must be from 0 to below 1."))
    findings += texts(where, item, "key", "title", "section", "question")
    findings += texts(where, item, "suggestion", "notApplicableWhen", needed=False)
    findings += _options(where, item) + _judge(f"{where}.judge", item)
    return findings + problems_of_conditions(f"{where}.appliesWhen", item.get("appliesWhen", {}))


def _options(where: str, item: Mapping[str, Any]) -> list[Finding]:
    options, where = item["options"], f"{where}.options"
    findings = sized(where, options, high=MOST_OPTIONS) + list_of(where, options, OPTION)
    if findings:
        return findings
    for index, option in enumerate(options):
        findings += between(f"{where}[{index}].score", option["score"], 0, 1)
        findings += texts(f"{where}[{index}]", option, "anchor")
        if isinstance(option["answer"], str):
            findings += texts(f"{where}[{index}]", option, "answer")
    scores = [option["score"] for option in options]
    if item["type"] == "binary" and scores != [1, 0]:
        message = "A binary criterion has two options, scored 1 and 0 in this order."
        findings.append(Finding(where, "FORMAT", message))
    if item["type"] == "scale" and len(set(scores)) < 2:
        message = "A scale has at least two options of different scores."
        findings.append(Finding(where, "FORMAT", message))
    return findings + repeated(where, options, "answer")


def _judge(where: str, item: Mapping[str, Any]) -> list[Finding]:
    judge = item["judge"]
    findings = shaped(where, judge, {"methods": list}, {"rule": str, "parameters": dict})
    if findings:
        return findings
    if not judge["methods"]:
        findings.append(
            Finding(f"{where}.methods", "LENGTH", "This must name at least one method.")
        )
    for index, method in enumerate(judge["methods"]):
        findings += one_of(f"{where}.methods[{index}]", method, "method")
    if "rule" not in judge:
        if judge["methods"] != ["model"]:
            findings.append(Finding(f"{where}.rule", "REQUIRED", "This field is required."))
        return findings
    rule = KNOWN_RULES.get(judge["rule"])
    if rule is None:
        message = f"{judge['rule']!r} is not one of {', '.join(KNOWN_RULES)}."
        return [*findings, Finding(f"{where}.rule", "ENUM", message)]
    if rule.answers != item["type"]:
        message = f"{judge['rule']} answers criteria of the type {rule.answers} only."
        findings.append(Finding(f"{where}.rule", "FORMAT", message))
    parameters = judge.get("parameters", {})
    where = f"{where}.parameters"
    findings += shaped(where, parameters, rule.parameters, rule.optional)
    return findings or _parameters(where, parameters)


def _parameters(where: str, parameters: Mapping[str, Any]) -> list[Finding]:
    findings = []
    for name, value in parameters.items():
        if is_a(value, NUMBER) and value < 0:
            findings.append(Finding(f"{where}.{name}", "RANGE", "This may not be below 0."))
        if name in _CHECKS:
            findings += _CHECKS[name](path(where, name), value)
    return findings


def _parts(where: str, parts: list[Any]) -> list[Finding]:
    return [
        finding
        for index, part in enumerate(parts)
        for finding in one_of(f"{where}[{index}]", part, "part")
    ]


def _weights(where: str, weights: Mapping[str, Any]) -> list[Finding]:
    findings = shaped(where, weights, {}, dict.fromkeys(WEIGHTS, NUMBER))
    for name, weight in weights.items():
        if not findings:
            findings += between(path(where, name), weight, 0, 100)
    return findings


def _statements(where: str, statements: list[Any], low: int = 0) -> list[Finding]:
    findings = sized(where, statements, low=low, high=MOST_STATEMENTS)
    findings += list_of(where, statements, STATEMENT)
    for index, statement in enumerate(statements):
        if not findings:
            findings += texts(f"{where}[{index}]", statement, "key", "title")
            findings += phrases(f"{where}[{index}].anyOf", statement["anyOf"])
    return findings or repeated(where, statements)


def _within(where: str, within: Mapping[str, Any]) -> list[Finding]:
    findings = shaped(where, within, {}, WITHIN)
    if findings:
        return findings
    if len(within) != 1:
        return [Finding(where, "FORMAT", f"This must name one of {' and '.join(WITHIN)}.")]
    return [
        finding
        for name, turns in within.items()
        for finding in between(f"{where}.{name}", turns, 1, _MOST_TURNS)
    ]


_CHECKS: dict[str, Callable[[str, Any], list[Finding]]] = {
    "agentTurns": partial(between, low=1, high=_MOST_TURNS),
    "lastTurns": partial(between, low=1, high=_MOST_TURNS),
    "halfAt": partial(between, low=0.01, high=1_000),
    "weights": _weights,
    "requires": _parts,
    "requiredStatements": _statements,
    "statements": partial(_statements, low=1),
    "full": bounds,
    "half": bounds,
    "anyOf": phrases,
    "by": partial(one_of, kind="by"),
    "within": _within,
    "metric": metric,
}
