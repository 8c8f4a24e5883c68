"""Measures how the embedded judge agrees with people: python -m bench.judgement DATA_DIR.

First come the bands of tests/data/conduct, in which a team lead would see each output (`--misses` names
the conversations that are out of one), and how many judged criteria show evidence. DATA_DIR holds star.jsonl, sgd-use.jsonl, mwoz-use.jsonl, tau-airline.jsonl and aba-redial.jsonl,
each of JSON lines with `messages`, `labels` and `split`. What is missing is left out. `--split dev`
measures on that split alone; `--quick` leaves out what takes longer than a minute.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from app.ai.judge import Judgement
from bench.judgement_bands import print_bands
from bench.judgement_probes import Row, judge, masked, outputs, probe
from training.examples import examples_of, records_in
from training.families import unseen_families
from training.logistic import area_under_curve
from training.trainer import RECIPES

Measure = Callable[[list[tuple[float | None, float]]], str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--split", choices=("train", "dev"), help="all unless said")
    parser.add_argument("--quick", action="store_true", help="no unseen families, no changes")
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
        rows = [row for row in rows if split in (None, row["split"])]
        found = table(file, rows, measure)
        quotes = [a + b for a, b in zip(quotes, invalid_quotes(rows, found), strict=True)]
        every += rows
    print("\n" + json.dumps({"quotes": quotes[0], "notVerbatim": quotes[1]}))
    if options.quick:
        return
    if (options.data_dir / "star.jsonl").exists():
        unseen(options.data_dir / "star.jsonl")
    print(f"\nChanges, over {len(every)} conversations")
    for name, share in probe(every).items():
        print(f"  {share:6.1%}: {name}")


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


def ranks(values: list[float]) -> Any:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[place]


def spearman(pairs: list[tuple[float | None, float]]) -> str:
    known = [(ours, theirs) for ours, theirs in pairs if ours is not None]
    if len({ours for ours, _ in known}) < 2 or len({theirs for _, theirs in known}) < 2:
        return "-"
    return f"{np.corrcoef(*(ranks(list(column)) for column in zip(*known, strict=True)))[0, 1]:.3f}"


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


def unseen(file: Path) -> None:
    """Print how the model of the resolution does on families of tasks that it has not seen."""
    recipe = next(item for item in RECIPES if item.rule is not None)
    figures = unseen_families(recipe, examples_of(records_in(file), recipe.label))
    print(f"\n{recipe.label}, unseen families: {figures['conversations']} conversations")
    print(f"  {'auc':>8}{'by rule':>9}")
    for fold in figures["folds"]:
        names = ", ".join(fold["families"])
        print(f"  {fold['auc']:8.3f}{fold['ruleAuc']:9.3f}  {fold['conversations']:4} {names}")
    print(f"  {figures['auc']:8.3f}{figures['ruleAuc']:9.3f}  weighed mean")


SOURCES: dict[str, Measure] = {
    "sgd-use": spearman,
    "mwoz-use": spearman,
    "star": auc,
    "tau-airline": auc,
    "aba-redial": spearman,
}

if __name__ == "__main__":
    main()
