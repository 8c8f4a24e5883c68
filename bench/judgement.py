"""Measures how the embedded judge agrees with people: python -m bench.judgement DATA_DIR.

First come the bands of tests/data/conduct, in which a team lead would see each output (`--misses` names
the conversations that are out of one), and how many judged criteria show evidence. DATA_DIR holds
star.jsonl, sgd-use.jsonl, mwoz-use.jsonl, tau-airline.jsonl, aba-redial.jsonl and helpdesk-dev.jsonl, each of JSON lines with `messages`, `labels` and `split`. What is missing is left out. `--split dev`
measures on that split alone; `--quick` leaves out what takes longer than a minute.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from app.judge.judge import Judgement
from app.reviews.agreement import two_raters
from bench.judgement_probes import Row, judge, masked, outputs, probe
from training.examples import records_in
from training.measures import area_under_curve

# The bands in which a team lead would see the outputs for realistic conversations.
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
Measure = Callable[[list[tuple[float | None, float]]], str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--split", choices=("train", "dev"), help="all unless said")
    parser.add_argument("--quick", action="store_true", help="no changes of conversations")
    parser.add_argument("--misses", action="store_true", help="name conversations out of a band")
    options = parser.parse_args()
    print_bands(misses=options.misses)
    quotes, every = [0, 0], []
    for file, measure in SOURCES.items():
        path = options.data_dir / f"{file}.jsonl"
        if not path.exists():
            continue
        # The models are fitted to the training split of star, which says nothing about them.
        split = "dev" if file == "star" else options.split
        rows = [row for row in records_in(path) if row["messages"]]
        rows = [row for row in rows if split in (None, row.get("split"))]
        found = table(file, rows, measure)
        quotes = [a + b for a, b in zip(quotes, invalid_quotes(rows, found), strict=True)]
        every += rows
    print("\n" + json.dumps({"quotes": quotes[0], "notVerbatim": quotes[1]}))
    if options.quick:
        return
    print(f"\nChanges, over {len(every)} conversations")
    for name, share in probe(every).items():
        print(f"  {share:6.1%}: {name}")


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
    return {
        item["key"]: item["estimate"]
        if item["normalizedScore"] is None
        else item["normalizedScore"]
        for item in found.results["criteria"]
    }


def _within(value: float | None, bands: dict[str, Any], expected: list[str]) -> bool:
    if value is None:
        return _NOT_APPLICABLE in expected
    return any(bands[name][0] <= value <= bands[name][1] for name in expected if name in bands)


def table(name: str, rows: list[Row], measure: Measure) -> list[Judgement]:
    """Judge the rows and print each output beside each label, and once more with masked digits."""
    began = time.process_time()
    found = [judge(row["messages"]) for row in rows]
    spent = time.process_time() - began
    of_one = 1000 * spent / len(rows)
    messages = [item for row in rows for item in row["messages"]]
    of_25 = 25_000 * spent / len(messages)
    of_words = 1_000_000 * spent / sum(len(item["text"].split()) for item in messages)
    print(
        f"\n{name}: {len(rows)} conversations, {of_one:.2f} ms CPU each, "
        f"{of_25:.2f} for 25 messages, {of_words:.1f} for 1,000 words"
    )
    labels = sorted({label for row in rows for label in row["labels"] if _is_rated(rows, label)})
    print(f"  {'':32}" + "".join(f"{label:>22}" for label in labels))
    given = [outputs(item) for item in found]
    without_digits = [outputs(judge(masked(row["messages"]))) for row in rows]
    for output in given[0]:
        _line(output, rows, [values[output] for values in given], labels, measure)
    for output in ("score", "resolution.probability"):
        values = [values[output] for values in without_digits]
        _line(f"{output}, masked", rows, values, labels, measure)
    return found


def _line(
    name: str, rows: list[Row], values: list[float | None], labels: list[str], measure: Measure
) -> None:
    cells = []
    for label in labels:
        rated = [(value, _rating(row, label)) for value, row in zip(values, rows, strict=True)]
        cells.append(measure([(ours, theirs) for ours, theirs in rated if theirs is not None]))
    print(f"  {name:32}" + "".join(f"{cell:>22}" for cell in cells))


def _is_rated(rows: list[Row], label: str) -> bool:
    return len({rating for row in rows if (rating := _rating(row, label)) is not None}) > 1


def _rating(row: Row, label: str) -> float | None:
    given = row["labels"].get(label)
    if isinstance(given, list):
        return sum(given) / len(given)
    return None if given is None or isinstance(given, str) else float(given)


def spearman(pairs: list[tuple[float | None, float]]) -> str:
    ranked = two_raters.spearman(
        Counter((ours, theirs) for ours, theirs in pairs if ours is not None)
    )
    return "-" if ranked is None else f"{ranked:.3f}"


def auc(pairs: list[tuple[float | None, float]]) -> str:
    known = [(ours, theirs) for ours, theirs in pairs if ours is not None]
    if not known:
        return "-"
    ours, theirs = (np.array(column, float) for column in zip(*known, strict=True))
    area = area_under_curve(ours, theirs)
    return "-" if area is None else f"{area:.3f}"


def invalid_quotes(rows: list[Row], found: list[Judgement]) -> tuple[int, int]:
    """Count all quotes and those that don't stand in the transcript."""
    total = wrong = 0
    for row, item in zip(rows, found, strict=True):
        texts = {f"seg_{i + 1:04d}": line["text"] for i, line in enumerate(row["messages"])}
        pools = [*item.results["criteria"], item.results["resolution"]]
        for piece in (piece for pool in pools for piece in pool["evidence"]):
            text = texts.get(piece["segmentId"], "")
            total += 1
            wrong += text[piece["charStart"] : piece["charEnd"]] != piece["quote"]
    return total, wrong


SOURCES: dict[str, Measure] = {
    "sgd-use": spearman,
    "mwoz-use": spearman,
    "star": auc,
    "tau-airline": auc,
    "aba-redial": spearman,
    "helpdesk-dev": spearman,
}

if __name__ == "__main__":
    main()
