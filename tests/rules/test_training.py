import json
from pathlib import Path

import numpy as np
import pytest

from app.ai.insights.linear import model_from
from training import logistic
from training.examples import examples_of, records_in
from training.trainer import train

DONE = ["Your parcel is booked.", "I have arranged it for you.", "It has been confirmed."]
FAILED = ["I was unable to do it.", "Sorry, that did not work.", "There are no vans left."]


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
    (tmp_path / "star.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return tmp_path


def test_training_tells_done_from_failed_and_repeats_to_the_byte(data, tmp_path) -> None:
    manifest = train(data, tmp_path / "one")
    train(data, tmp_path / "two")
    assert manifest["models"]["resolved"]["dev"] == {"conversations": 6, "yes": 3, "auc": 1.0}
    assert manifest["models"]["resolved"]["trainedOn"] == 24
    unseen = manifest["models"]["resolved"]["unseenFamilies"]
    assert [fold["families"] for fold in unseen["folds"]] == [
        ["hotel", "service request"],
        ["trivia"],
    ]
    assert (unseen["conversations"], unseen["auc"]) == (30, 1.0)
    for name in ("resolved.json", "annoyed.json", "manifest.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_the_written_model_is_the_fitted_one(data, tmp_path) -> None:
    train(data, tmp_path / "out")
    model = model_from(json.loads((tmp_path / "out" / "resolved.json").read_text("utf-8")))
    examples = examples_of(records_in(data / "star.jsonl"), "resolved")
    chances = [model.probability(item.features, item.grams) for item in examples]
    yes = [chance for chance, item in zip(chances, examples, strict=True) if item.label]
    no = [chance for chance, item in zip(chances, examples, strict=True) if not item.label]
    assert min(yes) > max(no)


def test_the_fit_separates_what_can_be_separated() -> None:
    rows, labels = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([0.0, 0.0, 1.0, 1.0])
    weights, bias = logistic.fit(rows, labels, 0.1)
    assert weights[0] > 0
    assert bias == pytest.approx(0, abs=1e-6)


def test_the_area_under_the_curve_counts_ties_half() -> None:
    labels = np.array([0.0, 1.0, 0.0, 1.0])
    assert logistic.area_under_curve(np.array([1.0, 2.0, 3.0, 4.0]), labels) == 0.75
    assert logistic.area_under_curve(np.ones(4), labels) == 0.5
    assert logistic.area_under_curve(np.ones(4), np.ones(4)) is None
