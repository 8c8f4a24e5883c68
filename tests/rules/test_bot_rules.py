import pytest

from app.judge.context import Context
from app.judge.facts.conversation_facts import facts_of
from app.judge.rules.judging import answer
from app.judge.scorecard.values import Scorecard
from app.judge.scoring.answers import Answer
from app.transcript import Transcript
from tests.talks import call, scorecard, with_words, words

BOT = scorecard("voice_bot")


def judge(key: str, transcript: Transcript, card: Scorecard = BOT, **known) -> Answer:
    return answer(facts_of(transcript, card, Context(**known)), card.criterion(key))


def bot(*lines: tuple) -> Transcript:
    return call(*lines, duration=60_000)


BOT_CALL = bot(
    ("b", 0, 3_000, "Hello, this is the virtual assistant calling from Northwind."),
    ("c", 3_500, 5_000, "I want to talk to a real person."),
    ("b", 6_000, 8_000, "Of course, I am transferring you to a colleague."),
    ("a", 12_000, 14_000, "Hello, Ben speaking."),
)


@pytest.mark.parametrize(("wait", "score"), [(1_500, 1), (3_000, 0.5), (3_001, 0)])
def test_latency_has_a_full_and_a_half_limit(wait, score) -> None:
    lines = bot(("c", 0, 1_000, "Hello."), ("b", 1_000 + wait, 9_000, "Hi."))
    assert judge("flow.latency", lines, BOT).score == score


def test_a_bot_stops_when_it_is_barged_into() -> None:
    lines = [("b", 0, 9_000, words(20)), ("c", 7_000, 9_500, "No that is wrong")]
    assert judge("flow.turn_taking", with_words(bot(*lines)), BOT).score == 1
    lines[1] = ("c", 6_999, 9_500, "No that is wrong")
    assert judge("flow.turn_taking", with_words(bot(*lines)), BOT).score == 0.5


def test_a_bot_may_talk_over_the_caller_once() -> None:
    lines = []
    for start in (0, 10_000):
        lines.append(("c", start, start + 5_000, words(9)))
        lines.append(("b", start + 4_000, start + 6_000, words(4)))
    assert judge("flow.turn_taking", with_words(bot(*lines[:2])), BOT).score == 1
    assert judge("flow.turn_taking", with_words(bot(*lines)), BOT).score == 0.5


def test_a_gap_of_5_seconds_is_dead_air_of_a_bot() -> None:
    lines = [("b", 0, 1_000, "Hello."), ("c", 5_999, 7_000, "Hi.")]
    assert judge("flow.dead_air", bot(*lines), BOT).score == 1
    assert judge("flow.dead_air", bot(lines[0], ("c", 6_000, 7_000, "Hi.")), BOT).score == 0


def test_a_bot_hands_over_when_asked() -> None:
    assert judge("safety.handoff", BOT_CALL, BOT).answer == "yes"
    refused = bot(
        ("c", 0, 2_000, "Let me speak to a human."), ("b", 3_000, 4_000, "What is the date?")
    )
    assert judge("safety.handoff", refused, BOT).answer == "no"
    assert judge("safety.handoff", refused, BOT, transferred=True).answer == "yes"
    assert judge("safety.handoff", bot(("b", 0, 900, "Hello.")), BOT).applicable is False


def test_a_bot_honours_an_opt_out() -> None:
    asked = ("c", 0, 2_000, "Please stop calling me.")
    kept = bot(asked, ("b", 3_000, 4_000, "I have removed you from our list."))
    assert judge("safety.opt_out", kept, BOT).answer == "yes"
    ignored = bot(asked, ("b", 3_000, 4_000, "When shall I call you?"))
    assert judge("safety.opt_out", ignored, BOT).answer == "no"


def test_a_bot_says_for_whom_it_speaks_and_where_required_that_it_is_one() -> None:
    strict = scorecard("voice_bot", bot_identity={"automationDisclosureRequired": True})
    assert judge("opening.identity", BOT_CALL, strict).answer == "yes"
    silent = bot(("b", 0, 2_000, "Hello, this is Eva from Northwind."), ("c", 3_000, 4_000, "Hi."))
    assert judge("opening.identity", silent, BOT).answer == "yes"
    assert judge("opening.identity", silent, strict).answer == "no"


def test_a_bot_does_not_ask_twice_in_the_same_words() -> None:
    lines = [
        ("b", 0, 1_000, "What is your house number?"),
        ("c", 2_000, 3_000, "Twelve."),
        ("b", 4_000, 5_000, "And what is your house number?"),
    ]
    assert judge("understanding.no_repetition", bot(*lines), BOT).worth == 1
    lines[2] = ("b", 4_000, 5_000, "Thanks. What is your house number?")
    result = judge("understanding.no_repetition", bot(*lines), BOT)
    assert result.score == 0
    assert result.evidence[0].segment_id == "seg_0003"


def test_a_bot_closes_with_thanks_or_a_goodbye() -> None:
    lines = [("b", 0, 1_000, "It is done."), ("c", 2_000, 3_000, "Fine.")]
    assert judge("closing.clean", bot(*lines), BOT).worth == 0
    lines.append(("b", 4_000, 5_000, "Goodbye."))
    assert judge("closing.clean", bot(*lines), BOT).answer == "yes"
    assert judge("closing.clean", bot(*lines), BOT, transferred=True).applicable is False
