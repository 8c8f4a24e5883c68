import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.judge.dialogue.cues import find_cues
from app.judge.dialogue.instructions import lines_with_instructions
from app.judge.dialogue.turns import Side, dialogue_of
from app.judge.languages.lexicon import lexicon_of
from tests.talks import chat


def found(letter: str, text: str, **fields: str) -> dict[str, str]:
    """Find the first quote of each kind in one message."""
    dialogue = dialogue_of(chat((letter, 0, text), **fields), channel="chat", language=None)
    cues = find_cues(dialogue)
    return {kind: cues.of(kind)[0].quote for kind in lexicon_of("en").kinds if cues.of(kind)}


@pytest.mark.parametrize(
    ("letter", "text", "kind", "quote"),
    [
        ("a", "Good morning, what can I do?", "greeting", "Good morning"),
        ("a", "Well, my name is Anna.", "introduction", "my name is Anna"),
        ("a", "Northwind support, Tom speaking.", "introduction", "Tom speaking"),
        ("a", "Thank you for calling Northwind!", "brand", "for calling Northwind"),
        ("a", "I'm Tom from Northwind.", "brand", "I'm Tom from Northwind"),
        ("a", "Can I get your date of birth?", "identity_check", "your date of birth"),
        ("a", "Your current balance is 5.", "account_detail", "Your current balance is"),
        ("a", "I do apologise for this.", "apology", "apologise"),
        ("a", "I am unable to do that.", "failure", "unable to"),
        ("a", "Your room has been booked.", "done", "has been booked"),
        ("a", "We've booked your room.", "done", "We've booked"),
        ("a", "You are now down for Friday.", "done", "You are now down for"),
        ("a", "I have put you down for two nights.", "done", "put you down for"),
        ("a", "Your new delivery date is Friday.", "done", None),
        ("a", "Your appointment is now at 10:30.", "done", None),
        ("a", "You are not the only patient we have.", "dismissive", None),
        ("a", "Dr Holm has no time free on Monday.", "no_result", "has no time free"),
        ("a", "There is no later train available.", "no_result", "no later train available"),
        ("a", "That date isn't free.", "no_result", "date isn't free"),
        ("a", "It isn't successful.", "failure", "isn't successful"),
        ("a", "You've reached the end.", "success", "You've reached"),
        ("c", "Okay, thanks anyway.", "gives_up", "thanks anyway"),
        ("c", "Maybe you have another?", "concession", "Maybe you"),
        ("a", "Did that solve it?", "solved_check", "Did that solve"),
        ("c", "It\u2019s working again!", "solved", "It\u2019s working"),
        ("c", "No, that'll be all.", "nothing_more", "that'll be all"),
        ("c", "It is still not there.", "still_broken", "still not"),
        ("a", "Anything else I can do?", "offer_help", "Anything else"),
        ("a", "To recap, you pay in May.", "recap", "To recap"),
        ("a", "We will send it by Friday.", "next_step", "We will send it by Friday"),
        ("a", "I'll call you back.", "commitment", "I'll call you back"),
        ("a", "Let me put you on hold.", "hold", "put you on hold"),
        ("a", "I am transferring you to billing.", "transfer", "transferring you to"),
        ("c", "Let me speak to a manager.", "escalation_request", "speak to a manager"),
        ("c", "I want to file a complaint.", "complaint", "file a complaint"),
        ("c", "This is ridiculous.", "complaint", "This is ridiculous"),
        ("c", "Thanks a lot!", "thanks", "Thanks"),
        ("c", "Bye now.", "closing", "Bye"),
        ("c", "You are an idiot.", "profanity", "You are an idiot"),
        ("c", "Please stop calling me.", "opt_out", "stop calling"),
        ("a", "I have removed you from our list.", "opt_out_done", "removed you from"),
        ("b", "I am a virtual assistant.", "automated", "virtual assistant"),
        ("b", "I'm calling about your bill.", "purpose", "calling about"),
        ("b", "Sorry, I didn't catch that.", "fallback", "didn't catch that"),
        ("a", "Please tell me your PIN.", "asks_secret", "tell me your PIN"),
        (
            "a",
            "And your password as well please.",
            "asks_secret",
            "And your password as well please",
        ),
        ("a", "What's the CVV?", "asks_secret", "What's the CVV"),
        ("a", "Read me the full 16-digit card number.", "asks_secret", None),
        ("a", "Can I have your name, account number and PIN?", "asks_secret", None),
        ("a", "I need your one-time code.", "asks_secret", "I need your one-time code"),
    ],
)
def test_a_cue_is_found_where_it_is_said(letter, text, kind, quote) -> None:
    assert kind in found(letter, text)
    if quote:
        assert found(letter, text)[kind] == quote


