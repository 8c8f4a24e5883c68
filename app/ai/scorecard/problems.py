"""Problems of a scorecard document, all at once, in words for its author."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import partial
from typing import Any

from app.ai.languages.words import words_in
from app.ai.scorecard.findings import (
    Finding,
    between,
    bounds,
    is_a,
    languages,
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
    BOUNDS,
    CONDITIONS,
    CRITERION,
    CRITERION_OPTIONAL,
    KNOWN_RULES,
    METRICS,
    MINIMUM,
    MINIMUM_OPTIONAL,
    MOST_CRITERIA,
    MOST_NAMED,
    MOST_OPTIONS,
    MOST_PHRASE_WORDS_IN_ALL,
    MOST_PHRASES_IN_ALL,
    MOST_SECTIONS,
    MOST_STATEMENTS,
    MOST_TOPICS,
    MOST_WORDS,
    NUMBER,
    OPTION,
    SAID,
    SAID_OPTIONAL,
    SCORECARD,
    SCORECARD_OPTIONAL,
    STATEMENT,
    TOPIC,
    WEIGHTS,
    WITHIN,
    WORDS,
    phrases_in,
)

# A day: beyond it a length in ms is a slip.
_LONGEST_MS = 86_400_000
_MOST_TURNS = 1_000


def problems_of(document: Any) -> list[Finding]:
    """List all problems of the document; empty where it is a valid scorecard."""
    return problems_of_parts(document) or problems_between_parts(document)


def problems_of_parts(document: Any) -> list[Finding]:
    """List the problems of each part of the document by itself."""
    findings = shaped("", document, SCORECARD, SCORECARD_OPTIONAL)
    if findings:
        return findings
    findings += one_of("channel", document["channel"], "channel")
    findings += texts("", document, "name", "description")
    findings += languages("languages", document.get("languages", []))
    findings += _minimum(document["minimum"])
    findings += _metrics(document["metrics"])
    findings += _topics(document.get("topics", []))
    findings += list_of("bands", document["bands"], {"key": str, "from": int})
    findings += sized("sections", document["sections"], low=1, high=MOST_SECTIONS)
    findings += list_of("sections", document["sections"], {"key": str, "title": str})
    findings += sized("criteria", document["criteria"], low=1, high=MOST_CRITERIA)
    for index, criterion in enumerate(document["criteria"][:MOST_CRITERIA]):
        findings += _criterion(f"criteria[{index}]", criterion)
    return findings


def _minimum(minimum: Any) -> list[Finding]:
    findings = shaped("minimum", minimum, MINIMUM, MINIMUM_OPTIONAL)
    if findings:
        return findings
    findings += between("minimum.words", minimum["words"], 0, 10_000)
    for name in ("judgedWeightPercent", "verdictWeightPercent"):
        findings += between(f"minimum.{name}", minimum.get(name, 0), 0, 100)
    return findings


def _metrics(metrics: Any) -> list[Finding]:
    findings = shaped("metrics", metrics, METRICS)
    for name, value in metrics.items():
        if is_a(value, (int, float)):
            findings += between(f"metrics.{name}", value, 0, _LONGEST_MS)
    for name in ("backChannels", "fillers"):
        words = metrics.get(name)
        if isinstance(words, list):
            findings += sized(f"metrics.{name}", words, high=MOST_WORDS)
            if not all(isinstance(word, str) and word.strip() for word in words):
                findings.append(Finding(f"metrics.{name}", "TYPE", "This must hold words."))
    return findings


def _topics(topics: list[Any]) -> list[Finding]:
    findings = sized("topics", topics, high=MOST_TOPICS) + list_of("topics", topics, TOPIC)
    for index, topic in enumerate(topics):
        if not findings:
            findings += texts(f"topics[{index}]", topic, "name")
            findings += phrases(f"topics[{index}].anyOf", topic["anyOf"])
    return findings


def _criterion(where: str, item: Any) -> list[Finding]:
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
        findings.append(
            Finding(f"{where}.failsAt", "RANGE", "This must be at least 0 and below 1.")
        )
    findings += texts(where, item, "key", "title", "section", "question")
    findings += texts(where, item, "suggestion", "notApplicableWhen", needed=False)
    findings += _options(where, item) + _judge(f"{where}.judge", item)
    return findings + _conditions(f"{where}.appliesWhen", item.get("appliesWhen", {}))


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
            findings.append(Finding(f"{where}.{name}", "RANGE", "This must be at least 0."))
        if name in _CHECKS:
            findings += _CHECKS[name](path(where, name), value)
    return findings


def _greeting_parts(where: str, parts: list[Any]) -> list[Finding]:
    return [
        finding
        for index, part in enumerate(parts)
        for finding in one_of(f"{where}[{index}]", part, "part")
    ]


def _obstacle_weights(where: str, weights: Mapping[str, Any]) -> list[Finding]:
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
    "weights": _obstacle_weights,
    "requires": _greeting_parts,
    "requiredStatements": _statements,
    "statements": partial(_statements, low=1),
    "full": bounds,
    "half": bounds,
    "anyOf": phrases,
    "by": partial(one_of, kind="by"),
    "within": _within,
    "metric": metric,
}


def _conditions(where: str, conditions: Mapping[str, Any]) -> list[Finding]:
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


def problems_between_parts(document: Mapping[str, Any]) -> list[Finding]:
    """List the problems between parts that are each valid."""
    criteria, sections, bands = document["criteria"], document["sections"], document["bands"]
    findings = repeated("criteria", criteria) + repeated("sections", sections)
    findings += repeated("bands", bands) + repeated("bands", bands, "from")
    findings += between("passThreshold", document["passThreshold"], 0, 100)
    findings += between("maxFailedWeightPercent", document["maxFailedWeightPercent"], 0, 100)
    for index, band in enumerate(bands):
        findings += one_of(f"bands[{index}].key", band["key"], "band")
        findings += between(f"bands[{index}].from", band["from"], 0, 100)
    if 0 not in {band["from"] for band in bands}:
        message = "One band must start at 0, so that every score has a band."
        findings.append(Finding("bands", "RANGE", message))
    for index, section in enumerate(sections):
        findings += texts(f"sections[{index}]", section, "key", "title")
    findings += _phrases(document)
    return findings + _weights(criteria) + _sections(criteria, {item["key"] for item in sections})


def _phrases(document: Mapping[str, Any]) -> list[Finding]:
    all_phrases = [*phrases_in(document["criteria"]), *phrases_in(document.get("topics", []))]
    findings = []
    for number, most, unit in (
        (len(all_phrases), MOST_PHRASES_IN_ALL, "phrases"),
        (
            sum(len(words_in(phrase)) for phrase in all_phrases),
            MOST_PHRASE_WORDS_IN_ALL,
            "words in phrases",
        ),
    ):
        if number > most:
            message = f"A scorecard may have at most {most:,} {unit}; this one has {number:,}."
            findings.append(Finding("criteria", "LENGTH", message))
    return findings


def _weights(criteria: list[Mapping[str, Any]]) -> list[Finding]:
    # Decimal of the written number, so that 33.3 + 33.3 + 33.4 is 100 and nothing near it is.
    total = sum((Decimal(str(item["weight"])) for item in criteria), Decimal())
    if total == 100:
        return []
    return [Finding("criteria", "RANGE", f"The weights sum to {total}, not to 100.")]


def _sections(criteria: list[Mapping[str, Any]], section_keys: set[str]) -> list[Finding]:
    return [
        Finding(
            f"criteria[{index}].section", "FORMAT", f"The section {item['section']} is not there."
        )
        for index, item in enumerate(criteria)
        if item["section"] not in section_keys
    ]
