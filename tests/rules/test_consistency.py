"""Judgements that fit each other, and evidence that shows what the explanation says."""

from typing import Any

import pytest

from app.judge.context import Context
from app.judge.facts.conversation_facts import facts_of
from app.judge.rule_judge import RuleJudge
from app.judge.rules.judging import answer
from app.judge.scoring.answers import Answer
from tests.talks import call, chat, scorecard, worth

CARD = scorecard("chat")
GREETED = [("c", "Hello, I need a new bank card."), ("a", "Hello, which card is it?")]


def by_rule(key: str, *lines: tuple[str, str]) -> Answer:
    """Return what the rule of a criterion answers, before the second look at it."""
    talk = chat(*((speaker, index * 30, said) for index, (speaker, said) in enumerate(lines)))
    card = scorecard("chat")
    return answer(facts_of(talk, card, Context()), card.criterion(key))


def judge(*lines: tuple[str, str]) -> dict[str, Any]:
    transcript = chat(*((letter, 20 * i, text) for i, (letter, text) in enumerate(lines)))
    return RuleJudge().judge(transcript, CARD, Context()).results


def criterion(results: dict[str, Any], key: str) -> dict[str, Any]:
    return next(item for item in results["criteria"] if item["key"] == key)


def quotes(found: dict[str, Any]) -> list[str]:
    return [item["quote"] for item in found["evidence"]]


def test_a_customer_who_had_finished_has_not_left_early() -> None:
    results = judge(
        ("c", "Hello, my phone has no signal."),
        ("a", "I have reset your line, please try again."),
        ("c", "it works again, thanks a lot!"),
        ("a", "Anything else?"),
        ("a", "Are you still there?"),
        ("a", "I have not heard from you, so I close the chat. Goodbye."),
    )
    assert results["resolution"]["status"] == "resolved"


def test_a_repaired_failure_is_named_and_the_solution_is_confirmed() -> None:
    results = judge(
        ("c", "Hi, please change my delivery to Saturday."),
        ("a", "I'm sorry, I was unable to change the delivery, the page has crashed."),
        ("c", "Could you give it another go?"),
        ("a", "I have changed the delivery to Saturday now."),
        ("c", "Thank you, that is kind."),
        ("a", "You are welcome, goodbye."),
    )
    assert results["resolution"]["status"] == "resolved"
    # Full marks would hide the failure: what it is worth is estimated.
    assert 0.5 < worth(criterion(results, "resolution.completeness")) < 1
    assert criterion(results, "resolution.confirmed")["answer"] == "yes"


@pytest.mark.xfail(
    strict=True, reason="a line that does one part and refuses the other counts as done"
)
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


def test_thanks_without_a_solution_differ_from_silence() -> None:
    found = by_rule(
        "resolution.confirmed",
        *GREETED,
        ("c", "The blue one."),
        ("a", "I'm sorry, I couldn't find any blue card."),
        ("c", "Okay, thanks."),
        ("a", "Goodbye."),
    )
    assert found.answer == "no"
    assert found.explanation == (
        "The customer said thank you, but nobody asked or said whether the problem is solved."
    )


def test_who_complains_of_what_was_told_is_not_content_with_it() -> None:
    found = by_rule(
        "resolution.confirmed",
        ("c", "Please change the name on my contract."),
        ("a", "Hello, Ana from Netline. It is in the app under Profile."),
        ("c", "Your app is awful."),
        ("a", "I see."),
        ("c", "okay, thank you, bye"),
        ("a", "Bye."),
    )
    assert found.answer == "no"


def test_while_a_promise_with_a_time_is_open_there_is_nothing_to_confirm_and_to_coach() -> None:
    found = judge(
        ("c", "hi, my car was meant to be ready at noon"),
        ("a", "Bay Garage, Kim speaking. It's not ready, the wrong part came."),
        ("c", "okay, and then I got a text about four hundred, please take the extra mount off"),
        ("a", "I have taken it off, it is three hundred now."),
        ("c", "Is somebody going to call me this time?"),
        ("a", "I will call you at half past four and tell you if the part has come."),
        ("c", "Half past four then."),
    )
    assert criterion(found, "resolution.confirmed")["answer"] is None
    assert found["coaching"]["improvements"] == []


def test_a_granted_wish_to_be_left_alone_is_resolved_however_angry_it_was() -> None:
    found = judge(
        ("a", "Good evening, this is Ivo from Brightglass, I am calling about new windows."),
        ("c", "Not again! Stop calling me and take me off your list!"),
        ("a", "I have removed your number from our list, you will not be called again. Goodbye."),
    )["resolution"]
    assert found["status"] == "resolved"
    assert 0.5 <= found["probability"] <= 1
    assert found["explanation"] == "The agent did what was asked for."


