import pytest

from app.judge.context import Context
from app.judge.facts.conversation_facts import facts_of
from app.judge.rules.judging import answer
from app.judge.scorecard.values import Scorecard
from app.judge.scoring.answers import Answer
from app.transcript import Transcript
from tests.talks import GOOD_CALL, GOOD_CHAT, START, call, chat, scorecard, words

VOICE, CHAT, BOT = scorecard("voice"), scorecard("chat"), scorecard("voice_bot")
NEEDS_MODEL = "Not judged: only a language model can judge this."


def judge(key: str, transcript: Transcript, card: Scorecard = VOICE, **known) -> Answer:
    return answer(facts_of(transcript, card, Context(**known)), card.criterion(key))


def spoken(*lines: tuple[str, str]) -> Transcript:
    """Make a call whose lines take two seconds each, half a second apart."""
    return call(
        *((letter, 2_500 * i, 2_500 * i + 2_000, text) for i, (letter, text) in enumerate(lines))
    )


def test_a_greeting_has_its_parts_within_two_turns() -> None:
    result = judge("opening.greeting", GOOD_CALL)
    assert result.answer == "yes"
    quotes = [item.quote for item in result.evidence]
    assert quotes == ["Thank you for calling Northwind Bank, my name is Anna."]


def test_a_greeting_without_a_name_fails_and_says_so() -> None:
    result = judge("opening.greeting", spoken(("a", "Welcome to Northwind."), ("c", "Hello.")))
    assert result.answer == "no"
    assert result.score == 0
    assert result.explanation == (
        "In the first turn, the agent gave a greeting and the company name but no personal name."
    )
    assert [item.quote for item in result.evidence] == ["Welcome to Northwind."]


def test_an_opening_without_anything_says_so_and_shows_where_it_was_looked_for() -> None:
    lines = spoken(("a", "Yes?"), ("c", "It is broken."), ("a", "Go on."))
    result = judge("opening.greeting", lines)
    assert result.explanation == (
        "In the first two turns, the agent gave no greeting, no company name and no personal name."
    )
    assert [item.quote for item in result.evidence] == ["Yes?", "Go on."]


@pytest.mark.parametrize(
    ("line", "missing"),
    [
        ("you are speaking with the support desk of nordlicht my name is anna", []),
        ("good morning nordlicht telecom this is tom miller how can i help you", []),
        ("city gas emergency line you're through to george", []),
        ("good evening harbour dental priya speaking", []),
        ("hi you're chatting with sam from brightpath how can i help today", []),
        ("hello this is tom how can i help", ["company"]),
        ("hello how can i help you", ["company", "personal"]),
        ("hi this is customer service who am i speaking with", ["personal"]),
        ("thank you for holding this is fine now", ["greeting", "company", "personal"]),
    ],
)
def test_names_in_a_greeting_are_known_without_capitals(line, missing) -> None:
    result = judge("opening.greeting", spoken(("a", line), ("c", "i have a question please")))
    assert [
        part for part in ("greeting", "company", "personal") if f"no {part}" in result.explanation
    ] == (missing)
    assert result.answer == ("no" if missing else "yes")


@pytest.mark.parametrize(
    ("line", "given"),
    [
        ("member services tom speaking", "the department and a personal name"),
        ("norvia bank tom speaking", "the company name and a personal name"),
        (
            "good morning service desk kev speaking",
            "a greeting, the department and a personal name",
        ),
    ],
)
def test_a_greeting_is_told_by_what_was_said(line, given) -> None:
    result = judge("opening.greeting", spoken(("a", line), ("c", "i have a question please")))
    assert result.explanation == f"The agent opened with {given}."


def test_a_greeting_in_the_third_turn_is_late() -> None:
    late = spoken(
        ("a", "Yes?"),
        ("c", "Hello."),
        ("a", "Well?"),
        ("c", "It is me."),
        ("a", "Welcome to Northwind, my name is Anna."),
    )
    assert judge("opening.greeting", late).answer != "yes"


def test_a_brand_given_from_outside_counts() -> None:
    lines = spoken(("a", "Hello, northwind here, my name is Anna."), ("c", "Hello."))
    assert judge("opening.greeting", lines).answer == "no"
    assert judge("opening.greeting", lines, brand_names=("Northwind",)).answer == "yes"


def test_a_recording_that_starts_mid_call_needs_no_greeting() -> None:
    result = judge("opening.greeting", GOOD_CALL, starts_mid_call=True)
    assert result.applicable is False
    assert result.score is None


