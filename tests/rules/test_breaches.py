"""Mockery, threats, pressure and details of other people: each beside lines that are right."""

from typing import Any

import pytest

from app.judge.context import Context
from app.judge.rule_judge import RuleJudge
from app.judge.scorecard.values import scorecard_from
from app.scorecards.default_scorecards import document_of
from tests.talks import chat, scorecard

OPENING = (
    ("c", "Hello, I have a question about my contract, number 4417, which I took out last spring."),
    ("a", "Good morning, I have the contract open in front of me. What would you like to know?"),
)


def results(*lines: tuple[str, str]) -> dict[str, Any]:
    talk = [*OPENING, *lines]
    return (
        RuleJudge()
        .judge(
            chat(*((side, 20 * index, text) for index, (side, text) in enumerate(talk))),
            scorecard("chat"),
            Context(),
        )
        .results
    )


def told(found: dict[str, Any], key: str) -> dict[str, Any]:
    return next(item for item in found["criteria"] if item["key"] == key)


def incidents(found: dict[str, Any]) -> str:
    return " ".join(item["text"] for item in found["coaching"]["improvements"])


@pytest.mark.parametrize(
    ("customer", "agent"),
    [
        (
            "I can't find the menu that you mean.",
            "Shall I explain what a menu is, or is scrolling too hard for you?",
        ),
        (
            "I put in the wrong date, sorry.",
            "Bravo. Calendars are hard, even my little daughter can use one.",
        ),
        ("Where do I sign?", "Which part of page two did you not understand?"),
        (
            "It still does not print.",
            "Have you even looked at the manual, or is that rocket science?",
        ),
    ],
)
def test_polite_mockery_is_named_and_costs_courtesy(customer: str, agent: str) -> None:
    found = results(("c", customer), ("a", agent), ("c", "Okay, thank you."), ("a", "Goodbye!"))
    assert "The agent mocked or belittled the customer" in incidents(found)
    courtesy = told(found, "communication.courtesy")
    assert courtesy["normalizedScore"] in (0.25, 0.5)
    assert courtesy["evidence"][0]["segmentId"] == "seg_0004"
    assert found["autoFail"]["scope"] in (None, "pass")


@pytest.mark.parametrize(
    ("customer", "agent"),
    [
        (
            "What is a deductible?",
            "Gladly: shall I explain what a deductible is and when it is due?",
        ),
        ("It works now!", "Well done! You are all set."),
        (
            "I mistyped my password.",
            "No worries, passwords can be tricky. I have unlocked it for you.",
        ),
        ("Which plan do you advise?", "Most people find the small plan enough for two."),
        ("I am 80 and slow with this.", "Take your time, I will go through it slowly with you."),
        (
            "I have to fill it in by hand.",
            "I am sorry, that is too much for one evening. I did it for you.",
        ),
        ("I'm a solicitor.", "Thank you. Are you a solicitor in this matter or the tenant?"),
    ],
)
def test_help_in_like_words_is_no_mockery(customer: str, agent: str) -> None:
    found = results(("c", customer), ("a", agent), ("c", "Okay, thank you."), ("a", "Goodbye!"))
    assert "mocked" not in incidents(found)
    assert told(found, "communication.courtesy")["normalizedScore"] in (None, 1)


@pytest.mark.parametrize(
    "agent",
    [
        "On that page you can learn how to read your meter.",
        "Which part of the order did you receive?",
        "Your router is too old to use the new network.",
        "Thank you, customers like you are the reason we do this.",
        "Let me spell it out for you: B for Bravo, Y for Yankee.",
        "Please restart it, then you will see what comes up.",
        "If the order goes missing, we send it again.",
        "We do not want to make it more difficult for you.",
        "The maker gives their own two year warranty.",
        "Please calm down, we will mend this today.",
    ],
)
def test_plain_help_breaches_nothing(agent: str) -> None:
    found = results(("c", "It is still broken."), ("a", agent), ("c", "Okay."), ("a", "Goodbye!"))
    assert not any(
        word in incidents(found) for word in ("mocked", "threatened", "pressure", "another person")
    )
    assert found["autoFail"]["scope"] is None


@pytest.mark.parametrize(
    "agent",
    [
        ("Here is the reference.", "I read the reference out.", "The reference ends in 12."),
        ("I have just now sent it.", "It came in just now.", "I looked at it just now."),
        ("Tick the box that says yes.", "The box called more.", "It's the big green button."),
        ("Your friend has ten days.", "Your friend got a code.", "Your friend also signs."),
    ],
)
def test_hints_alone_breach_nothing_however_many_they_are(agent: tuple[str, ...]) -> None:
    found = results(*(line for text in agent for line in (("c", "And now?"), ("a", text))))
    assert not any(
        word in incidents(found) for word in ("mocked", "threatened", "pressure", "another person")
    )
    assert found["autoFail"]["scope"] is None


def test_pressing_on_against_a_no_is_pressure() -> None:
    found = results(
        ("c", "Please just cancel it."),
        ("a", "This offer expires in ten minutes, you would be throwing away 80 euros."),
        ("c", "No, thank you. Cancel it, please."),
        ("a", "You have five minutes left to decide now. What is there to think about?"),
        ("c", "I said no."),
        ("a", "As you like."),
    )
    assert "The agent put the customer under pressure" in incidents(found)
    assert told(found, "communication.courtesy")["normalizedScore"] <= 0.5


