"""Judgements of real conversations before and after a change; see also bench/judgement.py."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.judgement_probes import checks, judge, masked, outputs

FILE = Path(__file__).parents[1] / "data" / "star" / "conversations.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_a_change_moves_the_judgement_as_it_must(row) -> None:
    assert [name for name, holds in checks(row["messages"]).items() if not holds] == []


def test_what_people_call_resolved_is_likelier_resolved() -> None:
    chances: dict[bool, list[float]] = {True: [], False: []}
    for row in ROWS:
        shown = outputs(judge(row["messages"]))
        chances[row["labels"]["resolved"]].append(shown["resolution.probability"])
    means = {label: sum(values) / len(values) for label, values in chances.items()}
    assert means[True] > means[False] + 0.15


def test_masked_numbers_hardly_change_scores() -> None:
    for row in ROWS:
        plain, without = (
            outputs(judge(messages)) for messages in (row["messages"], masked(row["messages"]))
        )
        assert abs(plain["score"] - without["score"]) <= 3
        assert abs(plain["resolution.probability"] - without["resolution.probability"]) < 0.05
