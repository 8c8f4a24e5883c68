"""Forty hard conversations, eight for each of five criteria that leads often add, judged without a language model."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from app.transcript import Transcript
from tests.rules.test_own_criteria import criteria_of, judged
from tests.talks import chat

CASES = Path("tests/data/criteria/hard.txt")
SPELT = ["<letters>", "spelled <letter>", "spelt <letter>", "with a <letter>", "with an <letter>"]
FEE = ["fee", "charge", "costs", "free of charge", "<amount>"]
CANCEL = ["cancel", "cancelled", "canceled", "cancellation"]
# As a lead would write them into the form.
CRITERIA: dict[str, dict[str, Any]] = {
    "more_help": {"acts": ["offer_more"], "said": "question", "within": {"lastTurns": 3}},
    "spelling": {
        "anyOf": SPELT,
        "after": {"by": "customer", "anyOf": ["name is", "under", "this is", "I'm", "send it"]},
    },
    "fee_first": {"anyOf": FEE, "before": {"by": "agent", "acts": ["done"], "anyOf": CANCEL}},
    "no_blame": {"acts": ["blame"], "atMost": 0},
    "name_twice": {"anyOf": ["{customerName}"], "atLeast": 2},
}


class Case(NamedTuple):
    """A conversation, the criterion that is asked, and the answer that was expected beforehand."""

    name: str
    criterion: str
    expected: str
    talk: Transcript


def cases() -> Iterator[Case]:
    criterion = ""
    for block in CASES.read_text().split("\n\n"):
        if block.startswith("= "):
            criterion = block[2:].strip()
        elif block.startswith("- "):
            head, *lines = block.strip().split("\n")
            _, expected, title = head.split(" ", 2)
            said = [re.fullmatch(r"([ac]): (.*)", line) for line in lines]
            talk = chat(*((match[1], None, match[2]) for match in said if match))
            yield Case(f"{criterion}: {title}", criterion, expected, talk)


def answer_of(case: Case) -> str:
    rule = {"judge": {"rule": "act", "parameters": CRITERIA[case.criterion]}}
    [criterion] = criteria_of(judged(case.talk, rule))
    return criterion["answer"] or "n/a"


# What these rules get wrong: an offer that is no question, blame in polite words, and a price that is no fee.
MISSED = {
    "more_help: in other words",
    "no_blame: politely",
    "fee_first: another price was told",
}
ALL = [
    pytest.param(
        case,
        id=case.name,
        marks=[pytest.mark.xfail(strict=True)] if case.name in MISSED else [],
    )
    for case in cases()
]


@pytest.mark.parametrize("case", ALL)
def test_a_hard_conversation_is_judged_as_expected(case: Case) -> None:
    assert answer_of(case) == case.expected


def test_at_least_36_of_40_hold() -> None:
    assert len(ALL) == 40
    assert len(MISSED) <= 4
