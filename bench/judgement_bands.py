"""Bands that a team lead would expect of realistic conversations, and how many of them hold."""

from collections import Counter
from pathlib import Path
from typing import Any

from app.ai.judge import Judgement
from bench.judgement_probes import judge
from training.examples import records_in

CONVERSATIONS = Path("tests/data/conduct/conversations.jsonl")
_SENTIMENT = {"neg": (0, 0.45), "neutral": (0.35, 0.75), "pos": (0.6, 1)}
_OVERALL = {"neg": (-1, -0.05), "neutral": (-0.25, 0.45), "pos": (0.05, 1)}
_PROFESSIONALISM = {"low": (0, 0.45), "mid": (0.35, 0.8), "high": (0.7, 1)}
_LEVEL = {
    "poor": (0, 0.34),
    "low": (0, 0.34),
    "mid": (0.3, 0.75),
    "good": (0.7, 1),
    "high": (0.7, 1),
}
_EMPATHY = {"yes": (0.5, 1), "no": (0, 0.4999)}
_STATUS = {"partial": "partially_resolved"}
_CRITERIA = {
    "empathy": "communication.empathy",
    "understanding": "discovery.understanding",
    "probing": "discovery.probing",
    "clarity": "communication.clarity",
}
_NOT_APPLICABLE = "NA"

Expected = dict[str, list[str]]


def held(found: Judgement, expected: Expected) -> dict[str, bool]:
    """Tell for each output whether it lies in one of the bands that are expected."""
    dimensions, criteria = found.results["dimensions"], _scores(found)
    given = {
        "sentiment.dimension": _within(
            dimensions["customerSentiment"], _SENTIMENT, expected["sentiment"]
        ),
        "sentiment.overall": _within(
            found.results["sentiment"]["customer"]["overall"], _OVERALL, expected["sentiment"]
        ),
        "professionalism": _within(
            dimensions["professionalism"], _PROFESSIONALISM, expected["professionalism"]
        ),
    }
    for name, key in _CRITERIA.items():
        bands = _EMPATHY if name == "empathy" else _LEVEL
        given[name] = _within(criteria[key], bands, expected[name])
    given["resolution"] = found.resolution in {
        _STATUS.get(name, name) for name in expected["resolution"]
    }
    return given


def evidence_share(judgements: list[Judgement]) -> tuple[int, int]:
    """Count the judged criteria that show evidence or a metric, and all that were judged."""
    judged = [
        item
        for found in judgements
        for item in found.results["criteria"]
        if item["normalizedScore"] is not None
    ]
    shown = [item for item in judged if item["evidence"] or item["judgedBy"] == "metric"]
    return len(shown), len(judged)


def print_bands(*, misses: bool) -> None:
    rows = records_in(CONVERSATIONS)
    judgements = [judge(row["messages"]) for row in rows]
    results = [held(found, row["expect"]) for found, row in zip(judgements, rows, strict=True)]
    counts = Counter(name for result in results for name, holds in result.items() if holds)
    print(f"\nBands, {len(rows)} conversations")
    for name in results[0]:
        missed = [row["id"] for row, result in zip(rows, results, strict=True) if not result[name]]
        print(f"  {counts[name]:3} {name}" + (f"  missed: {' '.join(missed)}" if misses else ""))
    print(f"  {counts.total():3} of {len(results) * len(results[0])}")
    shown, judged = evidence_share(judgements)
    print(f"  evidence or a metric: {shown} of {judged} judged criteria, {shown / judged:.0%}")


def _scores(found: Judgement) -> dict[str, float | None]:
    return {item["key"]: item["normalizedScore"] for item in found.results["criteria"]}


def _within(value: float | None, bands: dict[str, Any], expected: list[str]) -> bool:
    if value is None:
        return _NOT_APPLICABLE in expected
    return any(bands[name][0] <= value <= bands[name][1] for name in expected if name in bands)