def test_verification_comes_before_account_detail() -> None:
    result = judge("opening.verification", GOOD_CALL)
    assert result.answer == "yes"
    assert result.evidence[0].segment_id == "seg_0003"


def test_account_detail_before_verification_fails_with_the_detail_as_evidence() -> None:
    result = judge(
        "opening.verification",
        spoken(
            ("a", "Hello."),
            ("c", "What do I have?"),
            ("a", "Your current balance is 12 euros."),
            ("a", "Can you confirm your address?"),
        ),
    )
    assert result.answer == "no"
    assert [item.quote for item in result.evidence] == ["Your current balance is 12 euros."]
    assert result.evidence[0].polarity == "contradicts"


def test_verification_does_not_apply_without_account_detail() -> None:
    result = judge("opening.verification", spoken(("a", "We open at nine."), ("c", "Thanks.")))
    assert result.applicable is False
    assert result.unjudged is False


LOST = ("c", "I can't log in to my account.")
BOOK = ("c", "Please book a table for two on Friday.")
SEND = ("c", "Can you send me the invoice again?")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((LOST, ("a", "I have reset it."), ("c", "It is working now.")), "yes"),
        ((LOST, ("a", "Did that fix it?"), ("c", "Hm.")), "yes"),
        ((BOOK, ("a", "I have booked the table."), ("c", "Thank you!")), "yes"),
        ((BOOK, ("a", "I have booked the table."), ("c", "Hm.")), "no"),
        (
            (
                LOST,
                ("a", "Can you log in now?"),
                ("c", "It works."),
                ("c", "No, the same error again."),
            ),
            "no",
        ),
        (
            (
                SEND,
                ("a", "I have sent it."),
                ("a", "Sorry, it did not go out after all."),
                ("c", "Thanks."),
            ),
            "no",
        ),
        ((SEND, ("a", "Please wait for it."), ("c", "That is all then.")), "no"),
        ((SEND, ("a", "I am unable to help."), ("c", "That is all then.")), "no"),
    ],
)
def test_a_solution_is_confirmed_when_it_is_asked_or_said_at_the_end(lines, expected) -> None:
    assert judge("resolution.confirmed", spoken(*lines)).answer == expected


def test_a_solution_need_not_be_confirmed_after_a_transfer() -> None:
    lines = spoken(("c", "My bill is wrong."), ("a", "I am transferring you to billing."))
    assert judge("resolution.confirmed", lines).applicable is False
    assert judge("resolution.confirmed", lines, transferred=False).applicable is True


def test_asking_for_a_secret_fails_data_handling() -> None:
    lines = spoken(("a", "Please give me your PIN."), ("c", "My PIN?"))
    result = judge("compliance.data_handling", lines)
    assert result.answer == "no"
    assert result.evidence[0].quote == "Please give me your PIN."


def test_data_handling_passes_only_where_enough_was_said() -> None:
    assert judge("compliance.data_handling", GOOD_CALL).answer == "yes"
    few = judge("compliance.data_handling", spoken(("a", "Hello there."), ("c", "Hi.")))
    assert few.applicable is False
    assert few.unjudged is True


STATEMENTS = [
    {"key": "recorded", "title": "Recording", "anyOf": ["this call is recorded", "we record"]},
    {"key": "risk", "title": "Risk", "anyOf": ["prices may fall"]},
]


def test_each_required_statement_must_be_made() -> None:
    card = scorecard("voice", disclosure={"requiredStatements": STATEMENTS})
    lines = (("a", "This call is, recorded!"), ("c", "Fine."))
    missing = judge("compliance.disclosure", spoken(*lines), card)
    assert missing.answer == "no"
    assert missing.explanation == "Not said: “Risk”."
    whole = judge(
        "compliance.disclosure", spoken(*lines, ("a", "Prices"), ("a", "may fall.")), card
    )
    assert whole.answer == "yes"
    assert [item.quote for item in whole.evidence] == [
        "This call is, recorded!",
        "Prices",
        "may fall.",
    ]


def test_what_the_customer_says_is_not_disclosure() -> None:
    card = scorecard("voice", disclosure={"requiredStatements": STATEMENTS[:1]})
    lines = spoken(("a", "Hello."), ("c", "I know that this call is recorded."))
    assert judge("compliance.disclosure", lines, card).answer == "no"


def test_a_statement_is_a_phrase_and_no_pattern() -> None:
    any_of = [{"key": "x", "title": "X", "anyOf": ["(q+)+$ .*"]}]
    card = scorecard("voice", disclosure={"requiredStatements": any_of})
    assert judge("compliance.disclosure", GOOD_CALL, card).answer == "no"


