"""Problems of a scorecard document, all at once, in words for its author."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from app.ai.languages.words import words_in
from app.ai.scorecard.criterion_problems import problems_of_criterion
from app.ai.scorecard.findings import (
    Finding,
    between,
    is_a,
    languages,
    list_of,
    one_of,
    phrases,
    repeated,
    shaped,
    sized,
    texts,
)
from app.ai.scorecard.schema import (
    METRICS,
    MINIMUM,
    MINIMUM_OPTIONAL,
    MOST_CRITERIA,
    MOST_PHRASE_WORDS_IN_ALL,
    MOST_PHRASES_IN_ALL,
    MOST_SECTIONS,
    MOST_TOPICS,
    MOST_WORDS,
    SCORECARD,
    SCORECARD_OPTIONAL,
    TOPIC,
    phrases_in,
)

# A day: beyond it a length in ms is a slip.
_LONGEST_MS = 86_400_000


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
        findings += problems_of_criterion(f"criteria[{index}]", criterion)
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
