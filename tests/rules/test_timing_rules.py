from dataclasses import replace

import pytest

from app.judge.context import Context
from app.judge.facts.conversation_facts import facts_of
from app.judge.rules.judging import answer
from app.judge.scorecard.values import Scorecard
from app.judge.scoring.answers import Answer
from app.transcript import Transcript
from tests.talks import GOOD_CALL, call, chat, scorecard, with_words, words

VOICE, CHAT = scorecard("voice"), scorecard("chat")


def judge(key: str, transcript: Transcript, card: Scorecard = VOICE, **known) -> Answer:
    return answer(facts_of(transcript, card, Context(**known)), card.criterion(key))


def test_an_announced_hold_is_not_dead_air() -> None:
    result = judge("control.hold_silence", GOOD_CALL)
    assert result.score == 1
    assert result.evidence[0].quote == "Thank you, please hold on while I look that up."


def test_unexplained_dead_air_fails_with_what_was_said_before_it() -> None:
    lines = call(("a", 0, 2_000, "Well."), ("c", 12_000, 13_000, "Hello?"))
    result = judge("control.hold_silence", lines)
    assert result.score == 0
    assert result.explanation == (
        "The line was silent once for 10.0 seconds without explanation (limit: 10)."
    )
    assert [item.quote for item in result.evidence] == ["Well."]


def test_hold_and_silence_do_not_apply_without_either() -> None:
    assert (
        judge(
            "control.hold_silence", call(("a", 0, 900, "Well."), ("c", 950, 990, "Yes."))
        ).applicable
        is False
    )


@pytest.mark.parametrize(
    ("count", "interrupting", "score"), [(150, 0, 1), (150, 2, 0.5), (400, 0, 0.5), (400, 2, 0)]
)
def test_pace_needs_a_calm_and_patient_agent(count, interrupting, score) -> None:
    lines = [("a", 0, 60_000, words(count))]
    for index in range(interrupting):
        start = 70_000 + 10_000 * index
        lines.append(("c", start, start + 3_000, words(9)))
        lines.append(("a", start + 2_000, start + 4_000, words(4)))
    assert judge("communication.pace", with_words(call(*lines))).score == score


def test_pace_is_not_failed_on_the_times_of_turns_alone() -> None:
    lines = call(("a", 0, 60_000, words(400)), ("c", 60_000, 61_000, "Oh."))
    assert judge("communication.pace", with_words(lines)).score == 0.5
    answer = judge("communication.pace", lines)
    assert answer.score is None
    assert answer.unjudged
    assert "times of turns only" in answer.explanation


def test_pace_needs_a_minute_of_the_agent() -> None:
    lines = call(("a", 0, 59_999, words(150)), ("c", 60_000, 61_000, "Oh."))
    assert judge("communication.pace", lines).applicable is False


@pytest.mark.parametrize(("seconds", "score"), [(60, 1), (61, 0.5), (180, 0.5), (181, 0)])
def test_the_first_response_has_a_full_and_a_half_limit(seconds, score) -> None:
    lines = chat(("c", 0, "Hello."), ("a", seconds, "Hi."))
    assert judge("responsiveness.first_response", lines, CHAT).score == score


@pytest.mark.parametrize(("seconds", "score"), [(120, 1), (300, 0.5), (301, 0)])
def test_reply_times_have_a_full_and_a_half_limit(seconds, score) -> None:
    lines = chat(("c", 0, "Hello."), ("a", seconds, "Hi."))
    assert judge("responsiveness.gaps", lines, CHAT).score == score
    for key in ("responsiveness.first_response", "responsiveness.gaps"):
        assert judge(key, lines, CHAT, asynchronous=True).applicable is False


@pytest.mark.parametrize(("hours", "score"), [(4, 1), (23, 0.5), (25, 0)])
def test_mail_is_judged_by_limits_of_hours(hours, score) -> None:
    lines = chat(("c", 0, "Hello."), ("a", hours * 3600, "Hi."))
    card = scorecard("chat")
    key = "responsiveness.first_response"
    limits = {"fullSeconds": 4 * 3600, "halfSeconds": 24 * 3600}
    own = replace(card.criterion(key), parameters=limits)
    result = answer(facts_of(lines, card, Context(asynchronous=True)), own)
    assert result.score == score
    assert f"came after {hours} hours (target: 4 hours, tolerated: 24 hours)" in result.explanation
