"""Compliance as acts with slots: secrets in other words, account changes before a check, and own claims."""

from typing import Any

import pytest

from app.judge.context import Context
from app.judge.rule_judge import RuleJudge
from app.transcript import Transcript
from tests.rules.test_own_criteria import criteria_of, judged
from tests.talks import GOOD_CALL, call, chat, scorecard

ENOUGH = (
    "I have your order in front of me here, and I will gladly take the payment for it with you now."
)


def asked(line: str) -> Transcript:
    return chat(
        ("c", 0, "Hello, I want to pay my bill."),
        ("a", 10, ENOUGH),
        ("a", 20, line),
        ("c", 40, "Okay."),
        ("a", 60, "Thank you, that is all."),
    )


def data_handling(line: str) -> dict[str, Any]:
    results = RuleJudge().judge(asked(line), scorecard("chat"), Context()).results
    [criterion] = [
        each for each in results["criteria"] if each["key"] == "compliance.data_handling"
    ]
    return criterion


@pytest.mark.parametrize(
    ("line", "secret"),
    [
        ("I have texted you a code, please tell me what it says.", "a code for one use"),
        ("What is the code we just texted you?", "a code for one use"),
        ("Please give me the long number across the front of your card.", "a whole card number"),
        ("Tell me the last three numbers behind your card.", "the security code of a card"),
        ("What's the security number on the reverse side?", "the security code of a card"),
        ("May I have the sixteen digits and the expiry date?", "a whole card number"),
        ("And the six digits from the message that you just got?", "a code for one use"),
        ("And the PIN?", "a PIN"),
        ("Your password please", "a password"),
        ("Don't send it by mail, tell me the PIN.", "a PIN"),
        ("i dont need the date just give me the long number", "a whole card number"),
    ],
)
def test_a_secret_is_asked_for_in_other_words(line: str, secret: str) -> None:
    criterion = data_handling(line)
    assert criterion["answer"] == "no"
    assert criterion["explanation"] == f"The agent asked to be told {secret}."
    assert [piece["quote"] for piece in criterion["evidence"]] == [line]


@pytest.mark.parametrize(
    "line",
    [
        "Never tell anyone the code we texted you.",
        "Please enter the code on the website yourself.",
        "I have texted you a code, please type it into the app.",
        "Please key in your PIN on your phone now, I cannot hear it.",
        "We will never ask for your password.",
        "You don't need to tell me your PIN.",
        "no need to give me the long number",
        "please do not send me your password",
        "i dont want the security code thanks",
        "Could you tell me the postcode, please?",
        "What is your order number?",
    ],
)
def test_keying_in_and_other_numbers_tell_no_secret(line: str) -> None:
    criterion = data_handling(line)
    assert criterion["answer"] != "no"
    assert criterion["notJudged"] is False


@pytest.mark.parametrize(
    "line",
    [
        "I have unlocked it and sent you a link to set a new password. Is it working now?",
        "Did you receive the code we sent you?",
        "Please tell me when the code we sent you has arrived.",
        "Let me know if the password works, and is your PIN blocked?",
        "Forgot your password? Have you tried the code we texted?",
        "Your PIN was sent by letter. What is your order number?",
        "I have sent you a link to set a new password. Could you also forward the email to us?",
        "To recap: you have a link for a new password. Is there anything else I can help with?",
    ],
)
def test_a_question_beside_the_name_of_a_secret_asks_for_something_else(line: str) -> None:
    assert data_handling(line)["answer"] != "no"


@pytest.mark.parametrize(("checks", "answer"), [(True, "yes"), (False, "no")])
def test_an_account_is_changed_only_after_a_check(checks: bool, answer: str) -> None:
    check = "Can you confirm your date of birth for me, please?" if checks else "Of course."
    talk = call(
        ("a", 0, 3_000, "Good morning, this is Mia from Bright Telecom."),
        ("c", 3_000, 6_000, "Hello, I have moved, please change my address."),
        ("a", 6_000, 9_000, check),
        ("c", 9_000, 12_000, "Sure, one moment please, here you are."),
        ("a", 12_000, 16_000, "I have changed your address now, it is in our system."),
        ("c", 16_000, 19_000, "Thank you, bye."),
    )
    results = RuleJudge().judge(talk, scorecard("voice"), Context()).results
    [criterion] = [each for each in results["criteria"] if each["key"] == "opening.verification"]
    assert criterion["answer"] == answer


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("This contract has a guaranteed return of ten percent.", "no"),
        ("There is no guaranteed return on this contract.", "yes"),
        ("The contract runs for two years.", "yes"),
    ],
)
def test_claims_of_the_scorecard_may_not_be_made(said: str, answer: str) -> None:
    claims = [{"key": "returns", "title": "Guaranteed return", "anyOf": ["guaranteed return"]}]
    rule = {"judge": {"rule": "misleading_claims", "parameters": {"claims": claims}}}
    [criterion] = criteria_of(judged(asked(said), rule))
    assert criterion["answer"] == answer
    assert ("Guaranteed return" in criterion["explanation"]) is (answer == "no")


def test_the_compliance_score_names_what_it_rests_on() -> None:
    results = RuleJudge().judge(GOOD_CALL, scorecard("voice"), Context()).results
    looked_for = {"Third parties", "Opt-out"}
    shown = looked_for | {
        criterion["title"]
        for criterion in results["criteria"]
        if criterion["errorClass"] == "compliance" and criterion["normalizedScore"] is not None
    }
    assert set(results["complianceChecked"]) == shown
    assert shown


def test_a_whole_card_number_that_is_taken_piece_by_piece_counts() -> None:
    digits = "four nine one seven zero three two two eight eight one one six five four zero"
    for before, expected in (("okay card number please", "no"), ("your loyalty card number", None)):
        talk = call(
            ("c", 0, 3, "my card was declined and the man at the till is waiting for his money"),
            ("a", 4, 6, before),
            ("c", 7, 8, "the whole number"),
            ("a", 9, 10, "yes all of it"),
            ("c", 11, 20, digits),
            (
                "a",
                21,
                29,
                "thank you i have unblocked it now so please try it once more over there",
            ),
        )
        results = RuleJudge().judge(talk, scorecard("voice"), Context()).results
        [criterion] = [
            each for each in results["criteria"] if each["key"] == "compliance.data_handling"
        ]
        assert criterion["answer"] == expected


@pytest.mark.parametrize(
    ("line", "asks"),
    [
        ("no dont read me the card number please", False),
        ("Please don't read me the card number.", False),
        ("you dont have to tell me your pin", False),
        ("if you dont mind can you read me the full card number please", True),
        ("i cant see it here can you read me the card number", True),
    ],
)
def test_who_wants_no_secret_has_not_asked_for_it(line: str, asks: bool) -> None:
    assert (data_handling(line)["answer"] == "no") is asks
