"""Judgements that fit each other, and evidence that shows what the explanation says."""

from typing import Any

import pytest

from app.ai.context import Context
from app.ai.rule_judge import RuleJudge
from tests.talks import chat, scorecard

CARD = scorecard("chat")
GREETED = [("c", "Hello, I need a new bank card."), ("a", "Hello, which card is it?")]


def judge(*lines: tuple[str, str]) -> dict[str, Any]:
    transcript = chat(*((letter, 20 * i, text) for i, (letter, text) in enumerate(lines)))
    return RuleJudge().judge(transcript, CARD, Context()).results


def criterion(results: dict[str, Any], key: str) -> dict[str, Any]:
    return next(item for item in results["criteria"] if item["key"] == key)


def quotes(found: dict[str, Any]) -> list[str]:
    return [item["quote"] for item in found["evidence"]]


def test_a_failure_that_was_made_up_for_is_told_as_such_and_the_solution_as_confirmed() -> None:
    results = judge(
        ("c", "Hi, please change my delivery to Saturday."),
        ("a", "I'm sorry, I was unable to change the delivery, the page has crashed."),
        ("c", "Could you give it another go?"),
        ("a", "I have changed the delivery to Saturday now."),
        ("c", "Thank you, that is kind."),
        ("a", "You are welcome, goodbye."),
    )
    assert results["resolution"]["status"] == "resolved"
    completeness = criterion(results, "resolution.completeness")
    assert completeness["explanation"] == "The agent could not do what was asked at first."
    assert criterion(results, "resolution.confirmed")["answer"] == "yes"


def test_what_fails_after_something_was_done_leaves_a_part_open() -> None:
    results = judge(
        ("c", "I need a new name on my account, and the fee of March back."),
        ("a", "Sure, could you tell me the new name please?"),
        ("c", "It is Ada Novak."),
        ("a", "I've updated your name. But I am unable to pay back the fee, sorry."),
        ("c", "Okay."),
        ("a", "Anything else I can do for you?"),
        ("c", "no"),
        ("a", "Goodbye."),
    )
    assert results["resolution"]["status"] == "partially_resolved"
    assert quotes(results["resolution"]) == [
        "I've updated your name.",
        "But I am unable to pay back the fee, sorry.",
    ]


def test_thanks_without_a_solution_are_told_apart_from_silence() -> None:
    found = judge(
        *GREETED,
        ("c", "The blue one."),
        ("a", "I'm sorry, I couldn't find any blue card."),
        ("c", "Okay, thanks."),
        ("a", "Goodbye."),
    )
    assert criterion(found, "resolution.confirmed")["answer"] == "no"
    assert criterion(found, "resolution.confirmed")["explanation"] == (
        "The customer said thank you, but nobody asked or said whether the problem is solved."
    )


def test_a_granted_wish_to_be_left_alone_is_resolved_however_angry_it_was() -> None:
    found = judge(
        ("a", "Good evening, this is Ivo from Brightglass, I am calling about new windows."),
        ("c", "Not again! Stop calling me and take me off your list!"),
        ("a", "I have removed your number from our list, you will not be called again. Goodbye."),
    )["resolution"]
    assert found["status"] == "resolved"
    assert 0.5 <= found["probability"] <= 1
    assert found["explanation"].endswith("and the agent confirmed it.")


def test_a_last_request_for_somebody_else_is_not_resolved_by_its_thanks() -> None:
    results = judge(
        ("c", "Hi, can you waive the fee for my late payment?"),
        ("a", "Under our policy the fee cannot be waived. I could connect you to a colleague."),
        ("c", "Please let me talk to a supervisor then, thank you!"),
    )
    assert results["resolution"]["status"] != "resolved"
    assert criterion(results, "resolution.confirmed")["answer"] != "yes"


def test_a_reply_that_did_not_help_is_shown_by_the_customer_s_words() -> None:
    found = criterion(
        judge(
            ("c", "How do I use the voucher of my order?"),
            ("a", "Hi, this is Nele from Papershop. Vouchers apply to carts of the second tier."),
            ("c", "What do you mean? I don't understand that."),
            ("a", "You can use it once your cart is above 20 euros."),
            ("c", "Ah okay, thanks."),
            ("a", "You are welcome."),
        ),
        "discovery.understanding",
    )
    assert found["explanation"] == "The customer had to ask what a reply meant or left out."
    assert quotes(found)[0].startswith("What do you mean?")


@pytest.mark.parametrize(
    "sentence",
    [
        "Your visit to Dr. Okoro is booked.",
        "I have booked you with Mrs. Lind at 4 p.m. on Friday.",
        "Your form, i.e. form No. 7, has been sent.",
    ],
)
def test_an_abbreviation_ends_no_quote(sentence: str) -> None:
    results = judge(
        *GREETED,
        ("c", "The one of my current account."),
        ("a", f"Thank you for waiting. {sentence} Have a look at it."),
        ("c", "Thank you so much!"),
        ("a", "Goodbye."),
    )
    assert results["summary"]["outcome"] == sentence
