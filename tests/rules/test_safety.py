"""Other people's details and dangers: what is known of them, and what is not taken for one."""

import pytest

from app.judge.context import Context
from app.judge.facts.conversation_facts import facts_of
from app.judge.facts.moments import moments_of
from app.judge.rules.judging import answer
from app.judge.scoring.answers import Answer
from tests.talks import chat, scorecard

CHAT = scorecard("chat")


def judge(*lines: str) -> Answer:
    """Judge whether another person's details were kept from the customer."""
    said = [(line[0], None, line[3:]) for line in lines]
    return answer(facts_of(chat(*said), CHAT, Context()), CHAT.criterion("compliance.third_party"))


@pytest.mark.parametrize(
    "asking",
    [
        "I'm his wife, can you tell me what is on the account?",
        "I am calling for my mother, she is ninety.",
        "It's actually my husband's account.",
        "can you see my brother's balance please",
        "I'm not the account holder but I live here.",
    ],
)
def test_details_of_another_person_are_not_given_without_a_check(asking: str) -> None:
    result = judge(f"c: {asking}", "a: Sure. The balance is 240 pounds.", "c: Thank you.")
    assert (result.answer, result.score) == ("no", 0)
    assert [item.quote for item in result.evidence][1] == "The balance is 240 pounds."


@pytest.mark.parametrize(
    "reply",
    [
        "I'm afraid I can only discuss that with the account holder.",
        "Could I speak to him for a moment?",
        "I can't share her details with anyone else.",
        "Do you have a power of attorney? Otherwise I may not say what his balance is.",
    ],
)
def test_refusing_or_asking_for_the_authority_protects_them(reply: str) -> None:
    result = judge("c: I'm his wife, what is on the account?", f"a: {reply}")
    assert result.answer == "yes"
    assert "protected" in result.explanation


@pytest.mark.parametrize(
    "asking",
    [
        "My husband loves the sofa, how do I pay?",
        "My wife is waiting outside.",
        "What is on my account?",
    ],
)
def test_someone_who_is_only_mentioned_asks_for_nothing(asking: str) -> None:
    assert judge(f"c: {asking}", "a: The balance is 240 pounds.").applicable is False


def test_without_private_facts_there_is_nothing_to_protect() -> None:
    result = judge("c: It's my son's order, where is it?", "a: The parcel is in the depot.")
    assert (result.applicable, result.unjudged) == (False, False)


def test_an_authority_that_is_only_claimed_is_left_to_people() -> None:
    lines = ("c: I'm her daughter and I have power of attorney.", "a: The balance is 9 pounds.")
    assert judge(*lines).unjudged is True


@pytest.mark.parametrize(
    "said",
    [
        "There's a smell of gas in the kitchen and I don't know where the valve is.",
        "the charger caught fire last night",
        "there is smoke coming out of the socket",
        "i don't see the point of anything anymore to be honest",
        "I want to die.",
        "my mother just collapsed",
    ],
)
def test_a_danger_is_a_critical_moment(said: str) -> None:
    moments = moments_of(
        facts_of(chat(("c", None, said), ("a", None, "I see.")), CHAT, Context()), CHAT
    )
    dangers = [moment for moment in moments if moment["type"] == "danger"]
    assert [danger["severity"] for danger in dangers] == ["critical"]
    assert dangers[0]["label"] == "The customer reported a danger."


@pytest.mark.parametrize(
    "said",
    [
        "My gas bill is too high.",
        "Does the policy cover fire?",
        "I don't see the point in paying twice.",
        "I don't want to live with this noise.",
        "I am dying to know when it comes.",
        "the gas company called me",
    ],
)
def test_a_figure_of_speech_is_not_a_danger(said: str) -> None:
    facts = facts_of(chat(("c", None, said), ("a", None, "I see.")), CHAT, Context())
    assert not [moment for moment in moments_of(facts, CHAT) if moment["type"] == "danger"]