@pytest.mark.parametrize(
    ("letter", "text", "kind"),
    [
        ("a", "We will never ask you for your PIN.", "asks_secret"),
        ("a", "Please don\u2019t tell me your password.", "asks_secret"),
        ("a", "Can I have the last four digits of your card number?", "asks_secret"),
        ("a", "Can I get you to reset your password?", "asks_secret"),
        ("a", "May I have your PIN code for the delivery?", "asks_secret"),
        ("c", "Can I have your card number?", "asks_secret"),
        ("a", "You're welcome.", "greeting"),
        ("a", "I am sorry to hear that.", "apology"),
        ("a", "I can transfer you to billing if you like.", "transfer"),
        ("a", "The tap drips ten times a second.", "hold"),
        ("c", "I need it fixed at once.", "solved"),
        ("c", "That isn't fixed.", "solved"),
        ("c", "Tell me when it is fixed.", "solved"),
        ("c", "I'm not upset.", "complaint"),
        ("c", "I don't need to speak to a manager.", "escalation_request"),
        ("c", "We saw a bassist in Scunthorpe.", "profanity"),
        ("c", "He won't shut up.", "profanity"),
        ("a", "I'm Sorry, this is a mistake.", "brand"),
        ("c", "Don't call me before noon.", "opt_out"),
        ("a", "Your room has not been booked.", "done"),
        ("a", "Payments are down for everybody at the moment.", "done"),
        ("a", "Our payment systems are down for maintenance.", "done"),
        ("a", "Your price is now 45 dollars.", "done"),
        ("a", "Your new rate is 5 percent.", "done"),
        ("a", "You are not the only one today, there is an outage in your area.", "dismissive"),
        ("a", "If I cannot find it, I will write.", "failure"),
        ("a", "There are no more steps to take.", "no_result"),
        ("a", "Are you sure I cannot find you a taxi?", "failure"),
        ("c", "Sorry, I meant Tuesday.", "correction"),
        ("c", "Thanks anyway, but can you find me another?", "gives_up"),
        ("a", "There is no spa available here.", "no_result"),
    ],
)
def test_words_that_only_look_like_a_cue_do_not_count(letter, text, kind) -> None:
    assert kind not in found(letter, text)


def test_a_phrase_of_the_agent_is_not_a_cue_from_the_customer() -> None:
    assert "offer_help" not in found("c", "Is there anything else?")


def test_with_unknown_speakers_every_phrase_counts() -> None:
    assert "offer_help" in found("u", "Is there anything else?", speaker_attribution="none")


def test_another_language_has_no_cues() -> None:
    assert found("c", "Hello, stop calling me.", language="it") == {}


def test_an_undeclared_language_is_detected_by_its_common_words() -> None:
    english = "Hello, can you help me with the bill that you sent?"
    assert "greeting" in found("c", english, language=None)
    assert (
        found("c", "Hello, ich habe eine Rechnung bekommen und verstehe sie nicht.", language=None)
        == {}
    )


@given(st.text(max_size=300), st.sampled_from("acbu"))
def test_every_cue_lies_inside_its_text(text, letter) -> None:
    transcript = chat((letter, 0, text), ("c", 1, "Hello, thank you."))
    dialogue = dialogue_of(transcript, channel="chat", language="en")
    for kind in lexicon_of("en").kinds:
        for cue in find_cues(dialogue).of(kind):
            assert 0 <= cue.start < cue.end <= len(cue.line.text)
            assert cue.line.text[cue.start : cue.end] == cue.quote


@pytest.mark.parametrize("letter", ["\u0130", "\ufb03", "\u00df"])
def test_letters_that_change_length_in_lower_case_shift_no_offset(letter) -> None:
    assert found("c", f"{letter * 9} Thank you")["thanks"] == "Thank you"


@pytest.mark.parametrize(
    "text",
    [
        "can i have your " * 6_000,
        "your " * 20_000 + "password",
        "we will " * 12_000,
        "that is " * 12_000,
        "sorry, " * 14_000,
        "a" * 100_000 + " pin",
        "it" + " " * 100_000 + "is fixed",
        "we will " + "$" * 60,
        "may i get " + "-" * 60,
        "ok, no " + "'" * 60,
        "ignore " + "-" * 60,
    ],
)
def test_no_text_keeps_the_patterns_busy(text) -> None:
    dialogue = dialogue_of(chat(("u", 0, text)), channel="chat", language="en")
    began = time.process_time()
    find_cues(dialogue)
    lines_with_instructions(dialogue.lines)
    # In line with the length it is a fraction of a second; a pattern that goes back and forth
    # over a text of this length takes hours.
    assert time.process_time() - began < 30


def test_a_bot_is_the_service_side_only_where_no_person_is() -> None:
    with_person = chat(("b", 0, "Hi."), ("c", 1, "Hi."), ("a", 2, "Hi."))
    alone = chat(("b", 0, "Hi."), ("c", 1, "Hi."))
    sides = [line.side for line in dialogue_of(with_person, channel="chat", language=None).lines]
    assert sides == [Side.OTHER, Side.CUSTOMER, Side.SERVICE]
    assert dialogue_of(alone, channel="chat", language=None).lines[0].side is Side.SERVICE
    sides = [
        line.side for line in dialogue_of(with_person, channel="voice_bot", language=None).lines
    ]
    assert sides == [Side.SERVICE, Side.CUSTOMER, Side.OTHER]