def test_a_last_request_for_somebody_else_is_not_resolved_by_its_thanks() -> None:
    results = judge(
        ("c", "Hi, can you waive the fee for my late payment?"),
        ("a", "Under our policy the fee cannot be waived. I could connect you to a colleague."),
        ("c", "Please let me talk to a supervisor then, thank you!"),
    )
    assert results["resolution"]["status"] != "resolved"
    assert criterion(results, "resolution.confirmed")["answer"] != "yes"


def test_a_reply_that_did_not_help_is_shown_by_the_customer_s_words() -> None:
    found = by_rule(
        "discovery.understanding",
        ("c", "How do I use the voucher of my order?"),
        ("a", "Hi, this is Nele from Papershop. Vouchers apply to carts of the second tier."),
        ("c", "What do you mean? I don't understand that."),
        ("a", "You can use it once your cart is above 20 euros."),
        ("c", "Ah okay, thanks."),
        ("a", "You are welcome."),
    )
    assert found.explanation == "The customer had to ask what a reply meant or left out."
    assert found.evidence[0].quote.startswith("What do you mean?")


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
    assert sentence in [piece["quote"] for piece in results["resolution"]["evidence"]]


def test_a_customer_who_stops_replying_leaves_no_close_to_judge() -> None:
    results = judge(
        ("c", "the app shows a white page when i open my invoices"),
        ("a", "Hi, this is Pia of Gridline. Which phone do you use?"),
        ("a", "Are you still there?"),
        ("a", "I have not heard from you, so I close the chat. Write again at any time."),
    )
    assert results["resolution"]["status"] == "unresolved"
    assert results["resolution"]["explanation"] == (
        "The customer stopped replying before the problem was solved."
    )
    for key in ("resolution.confirmed", "closing.recap"):
        assert criterion(results, key)["applicable"] is False


@pytest.mark.parametrize("note", ["k", "Okay.", "ok got it", "Alright, fine!"])
def test_who_only_takes_note_waits_for_no_reply(note: str) -> None:
    found = judge(*GREETED, ("c", "The blue one."), ("a", "It comes by Friday."), ("c", note))
    assert "no reply" not in criterion(found, "resolution.completeness")["explanation"]


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ("We are sorry for the inconvenience. Which order is it?", 0.5),
        ("Oh no, that must be frustrating, which order is it?", 1.0),
        ("Sorry about that. Which order is it?", 0.5),
        ("I'm sorry, a torn coat is so annoying. Which order is it?", 1.0),
    ],
)
def test_an_apology_that_fits_any_problem_is_not_sympathy(reply: str, score: float) -> None:
    found = by_rule(
        "communication.empathy",
        ("c", "My new coat arrived torn, I am really upset about that!"),
        ("a", reply),
        ("c", "Order 5531."),
        ("a", "I have sent you a new coat."),
    )
    assert found.score == score


def test_a_question_in_the_first_reply_is_a_question() -> None:
    asked = judge(*GREETED, ("c", "The gold card."), ("a", "I have ordered it for you."))
    offered = judge(
        ("c", "Hello, I need a new bank card."),
        ("a", "Hello, how can I help you today?"),
        ("c", "I need a new gold card."),
        ("a", "I have ordered it for you."),
    )
    assert worth(criterion(asked, "discovery.probing")) > 0.5
    assert criterion(offered, "discovery.probing")["answer"] is None


@pytest.mark.parametrize(
    ("second", "repeats"),
    [
        ("Please hold the red button of the router for ten seconds.", True),
        ("Please hold the black button of the router for ten seconds.", False),
    ],
)
def test_an_answer_that_differs_in_a_word_that_counts_is_another_one(second, repeats) -> None:
    found = by_rule(
        "communication.clarity",
        ("c", "How do I reset my router?"),
        ("a", "Please hold the red button of the router for ten seconds."),
        ("c", "Did that, the light blinks."),
        ("a", second),
        ("c", "Done."),
    )
    assert ("said the same again" in found.explanation) is repeats


@pytest.mark.parametrize("reply", ["No, that's lovely, thank you.", "No I just need the address."])
def test_declining_and_praising_are_not_corrections(reply: str) -> None:
    found = judge(
        ("c", "Where is your shop in Leeds?"),
        ("a", "Shall I also reserve a slot for you?"),
        ("c", reply),
        ("a", "It is 4 King Street."),
    )
    assert worth(criterion(found, "discovery.understanding")) > 0.5


@pytest.mark.parametrize(
    "words", ["that worked", "yep it's back now", "it works again", "ah, now it's activated"]
)
def test_a_solution_is_confirmed_in_the_customer_s_own_words(words: str) -> None:
    found = judge(
        ("c", "The sound of my headset is gone."),
        ("a", "Please pair it again."),
        ("c", words),
        ("a", "Glad to hear that, goodbye."),
    )
    confirmed = criterion(found, "resolution.confirmed")
    assert worth(confirmed) > 0.5
    assert quotes(confirmed) in ([], [words])


