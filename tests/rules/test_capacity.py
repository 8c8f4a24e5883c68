"""The capacity model: its table in docs/scaling.md, and how needs follow from costs."""

from dataclasses import replace
from itertools import takewhile
from pathlib import Path

import pytest

from bench.capacity import Costs, Load, load_table

PAGE = (Path(__file__).parents[2] / "docs" / "scaling.md").read_text()


def test_the_table_of_the_page_is_part_of_what_the_command_prints() -> None:
    shown = [
        line for line in PAGE.partition("| Calls a day |")[2].splitlines() if "--:" not in line
    ]
    rows = list(takewhile(lambda line: line.startswith("|"), shown[1:]))
    assert len(rows) > 5
    assert set(rows) <= set(load_table(Costs(), [25_000]).splitlines())


def test_needs_grow_with_the_load_and_with_their_costs() -> None:
    costs = Costs()
    one, ten = Load(1_000, costs), Load(10_000, costs)
    assert ten.speech_cores() == pytest.approx(10 * one.speech_cores())
    assert one.speech_cores() == pytest.approx(1_000 * 5 * 3.5 / 86_400 * 3 / 0.6)
    assert one.night_cores() < one.speech_cores()
    longer = Load(1_000, replace(costs, call_minutes=10))
    assert longer.recording_bytes() == pytest.approx(2 * one.recording_bytes())
    assert longer.other_cores() > one.other_cores()
