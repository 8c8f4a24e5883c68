"""Fits the classifiers of turns: one logistic regression for each label of a side."""

import gzip
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from app.ai.conduct.marks import SCALE, features_of, whole_of

BANK = Path(__file__).parent / "data" / "bank.jsonl"
LABELS = {
    "customer": ("anger", "disapp", "sarcasm", "sat", "conf", "neg"),
    "agent": (
        "empathy",
        "apology",
        "refusal",
        "dismissive",
        "stall",
        "probing",
        "verification",
        "offer",
        "recap",
        "next",
        "done",
        "greet",
        "warm",
        "nores",
        "unclear",
    ),
}
SIDES = tuple(LABELS)
_NEGATIVE = frozenset({"anger", "disapp", "sarcasm"})
# Which sources say something of a label: forum posts know no service, and STAR's agents chose one
# act for each line and no tone.
_TEACHING = {
    "sarcasm": {"bank", "starc"},
    "empathy": {"bank", "star"},
    "dismissive": {"bank", "star", "go"},
    "stall": {"bank", "go"},
    "refusal": {"bank", "go"},
    "nores": {"star"},
    "greet": {"bank"},
    "next": {"bank"},
    "apology": {"bank"},
    "warm": {"bank", "star"},
    "unclear": {"bank"},
}
_EVERY_SOURCE, _SERVICE = {"bank", "go", "mdg", "starc"}, {"bank", "star"}
_LEAST_ROWS = {"customer": 6, "agent": 4}
_LEAST_BANK_ROWS = 2
_PENALTY = 20.0
_MOST_WEIGHT = 8.0
_SHARE_OF_YES = 0.25
# A feature whose weights are all smaller than this is left out.
_LEAST_WEIGHT = 0.15
_SEED = 7


@dataclass(frozen=True, slots=True)
class Row:
    """One labelled turn; `weight` says how much it counts."""

    source: str
    labels: frozenset[str]
    weight: float
    features: Counter[str]


def rows_in(file: Path, side: str) -> list[Row]:
    """Read the turns that teach the labels of a side, `source` being bank where none is given.

    Forum posts without a negative feeling teach what rude, stalling and refusing agents don't say.
    """
    content = file.read_bytes()
    text = (gzip.decompress(content) if file.suffix == ".gz" else content).decode()
    return [_row(record) for record in map(json.loads, text.splitlines()) if _teaches(record, side)]


def _teaches(record: dict[str, Any], side: str) -> bool:
    friendly = record.get("src") == "go" and {"none", "sat"}.issuperset(record["labels"])
    return record["side"] == side or (side == "agent" and friendly)


def _row(record: dict[str, Any]) -> Row:
    labels = frozenset(record["labels"])
    return Row(
        source=record.get("src", "bank"),
        labels=labels | {"neg"} if labels & _NEGATIVE else labels,
        weight=record["w"],
        features=Counter(features_of(whole_of(record["text"]))),
    )


def classifier_of(side: str, rows: Sequence[Row]) -> dict[str, Any]:
    """Fit the labels of a side; the document is what `app.ai.conduct.marks` reads."""
    places = {name: place for place, name in enumerate(_known_features(rows, _LEAST_ROWS[side]))}
    matrix = _matrix(rows, places)
    fitted = {label: _fit(label, rows, matrix) for label in LABELS[side]}
    weights = np.stack([row for row, _ in fitted.values()], axis=1)
    kept = np.abs(weights).max(axis=1) >= _LEAST_WEIGHT
    whole = np.rint(weights * SCALE).astype(int)
    return {
        "labels": list(fitted),
        "biases": [round(bias, 3) for _, bias in fitted.values()],
        "weights": {name: whole[place].tolist() for name, place in places.items() if kept[place]},
    }


def _known_features(rows: Sequence[Row], least: int) -> list[str]:
    counts = Counter(feature for row in rows for feature in row.features)
    of_bank = {
        feature
        for row in rows
        if row.source == "bank"
        for feature in row.features
        if feature[0] != "~" and feature.count(" ") < 2
    }
    return sorted(
        feature
        for feature, count in counts.items()
        if count >= least or (feature in of_bank and count >= _LEAST_BANK_ROWS)
    )


def _matrix(rows: Sequence[Row], places: dict[str, int]) -> csr_matrix:
    values: list[float] = []
    columns: list[int] = []
    ends = [0]
    for row in rows:
        known = sorted(
            (places[name], count) for name, count in row.features.items() if name in places
        )
        length = np.sqrt(sum(count for _, count in known) or 1)
        columns += [place for place, _ in known]
        values += [count / length for _, count in known]
        ends.append(len(columns))
    return csr_matrix((values, columns, ends), shape=(len(rows), len(places)))


def _fit(label: str, rows: Sequence[Row], matrix: csr_matrix) -> tuple[Any, float]:
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - it takes a second

    teaching = _TEACHING.get(label, _EVERY_SOURCE if label in LABELS["customer"] else _SERVICE)
    used = np.array([row.source in teaching for row in rows])
    given = np.array([label in row.labels for row in rows])[used]
    weights = np.array([row.weight for row in rows])[used]
    yes, no = weights[given].sum(), weights[~given].sum()
    # What is rare weighs more, up to a quarter of what is not.
    weights[given] *= min(_MOST_WEIGHT, max(1.0, _SHARE_OF_YES * no / yes))
    model = LogisticRegression(C=_PENALTY, solver="liblinear", random_state=_SEED, max_iter=200)
    model.fit(matrix[used], given, weights)
    return model.coef_[0], float(model.intercept_[0])
