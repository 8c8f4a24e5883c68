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
    """List what keeps the document from being a scorecard; empty when nothing does."""
    return problems_of_parts(document) or problems_between_parts(document)


def problems_of_parts(document: Any) -> list[Finding]:
    """List what is wrong with each part of the document by itself."""
    found = shaped("", document, SCORECARD, SCORECARD_OPTIONAL)
    if found:
        return found
    found += one_of("channel", document["channel"], "channel")
    found += texts("", document, "name", "description")
    found += languages("languages", document.get("languages", []))
    found += _minimum(document["minimum"])
    found += _metrics(document["metrics"])
    found += _topics(document.get("topics", []))
    found += list_of("bands", document["bands"], {"key": str, "from": int})
    found += sized("sections", document["sections"], low=1, high=MOST_SECTIONS)
    found += list_of("sections", document["sections"], {"key": str, "title": str})
    found += sized("criteria", document["criteria"], low=1, high=MOST_CRITERIA)
    for index, criterion in enumerate(document["criteria"][:MOST_CRITERIA]):
        found += problems_of_criterion(f"criteria[{index}]", criterion)
    return found


def _minimum(minimum: Any) -> list[Finding]:
    found = shaped("minimum", minimum, MINIMUM, MINIMUM_OPTIONAL)
    if found:
        return found
    found += between("minimum.words", minimum["words"], 0, 10_000)
    for name in ("judgedWeightPercent", "verdictWeightPercent"):
        found += between(f"minimum.{name}", minimum.get(name, 0), 0, 100)
    return found


def _metrics(metrics: Any) -> list[Finding]:
    found = shaped("metrics", metrics, METRICS)
    for name, value in metrics.items():
        if is_a(value, (int, float)):
            found += between(f"metrics.{name}", value, 0, _LONGEST_MS)
    for name in ("backChannels", "fillers"):
        words = metrics.get(name)
        if isinstance(words, list):
            found += sized(f"metrics.{name}", words, high=MOST_WORDS)
            if not all(isinstance(word, str) and word.strip() for word in words):
                found.append(Finding(f"metrics.{name}", "TYPE", "This must hold words."))
    return found


def _topics(topics: list[Any]) -> list[Finding]:
    found = sized("topics", topics, high=MOST_TOPICS) + list_of("topics", topics, TOPIC)
    for index, topic in enumerate(topics):
        if not found:
            found += texts(f"topics[{index}]", topic, "name")
            found += phrases(f"topics[{index}].anyOf", topic["anyOf"])
    return found


def problems_between_parts(document: Mapping[str, Any]) -> list[Finding]:
    """List what is wrong between the parts, each of which is right by itself."""
    criteria, sections, bands = document["criteria"], document["sections"], document["bands"]
    found = repeated("criteria", criteria) + repeated("sections", sections)
    found += repeated("bands", bands) + repeated("bands", bands, "from")
    found += between("passThreshold", document["passThreshold"], 0, 100)
    found += between("maxFailedWeightPercent", document["maxFailedWeightPercent"], 0, 100)
    for index, band in enumerate(bands):
        found += one_of(f"bands[{index}].key", band["key"], "band")
        found += between(f"bands[{index}].from", band["from"], 0, 100)
    if 0 not in {band["from"] for band in bands}:
        message = "One band must start at 0, so that every score has a band."
        found.append(Finding("bands", "RANGE", message))
    for index, section in enumerate(sections):
        found += texts(f"sections[{index}]", section, "key", "title")
    found += _phrases(document)
    return found + _weights(criteria) + _sections(criteria, {item["key"] for item in sections})


def _phrases(document: Mapping[str, Any]) -> list[Finding]:
    every = [*phrases_in(document["criteria"]), *phrases_in(document.get("topics", []))]
    found = []
    for number, most, unit in (
        (len(every), MOST_PHRASES_IN_ALL, "phrases"),
        (
            sum(len(words_in(phrase)) for phrase in every),
            MOST_PHRASE_WORDS_IN_ALL,
            "words in phrases",
        ),
    ):
        if number > most:
            message = f"A scorecard may have at most {most:,} {unit}; this one has {number:,}."
            found.append(Finding("criteria", "LENGTH", message))
    return found


def _weights(criteria: list[Mapping[str, Any]]) -> list[Finding]:
    # Decimal of the written number, so that 33.3 + 33.3 + 33.4 is 100 and nothing near it is.
    total = sum((Decimal(str(item["weight"])) for item in criteria), Decimal())
    if total == 100:
        return []
    return [Finding("criteria", "RANGE", f"The weights sum to {total}, not to 100.")]


def _sections(criteria: list[Mapping[str, Any]], known: set[str]) -> list[Finding]:
    return [
        Finding(
            f"criteria[{index}].section", "FORMAT", f"The section {item['section']} is not there."
        )
        for index, item in enumerate(criteria)
        if item["section"] not in known
    ]