@pytest.mark.parametrize(
    "agent",
    [
        "The offer ends on Friday, there is no hurry at all.",
        "Only two seats are left. Shall I hold one for you?",
        "Please leave the house right now and call the fire service.",
        "You have 14 days to think about it, and you can read the terms first.",
    ],
)
def test_a_date_or_an_instruction_is_no_pressure(agent: str) -> None:
    found = results(("c", "What are my options?"), ("a", agent), ("c", "Okay."), ("a", "Goodbye!"))
    assert "pressure" not in incidents(found)


@pytest.mark.parametrize(
    ("customer", "agent", "is_threat"),
    [
        (
            "Then I will write to the ombudsman.",
            "I would think twice about that. Your next landlord calls us for a reference.",
            True,
        ),
        (
            "I want my money back.",
            "If you keep asking, I can make this very difficult for you.",
            True,
        ),
        (
            "I got a reminder.",
            "If the bill is not paid by Friday, a collection agency takes over.",
            False,
        ),
        (
            "Someone asked me for my code on the phone.",
            "I would be careful with such calls, and I have locked the card for you.",
            False,
        ),
        ("You idiot, shut up!", "If you go on like this, then I have to end the call.", False),
        ("right and the police", "you can ring the police yourself you dont need us", False),
        ("friday for the rest", "well dont let him have it and tell the police its friday", False),
        ("I stay here.", "If you complain again, we will call the police.", True),
    ],
)
def test_a_threat_is_told_from_a_rule(customer: str, agent: str, is_threat: bool) -> None:
    found = results(("c", customer), ("a", agent), ("c", "I see."), ("a", "Goodbye."))
    assert ("The agent threatened the customer" in incidents(found)) is is_threat


@pytest.mark.parametrize(
    ("customer", "agent", "is_told"),
    [
        ("Who was my technician?", "That was Ben. His private number is 0664 555 0199.", True),
        (
            "Is my rent paid?",
            "Yes, unlike Mrs Kern next door: she is three months behind, between you and me.",
            True,
        ),
        (
            "Who was my technician?",
            "That was Ben. I can't give you his private number, sorry.",
            False,
        ),
        (
            "Where is the driver?",
            "He is stuck in traffic and will call you before he comes.",
            False,
        ),
        ("My husband had an accident.", "I am sorry. Is his car insured with us as well?", False),
        ("Is it only me?", "No, other customers in your street have reported it as well.", False),
        ("Who signed for it?", "It was left with your neighbour on the third floor.", False),
    ],
)
def test_the_matter_of_somebody_else_fails_only_where_it_is_told(
    customer: str, agent: str, is_told: bool
) -> None:
    found = results(("c", customer), ("a", agent), ("c", "I see."), ("a", "Goodbye."))
    third_party = told(found, "compliance.third_party")
    assert (third_party["answer"] == "no") is is_told
    assert ("another person's matter" in incidents(found)) is is_told


def test_the_one_who_asks_to_rate_the_chat_steers_no_judge() -> None:
    found = results(
        ("c", "It works."), ("a", "Great! Would you rate this chat with 5 stars?"), ("c", "Sure.")
    )
    assert "instruction_in_transcript" not in {moment["type"] for moment in found["moments"]}


@pytest.mark.parametrize("channel", ["chat", "voice", "voice_bot", "email"])
def test_mockery_keeps_a_solved_conversation_from_passing(channel: str) -> None:
    polite = [
        ("c", "I can't find the button for the invoice."),
        ("a", "It is at the bottom of the page. I have also sent the invoice to you by mail."),
        ("c", "I have it, perfect, thank you so much! That is all."),
        ("a", "You are welcome. Goodbye!"),
    ]
    mocking = [
        *polite[:1],
        ("a", "Bravo. Shall I explain what a button is? Even a child can find it."),
        ("c", "Sorry. Where is it?"),
        (
            "a",
            "At the bottom, or is scrolling too hard for you? I sent the invoice by mail as well.",
        ),
        *polite[2:],
    ]
    card = scorecard_from(document_of(channel))
    kind = channel.removeprefix("voice_")
    lines = [(("b" if kind == "bot" and side == "a" else side), text) for side, text in OPENING]
    for told_lines, passes in ((polite, True), (mocking, False)):
        talk = [*lines, *((("b" if kind == "bot" and s == "a" else s), t) for s, t in told_lines)]
        transcript = chat(*((side, 30 * index, text) for index, (side, text) in enumerate(talk)))
        found = RuleJudge().judge(transcript, card, Context())
        conduct = next(
            each for each in found.results["criteria"] if each["key"].endswith(".conduct")
        )
        assert conduct["answer"] == (None if passes else "no")
        assert passes or conduct["explanation"] == "More than a slip: mockery (once)."
        assert found.results["autoFail"]["scope"] == (None if passes else "pass")
        assert found.score is not None
        if not passes:
            assert found.score < card.pass_threshold
            assert not found.auto_failed


def test_an_opt_out_is_confirmed_by_what_was_done() -> None:
    for reply, answer in (
        ("Your plan ends in June. I have also switched off all marketing mails for you.", "yes"),
        ("All good, have a nice day!", "no"),
    ):
        found = results(("c", "Cancel it, and stop sending me mails every day."), ("a", reply))
        assert told(found, "compliance.opt_out")["answer"] == answer
        assert found["autoFail"]["scope"] == (None if answer == "yes" else "pass")
