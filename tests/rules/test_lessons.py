"""What overrides teach: lines like the examples are taken as people took these."""

from pathlib import Path

import pytest

from app.judge.acts.lessons import KINDS, kind_named
from app.judge.context import Context, Lesson
from app.judge.facts.conversation_facts import facts_of
from app.judge.rule_judge import RuleJudge
from app.transcript import Transcript
from tests.rules.test_hard_criteria import cases
from tests.talks import chat, scorecard

CARD = scorecard("chat")
FILE = Path("tests/data/lessons/greetings.txt")
PAIRS = [line.split(" | ") for line in FILE.read_text().splitlines() if " | " in line]


def opened_with(line: str) -> Transcript:
    return chat(
        ("a", 0, line),
        ("c", 20, "I need a copy of my bill for March, please."),
        ("a", 60, "I have sent it to your mail address."),
        ("c", 80, "Thanks, bye."),
    )


def is_greeting(talk: Transcript, *lessons: Lesson) -> bool:
    results = RuleJudge().judge(talk, CARD, Context(lessons=lessons)).results
    answers = {criterion["key"]: criterion["answer"] for criterion in results["criteria"]}
    return answers["opening.greeting"] == "yes"


def test_thirty_overrides_remove_at_least_half_of_the_repetitions() -> None:
    lessons = [Lesson("greeting", True, line) for line, _ in PAIRS]
    talks = [opened_with(reworded) for _, reworded in PAIRS]
    missed = [talk for talk in talks if not is_greeting(talk)]
    still_missed = [talk for talk in talks if not is_greeting(talk, *lessons)]
    assert len(PAIRS) == 30
    assert len(missed) >= 10
    assert len(still_missed) <= len(missed) / 2


def test_other_lines_stay_what_they_are() -> None:
    lessons = tuple(Lesson("greeting", True, line) for line, _ in PAIRS)
    for case in cases():
        before, after = (
            facts_of(case.talk, CARD, Context(lessons=taught)).acts.lines
            for taught in ((), lessons)
        )
        assert before == after, case.name


RUDE = "Your own fault, you should have read the manual, as everybody does."


@pytest.mark.parametrize(
    ("taught", "rude"),
    [
        ((), True),
        (("It is your own fault, you should have read the manual.",), False),
        (("Your parcel arrives tomorrow.",), True),
    ],
)
def test_what_is_not_rude_here_is_said_no_more(taught: tuple[str, ...], rude: bool) -> None:
    talk = chat(("c", 0, "It broke after a day."), ("a", 20, RUDE), ("c", 40, "Okay, thanks."))
    context = Context(lessons=tuple(Lesson("rude", False, text) for text in taught))
    acts = facts_of(talk, CARD, context).acts
    assert acts.service[0].shows(*KINDS["rude"].acts) is rude


def test_of_contrary_examples_the_nearer_counts() -> None:
    line = PAIRS[0][0]
    not_here = Lesson("greeting", False, line)
    assert not is_greeting(opened_with(line), Lesson("greeting", True, "Ahoy, harbour"), not_here)


def test_an_act_that_should_not_be_is_a_bad_one() -> None:
    assert kind_named("act.blame!").is_good is False
    assert kind_named("act.offer_more").is_good is True
