"""Rescoring: only the changed answers, and what depends on them, change."""

from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.judge.context import Context
from app.judge.rule_judge import RuleJudge
from app.judge.scoring.answers import Answer
from app.judge.scoring.rescoring import Unscorable, rescored
from tests.talks import GOOD_CALL, GOOD_CHAT, chat, scorecard

CARDS = {channel: scorecard(channel) for channel in ("chat", "voice")}
TALKS = {"chat": GOOD_CHAT, "voice": GOOD_CALL}


@cache
def results_of(channel: str) -> dict[str, Any]:
    return RuleJudge().judge(TALKS[channel], CARDS[channel], Context()).results


def human(score: float | None, *, unjudged: bool = False, estimate: float | None = None) -> Answer:
    return Answer(
        applicable=score is not None,
        explanation="",
        judged_by="human",
        score=score,
        unjudged=unjudged,
        estimate=estimate,
    )


@pytest.mark.parametrize("channel", CARDS)
def test_without_new_answers_nothing_moves(channel: str) -> None:
    back = rescored(results_of(channel), CARDS[channel], {})
    assert back.results == results_of(channel)


@given(st.data())
def test_the_engines_answers_bring_the_engines_score_back(data: st.DataObject) -> None:
    results, card = results_of("chat"), CARDS["chat"]
    criteria = {criterion["key"]: criterion for criterion in results["criteria"]}
    keys = data.draw(st.sets(st.sampled_from(sorted(criteria)), min_size=1, max_size=4))
    shares = st.sampled_from([0.0, 0.25, 0.5, 1.0])
    changed = rescored(results, card, {key: human(data.draw(shares)) for key in keys})
    originals = {
        key: human(
            criteria[key]["normalizedScore"],
            unjudged=criteria[key]["notJudged"],
            estimate=criteria[key]["estimate"],
        )
        for key in keys
    }
    back = rescored(changed.results, card, originals)
    for member in (
        *("score", "rawScore", "complianceScore", "coverage", "noVerdictReason", "band"),
        *("passed", "autoFail"),
    ):
        assert back.results[member] == results[member]
    assert [section["score"] for section in back.results["sections"]] == [
        section["score"] for section in results["sections"]
    ]
    for criterion in back.results["criteria"]:
        if criterion["key"] in keys:
            assert criterion["judgedBy"] == "human"
            assert criterion["original"]["judgedBy"] == criteria[criterion["key"]]["judgedBy"]
        else:
            assert criterion == criteria[criterion["key"]]


def test_what_a_person_finds_right_is_no_incident() -> None:
    mocking = chat(
        ("c", 0, "I can't find the button for the invoice."),
        ("a", 20, "Bravo. Shall I explain what a button is? Even a child can find it."),
        ("c", 40, "Sorry. Where is it?"),
        ("a", 60, "At the bottom, or is scrolling too hard for you? I sent the invoice by mail."),
        ("c", 80, "Thank you."),
    )
    found = RuleJudge().judge(mocking, CARDS["chat"], Context()).results
    assert "mocked" in str(found["coaching"])
    for right in (human(1.0), human(None)):
        answers = dict.fromkeys(("communication.conduct", "communication.courtesy"), right)
        assert "mocked" not in str(rescored(found, CARDS["chat"], answers).results["coaching"])
    kept = rescored(found, CARDS["chat"], {"communication.conduct": human(0.0)})
    assert "mocked" in str(kept.results["coaching"])


def test_a_failed_section_takes_its_points_along() -> None:
    back = rescored(results_of("voice"), CARDS["voice"], {"opening.verification": human(0.0)})
    opening = [
        criterion for criterion in back.results["criteria"] if criterion["section"] == "opening"
    ]
    assert {criterion["points"] for criterion in opening if criterion["applicable"]} == {0}
    assert back.results["autoFail"]["scope"] == "section"
    assert "opening.verification" in back.failed_criteria


def test_too_little_left_is_not_a_score() -> None:
    everything = {criterion.key: human(None) for criterion in CARDS["chat"].criteria}
    with pytest.raises(Unscorable, match="No criterion could be judged"):
        rescored(results_of("chat"), CARDS["chat"], everything)
