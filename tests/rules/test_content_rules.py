import pytest

from app.judge.context import Context
from app.judge.facts.conversation_facts import facts_of
from app.judge.rules.judging import answer
from app.judge.scoring.answers import Answer
from tests.talks import GOOD_CHAT, chat, scorecard

CARDS = {channel: scorecard(channel) for channel in ("voice", "chat", "voice_bot")}


def judge(channel: str, key: str, *lines: tuple[str, str]) -> Answer:
    card = CARDS[channel]
    transcript = chat(*((letter, None, text) for letter, text in lines))
    return answer(facts_of(transcript, card, Context()), card.criterion(key))


OPENING = (("c", "I want to move my lesson to Monday."), ("a", "Which lesson is that?"))
SMOOTH = (*OPENING, ("c", "The one at nine."), ("a", "It has been moved."), ("c", "Thanks."))


def test_completeness_is_high_where_nothing_is_in_the_way() -> None:
    result = judge("chat", "resolution.completeness", *SMOOTH)
    assert result.score >= 0.75
    assert result.explanation == "The agent did what was asked for."


def test_completeness_falls_with_each_obstacle_and_quotes_it() -> None:
    once = judge("chat", "resolution.completeness", *SMOOTH[:3], ("a", "I am unable to do that."))
    again = (("c", "Please try again."), ("a", "I could not change it."))
    twice = judge(
        "chat", "resolution.completeness", *SMOOTH[:3], ("a", "I am unable to do that."), *again
    )
    assert 1 > once.score > twice.score
    assert [item.quote for item in once.evidence] == ["I am unable to do that."]
    assert once.evidence[0].polarity == "contradicts"


def test_what_is_too_short_is_not_judged() -> None:
    result = judge("chat", "resolution.completeness", OPENING[0])
    assert result.applicable is False
    begun = judge("chat", "resolution.completeness", *OPENING)
    assert begun.explanation == "It ended while the agent was still asking about the request."


@pytest.mark.parametrize(
    "line", ["No, that is not right.", "I already told you that.", OPENING[0][1]]
)
def test_correcting_or_repeating_shows_that_the_need_was_missed(line) -> None:
    result = judge("chat", "discovery.understanding", *OPENING, ("c", line), ("a", "I see."))
    assert (result.answer, result.score) == (1, 0.5)
    assert result.evidence


def test_nothing_repeated_is_understood() -> None:
    assert judge("chat", "discovery.understanding", *SMOOTH).score == 1


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ("I am sorry to hear that, let me see.", 1.0),
        ("I do apologise.", 0.5),
        ("What is your number?", 0.0),
    ],
)
def test_a_voiced_problem_wants_to_be_acknowledged(reply, score) -> None:
    lines = (("c", "My parcel arrived damaged and I'm so annoyed."), ("a", reply))
    assert judge("chat", "communication.empathy", *lines).score == score


def test_empathy_does_not_apply_without_a_problem() -> None:
    assert judge("chat", "communication.empathy", *SMOOTH).applicable is False


def test_a_bot_is_respectful_when_courteous_and_never_abusive() -> None:
    assert judge("voice_bot", "tone.respect", ("b", "Hello, thank you."), ("c", "Hi.")).worth >= 0.9
    assert judge("voice_bot", "tone.respect", ("b", "You are an idiot."), ("c", "Hi.")).score == 0


def test_a_need_is_listened_to_when_it_is_confirmed() -> None:
    lines = (*SMOOTH[:3], ("a", "Just to confirm, nine on Monday?"), ("c", "Yes, thanks."))
    result = judge("voice", "discovery.listening", *lines)
    assert result.score == 1
    assert "confirmed" in result.explanation


def test_the_score_of_a_good_chat_stays_full() -> None:
    card = CARDS["chat"]
    facts = facts_of(GOOD_CHAT, card, Context())
    scores = {item.key: answer(facts, item).score for item in card.criteria}
    # How far a request was fulfilled is an estimate, which is never quite full.
    assert scores.pop("resolution.completeness") > 0.8
    assert {score for score in scores.values() if score is not None} == {1.0}


@pytest.mark.parametrize(
    ("told", "reply"),
    [
        ("Would you like a taxi as well?", "No, I don't need one."),
        ("Please confirm: the lesson at nine.", "No, I meant the one at ten."),
        ("I could not move it.", OPENING[0][1]),
        ("It is on Tuesday.", "Are you sure? Could you double check?"),
    ],
)
def test_declining_amending_or_trying_again_is_not_a_misunderstanding(told, reply) -> None:
    lines = (*OPENING, ("c", "The one at nine."), ("a", told), ("c", reply), ("a", "I see."))
    assert judge("chat", "discovery.understanding", *lines).score == 1


def test_who_is_talked_over_has_to_repeat() -> None:
    lines = (*OPENING, ("c", "Wait, I was not finished, I asked whether it is far."), ("a", "No."))
    assert judge("voice_bot", "understanding.intent", *lines).score == 0.5


def test_a_conversation_of_nothing_but_abuse_is_judged() -> None:
    result = judge("chat", "resolution.completeness", ("a", "You are an idiot."))
    assert result.explanation == "Not judged: the conversation is too short."
