import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from app.ai.conduct.marks import classifier_from, probability_of, sentences_of
from app.operations.commands import judge
from training import fitting
from training.examples import examples_of, records_in
from training.fitting import scores_of
from training.trainer import train
from training.turn_labels import LABELS

DONE = ["Your parcel is booked.", "I have arranged it for you.", "It has been confirmed."]
FAILED = ["I was unable to do it.", "Sorry, that did not work.", "There are no vans left."]

# A few turns for every label of each side, as other data sets and the bank would give them.
FOREIGN = [
    {"side": "agent", "src": "star", "text": f"No vans on day {i}.", "labels": [label], "w": 0.3}
    for i in range(4)
    for label in ("nores", "info")
]
OWN = [
    {"side": side, "text": f"{label} words {i}", "labels": [label], "w": 4.0}
    for side, labels in LABELS.items()
    for label in labels
    for i in range(3)
]


def as_lines(rows: list[dict]) -> str:
    return "\n".join(map(json.dumps, rows))


def record(number: int, replies: list[str], label: bool, split: str) -> dict:
    return {
        "id": f"own-{number}",
        "split": split,
        "messages": [
            {"role": "customer", "text": "Please send my parcel."},
            {"role": "agent", "text": "One moment."},
            {"role": "agent", "text": replies[number % 3]},
            {"role": "customer", "text": "Okay, bye."},
        ],
        "labels": {
            "resolved": label,
            "customer_annoyed": not label,
            "resolved_question": "Was the hotel booked?" if number % 3 else "Was the trivia fun?",
        },
    }


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = [
        record(i, DONE if i % 2 else FAILED, bool(i % 2), "dev" if i % 5 == 0 else "train")
        for i in range(30)
    ]
    (tmp_path / "star.jsonl").write_text(as_lines(rows), "utf-8")
    (tmp_path / "turns.jsonl.gz").write_bytes(gzip.compress(as_lines(FOREIGN).encode()))
    (tmp_path / "bank.jsonl").write_text(as_lines(OWN), "utf-8")
    return tmp_path


def test_training_tells_done_from_failed_and_repeats_to_the_byte(data, tmp_path) -> None:
    manifest = train(data, tmp_path / "one", bank=data / "bank.jsonl")
    train(data, tmp_path / "two", bank=data / "bank.jsonl")
    assert manifest["models"]["resolved"]["dev"] == {"conversations": 6, "yes": 3, "auc": 1.0}
    assert manifest["models"]["resolved"]["trainedOn"] == 24
    unseen = manifest["models"]["resolved"]["unseenFamilies"]
    assert [fold["families"] for fold in unseen["folds"]] == [
        ["hotel", "service request"],
        ["trivia"],
    ]
    assert (unseen["conversations"], unseen["auc"]) == (30, 1.0)
    for name in (
        "resolved.json",
        "annoyed.json",
        "agent-turns.json",
        "customer-turns.json",
        "manifest.json",
    ):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_training_names_the_file_that_is_missing(data, tmp_path) -> None:
    (data / "turns.jsonl.gz").unlink()
    result = CliRunner().invoke(judge, ["train", str(data), "--into", str(tmp_path / "out")])
    assert result.exit_code == 1
    assert f"{data / 'turns.jsonl.gz'} is missing" in result.output
    assert not (tmp_path / "out").exists()


def test_the_written_classifiers_know_what_they_were_fitted_to(data, tmp_path) -> None:
    train(data, tmp_path, bank=data / "bank.jsonl")
    for side, labels in LABELS.items():
        model = classifier_from(json.loads((tmp_path / f"{side}-turns.json").read_text("utf-8")))
        for label in labels:
            if label == "nores":
                continue
            (sentence,) = sentences_of(f"{label} words 9")
            found = dict(
                zip(model.labels, map(probability_of, model.logits(sentence)), strict=True)
            )
            assert (
                found[label]
                > 0.5
                > found[next(other for other in labels if other not in (label, "neg"))]
            )


def test_the_written_model_is_the_fitted_one(data, tmp_path) -> None:
    train(data, tmp_path / "out", bank=data / "bank.jsonl")
    document = json.loads((tmp_path / "out" / "resolved.json").read_text("utf-8"))
    examples = examples_of(records_in(data / "star.jsonl"), "resolved")
    chances = scores_of(document, examples)
    yes = [chance for chance, item in zip(chances, examples, strict=True) if item.label]
    no = [chance for chance, item in zip(chances, examples, strict=True) if not item.label]
    assert min(yes) > max(no)


def test_the_fit_separates_what_can_be_separated() -> None:
    rows, labels = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([0.0, 0.0, 1.0, 1.0])
    weights, bias = fitting.fit(rows, labels, 0.1)
    assert weights[0] > 0
    assert bias == pytest.approx(0, abs=1e-6)


def test_the_area_under_the_curve_counts_ties_half() -> None:
    labels = np.array([0.0, 1.0, 0.0, 1.0])
    assert fitting.area_under_curve(np.array([1.0, 2.0, 3.0, 4.0]), labels) == 0.75
    assert fitting.area_under_curve(np.ones(4), labels) == 0.5
    assert fitting.area_under_curve(np.ones(4), np.ones(4)) is None