def test_disclosure_does_not_apply_without_a_list() -> None:
    assert judge("compliance.disclosure", GOOD_CALL).applicable is False


def test_abuse_fails_courtesy_and_with_it_the_whole_call() -> None:
    lines = spoken(("a", "You are an idiot."), ("c", "What?"))
    assert judge("communication.courtesy", lines).score == 0
    assert judge("communication.courtesy", GOOD_CALL).score == 1


@pytest.mark.parametrize(
    ("closing", "level", "score"),
    [
        ("Well, that is that.", 0, 0),
        ("Is there anything else?", 1, 0.5),
        ("To recap, you pay in May. Anything else?", 2, 1),
        ("We will send it by Friday. Anything else?", 2, 1),
    ],
)
def test_a_recap_counts_its_elements(closing, level, score) -> None:
    result = judge("closing.recap", spoken(("c", "Hello."), ("a", closing)))
    assert (result.answer or 0, result.worth) == (level, score)


def test_no_recap_is_asked_of_who_was_left() -> None:
    asked = [("c", "Why is my bill so high?")]
    lines = spoken(*asked, ("a", "Let me explain."), ("c", "Forget it."))
    assert judge("closing.recap", lines, ended_by="customer").applicable is False
    lines = spoken(*asked, ("a", "The meter was read twice."), ("c", "Thanks, bye."))
    assert judge("closing.recap", lines, ended_by="customer").worth is not None


@pytest.mark.parametrize("card", [VOICE, CHAT, BOT], ids=["voice", "chat", "voice_bot"])
def test_what_needs_a_model_is_not_judged_and_never_guessed(card) -> None:
    for criterion in card.criteria:
        if criterion.rule is None:
            result = judge(criterion.key, GOOD_CHAT, card)
            assert result.applicable is False
            assert result.explanation == NEEDS_MODEL
            assert result.failure is None


MIXED = call(
    *(("u", s.start_ms, s.end_ms, s.text) for s in GOOD_CALL.segments), speaker_attribution="none"
)


@pytest.mark.parametrize(
    "key",
    ["opening.greeting", "opening.verification", "communication.pace", "communication.clarity"],
)
def test_nothing_is_said_of_an_agent_who_is_not_known(key) -> None:
    result = judge(key, MIXED)
    assert result.applicable is False
    assert "not known who speaks" in result.explanation


@pytest.mark.parametrize("key", ["closing.recap", "compliance.data_handling"])
def test_what_holds_of_the_whole_conversation_is_judged_with_less_confidence(key) -> None:
    assert judge(key, MIXED).score == judge(key, GOOD_CALL).score
    assert judge(key, MIXED).confidence < judge(key, GOOD_CALL).confidence
    assert "gent" not in judge(key, MIXED).explanation


def test_a_solution_that_somebody_confirms_is_confirmed_with_less_confidence() -> None:
    lines = (LOST, ("a", "I have reset it."), ("c", "Thanks, it is working now."))
    known = spoken(*lines)
    mixed = call(
        *(("u", s.start_ms, s.end_ms, s.text) for s in known.segments), speaker_attribution="none"
    )
    assert judge("resolution.confirmed", mixed).answer == "yes"
    assert judge("resolution.confirmed", known).answer == "yes"
    assert (
        judge("resolution.confirmed", mixed).confidence
        < judge("resolution.confirmed", known).confidence
    )
    assert judge("resolution.confirmed", MIXED).answer == "yes"


def test_words_of_another_language_are_not_judged() -> None:
    italian = chat(("c", 0, "Buongiorno."), ("a", 10, "Buongiorno, come sta?"), language="it")
    result = judge("opening.greeting", italian, CHAT)
    assert result.applicable is False
    assert result.explanation == "Not judged: Italian is not read yet."
    assert judge("responsiveness.first_response", italian, CHAT).score == 1


def test_who_is_never_answered_has_no_agent_to_judge() -> None:
    alone = chat(("c", 0, words(40)), ("c", 10, "Hello?"))
    for criterion in CHAT.criteria:
        assert judge(criterion.key, alone, CHAT).applicable is False


def test_a_hand_off_restarts_the_wait() -> None:
    lines = chat(("c", 0, "Hello."), ("b", 2, "Wait."), ("a", 400, "Hi."))
    result = judge(
        "responsiveness.first_response", lines, CHAT, handed_off_at=START.replace(minute=6)
    )
    assert result.answer == 40