@pytest.mark.xfail(strict=True, reason="an opened ticket is read as the thing done")
def test_a_ticket_for_what_still_fails_solves_nothing_yet() -> None:
    results = judge(
        ("c", "the scanner is offline"),
        ("a", "Hello, this is Ute. Please restart it."),
        ("c", "did that, still offline"),
        ("a", "I've opened a ticket with our engineers, they write to you tomorrow."),
        ("c", "ok thanks"),
        ("a", "You are welcome, goodbye."),
    )
    assert criterion(results, "resolution.confirmed")["answer"] == "no"
    assert results["resolution"]["status"] == "unresolved"


def test_a_reproach_is_not_an_action() -> None:
    found = judge(
        ("c", "nobody told me about the new address"),
        ("a", "we sent an email you should have read it"),
        ("c", "well i did not get one"),
        ("a", "anything else"),
        ("c", "no"),
    )
    assert "said what was done" not in criterion(found, "resolution.completeness")["explanation"]


def test_the_agent_s_own_mistake_is_not_bad_news() -> None:
    found = judge(
        ("c", "Please move my visit to Monday, not Sunday."),
        ("a", "Sorry, I misread that. I have moved it to Monday."),
        ("c", "Good."),
        ("a", "Goodbye."),
    )
    assert "bad news" not in criterion(found, "resolution.completeness")["explanation"]


def test_the_digits_on_the_back_of_a_card_are_secret() -> None:
    found = judge(
        ("c", "I would like to pay for my tickets, please."),
        ("a", "Sure. Can you give me the three digits on the back of your card, please?"),
        ("c", "Here they are."),
        ("a", "Thank you."),
    )
    handling = criterion(found, "compliance.data_handling")
    assert handling["answer"] == "no"
    assert "three digits on the back" in quotes(handling)[0]


@pytest.mark.parametrize("ground", ["hygiene", "data protection"])
def test_a_refusal_for_named_reasons_is_not_an_obstacle(ground: str) -> None:
    found = judge(
        ("c", "Hi, can you send me the file of my neighbour?"),
        ("a", f"I'm afraid that can't be done for {ground} reasons."),
        ("c", "Okay, I see."),
        ("a", "Goodbye."),
    )
    explanation = found["resolution"]["explanation"]
    assert explanation == "The agent refused the request and named a reason."


def test_a_refusal_without_a_letter_ties_the_request_to_it() -> None:
    found = judge(
        ("c", "so can i cancel my membership"),
        ("a", "we cannot cancel it without a letter from your doctor"),
        ("c", "okay i see"),
        ("a", "goodbye"),
    )
    explanation = found["resolution"]["explanation"]
    assert explanation == "The agent tied the request to a condition."


def test_a_call_opens_with_its_brand_before_the_greeting_and_a_check_by_mobile_number() -> None:
    transcript = call(
        ("a", 0, 4_000, "oak street dental practice good morning rosa speaking"),
        ("c", 4_500, 8_000, "good morning i would like to know when my next visit is"),
        ("a", 8_500, 12_000, "sure may i know your mobile number please"),
        ("c", 12_500, 16_000, "oh seven nine one two three four five"),
        ("a", 16_500, 20_000, "thank you i can see your booking it is on monday at nine"),
        ("c", 20_500, 22_000, "lovely thanks bye"),
    )
    results = RuleJudge().judge(transcript, scorecard("voice"), Context()).results
    assert criterion(results, "opening.greeting")["answer"] == "yes"
    assert criterion(results, "opening.verification")["answer"] == "yes"


def test_whom_a_caller_asks_for_is_not_the_caller_s_own_name() -> None:
    transcript = call(
        ("a", 0, 3_000, "good afternoon am i speaking with mister okafor"),
        ("c", 3_500, 4_500, "yes that is me"),
        ("a", 5_000, 9_000, "this is lena from fairlane leasing i'm calling about your contract"),
        ("c", 9_500, 11_000, "okay what about it"),
    )
    results = RuleJudge().judge(transcript, scorecard("voice"), Context()).results
    greeting = criterion(results, "opening.greeting")
    assert greeting["answer"] == "yes"
    assert quotes(greeting)[-1].startswith("this is lena from fairlane leasing")


def test_a_useless_reply_leaves_the_request_for_somebody_else_open() -> None:
    asked = [
        ("c", "Hi, I want the deposit for my flat back."),
        ("a", "I'm afraid we can't pay it back, as our terms and conditions say."),
        ("c", "Then please let me talk to your manager, thank you."),
    ]
    assert judge(*asked, ("a", "You are an idiot."))["resolution"]["status"] == "unresolved"
    handed_over = judge(*asked, ("a", "I am transferring you to my manager now."))
    assert handed_over["resolution"]["status"] == "escalated"
