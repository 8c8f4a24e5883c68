"""Measures what calibrating learns from few labels: python -m bench.calibration DATA_DIR.

DATA_DIR holds sgd-use.jsonl and mwoz-use.jsonl, each of JSON lines with `messages`, `labels` and
`split`. What is missing is left out. Labels are drawn from the split `train`, agreement is measured
on `dev`; nothing that is fitted here is kept. `--label` names another label than the rubric's.
"""

import argparse
import math
import random
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.judge.results import EFFORT, SCORE
from app.judge.scoring.score import round_half_up
from app.reviews.agreement import two_raters
from app.reviews.calibration.fitting import fit
from app.reviews.calibration.score_model import Sample
from bench.judgement_probes import judge
from training.examples import records_in

SIZES = (25, 50, 100, 200)


def samples_of(rows: Sequence[dict[str, Any]], label: str) -> list[Sample]:
    """Judge conversations; their labels are stretched to 0..100."""
    given = [float(row["labels"][label]) for row in rows]
    low, high = min(given), max(given)
    return [
        Sample(judge(row["messages"]).signals, 100 * (value - low) / (high - low))
        for row, value in zip(rows, given, strict=True)
    ]


def figures(pairs: Sequence[tuple[float, float]]) -> str:
    counted = Counter(pairs)
    ranked, distance = two_raters.spearman(counted), two_raters.mean_distance(counted)
    return f"{ranked or math.nan:>9.3f} {distance:>6.1f} {two_raters.bias(counted):>6.1f}"


def curve(name: str, train: list[Sample], dev: list[Sample], draws: int) -> None:
    """Print the agreement on `dev` after learning from so many labels, as the mean of some draws."""
    print(f"\n{name}: {len(train)} to learn from, measured on {len(dev)}")
    print(f"  {'':22} {'Spearman':>9} {'MAE':>6} {'bias':>6}")
    print(f"  {'scorecard alone':22} {figures([(x.signals[SCORE], x.label) for x in dev])}")
    print(f"  {'effort alone':22} {figures([(100 * x.signals[EFFORT], x.label) for x in dev])}")
    for size in (each for each in SIZES if each <= len(train)):
        began = time.process_time()
        found = []
        for draw in range(draws):
            model = fit(random.Random(draw).sample(train, size))
            found.append([(round_half_up(model.score(x.signals)), x.label) for x in dev])
        spent = (time.process_time() - began) / draws
        means = [
            math.fsum(figure(Counter(pairs)) or 0 for pairs in found) / draws
            for figure in (two_raters.spearman, two_raters.mean_distance, two_raters.bias)
        ]
        told = f"{means[0]:>9.3f} {means[1]:>6.1f} {means[2]:>6.1f}"
        print(f"  {f'{size} labels':22} {told}   {spent:.2f} s CPU a fit")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--label", default="satisfaction3_human", help="or uss_mean")
    parser.add_argument("--draws", type=int, default=12, help="how often labels are drawn")
    options = parser.parse_args()
    for name in ("sgd-use", "mwoz-use"):
        file = options.data_dir / f"{name}.jsonl"
        if not file.exists():
            continue
        rows = [row for row in records_in(file) if options.label in row["labels"]]
        every = samples_of(rows, options.label)
        parts: dict[str, list[Sample]] = {"train": [], "dev": []}
        for row, sample in zip(rows, every, strict=True):
            parts[row["split"]].append(sample)
        curve(name, parts["train"], parts["dev"], options.draws)


if __name__ == "__main__":
    main()
