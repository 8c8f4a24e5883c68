"""Problems of a completed scorecard that no field has alone: of a criterion and its rule, and between parts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from app.judge.languages.words import words_in
from app.judge.rules.catalogue import RULES
from app.judge.scorecard.schema import RETIRED_PARAMETERS, phrases_in

# Over all criteria and topics, so that judging stays fast.
_MOST_PHRASES = 2_000
_MOST_PHRASE_WORDS = 10_000
# A criterion has them itself, or from the criterion that it uses.
_REQUIRED = ("key", "title", "section", "question", "type", "weight")


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem or a warning.

    `field` is a path such as `criteria[2].weight`, `code` one of the codes in `error.details`,
    `message` a sentence for the author.
    """

    field: str
    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"

    def as_json(self) -> dict[str, str]:
        return {"field": self.field, "message": self.message}


def problems_of_criteria(document: Mapping[str, Any]) -> list[Finding]:
    """List the problems of each criterion: missing fields, its options, its rule."""
    findings = []
    for index, criterion in enumerate(document["criteria"]):
        where = f"criteria[{index}]"
        missing = _missing(where, criterion, _REQUIRED)
        findings += missing or _options(f"{where}.options", criterion)
        if not missing:
            findings += _judge(f"{where}.judge", criterion)
    return findings


def problems_between_parts(document: Mapping[str, Any]) -> list[Finding]:
    """List the problems between parts that are each valid."""
    criteria, sections, bands = document["criteria"], document["sections"], document["bands"]
    findings = _repeated("criteria", criteria) + _repeated("sections", sections)
    findings += _repeated("bands", bands) + _repeated("bands", bands, "from")
    if 0 not in {band["from"] for band in bands}:
        message = "One band must start at 0, so that every score has a band."
        findings.append(Finding("bands", "RANGE", message))
    findings += _phrases(document)
    return findings + _weights(criteria) + _sections(criteria, {item["key"] for item in sections})


def _options(where: str, criterion: Mapping[str, Any]) -> list[Finding]:
    scores = [option["score"] for option in criterion["options"]]
    findings = []
    if criterion["type"] == "binary" and scores != [1, 0]:
        message = "A binary criterion has two options, scored 1 and 0 in this order."
        findings.append(Finding(where, "FORMAT", message))
    if criterion["type"] == "scale" and len(set(scores)) < 2:
        message = "A scale has at least two options of different scores."
        findings.append(Finding(where, "FORMAT", message))
    return findings + _repeated(where, criterion["options"], "answer")


def _judge(where: str, criterion: Mapping[str, Any]) -> list[Finding]:
    judge = criterion["judge"]
    if "rule" not in judge:
        return [] if judge["methods"] == ["model"] else _missing(where, judge, ["rule"])
    rule, parameters = RULES[judge["rule"]], judge.get("parameters", {})
    findings = []
    if rule.answers != criterion["type"]:
        message = f"{judge['rule']} answers criteria of the type {rule.answers} only."
        findings.append(Finding(f"{where}.rule", "FORMAT", message))
    where, known = f"{where}.parameters", {parameter.name for parameter in rule.parameters}
    findings += _missing(where, parameters, (parameter.name for parameter in rule.required))
    findings += [
        Finding(f"{where}.{name}", "UNKNOWN", f"{judge['rule']} has no such parameter.")
        for name in parameters
        if name not in (*known, *RETIRED_PARAMETERS)
    ]
    if rule.one_of and parameters.keys().isdisjoint(rule.one_of):
        findings += _missing(where, parameters, rule.one_of[:1])
    for name in ("statements", "requiredStatements", "claims"):
        findings += _repeated(f"{where}.{name}", parameters.get(name, ()))
    return findings


def _missing(where: str, part: Mapping[str, Any], names: Iterable[str]) -> list[Finding]:
    return [
        Finding(f"{where}.{name}", "REQUIRED", "This field is required.")
        for name in names
        if name not in part
    ]


def _repeated(where: str, items: Iterable[Mapping[str, Any]], name: str = "key") -> list[Finding]:
    keys: set[Any] = set()
    findings = []
    for index, item in enumerate(items):
        if item[name] in keys:
            message = f"{item[name]} occurs twice."
            findings.append(Finding(f"{where}[{index}].{name}", "FORMAT", message))
        keys.add(item[name])
    return findings


def _phrases(document: Mapping[str, Any]) -> list[Finding]:
    phrases = [*phrases_in(document["criteria"]), *phrases_in(document.get("topics", []))]
    words = sum(len(words_in(phrase)) for phrase in phrases)
    return [
        Finding(
            "criteria",
            "LENGTH",
            f"A scorecard may have at most {most:,} {unit}; this one has {number:,}.",
        )
        for number, most, unit in (
            (len(phrases), _MOST_PHRASES, "phrases"),
            (words, _MOST_PHRASE_WORDS, "words in phrases"),
        )
        if number > most
    ]


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
