from app.judge.context import Context
from app.judge.facts.conversation_facts import facts_of
from app.transcript import Transcript
from tests.talks import START, chat, scorecard

CHAT = scorecard("chat")


def metrics(transcript: Transcript, **known) -> dict:
    return facts_of(transcript, CHAT, Context(**known)).measures.values


def missing(transcript: Transcript, **known) -> dict:
    return facts_of(transcript, CHAT, Context(**known)).measures.missing


WRITTEN = chat(
    ("c", 0, "My order is late."),
    ("b", 5, "A person will be with you."),
    ("c", 20, "It is number 12."),
    ("s", 25, "Ben joined."),
    ("a", 40, "Where was it sent?"),
    ("c", 50, "Home."),
    ("a", 60, "Thanks."),
    ("a", 300, "It comes tomorrow."),
)


def test_the_first_response_is_that_of_a_person() -> None:
    assert metrics(WRITTEN)["firstResponseSeconds"] == 40


def test_the_first_response_counts_from_the_hand_off() -> None:
    handed_off = START.replace(second=30)
    assert metrics(WRITTEN, handed_off_at=handed_off)["firstResponseSeconds"] == 10


def test_a_reply_answers_the_first_message_of_the_run() -> None:
    values = metrics(WRITTEN)
    # 0 to 40 and 50 to 60; the second message of the agent answers nothing new.
    assert values["responseSecondsAvg"] == 25
    assert values["responseSecondsP90"] == 37


def test_a_chat_that_only_a_bot_answers_has_no_first_response() -> None:
    transcript = chat(("c", 0, "My order is late."), ("b", 5, "Which one?"))
    assert metrics(transcript)["firstResponseSeconds"] is None
    assert missing(transcript)["firstResponseSeconds"] == "No person replied."


def test_the_resolution_takes_until_the_close() -> None:
    closed_at = START.replace(minute=10)
    assert metrics(WRITTEN, closed_at=closed_at)["resolutionSeconds"] == 600
    assert metrics(WRITTEN)["resolutionSeconds"] is None


def test_a_chat_has_turns_questions_and_no_speech() -> None:
    values = metrics(WRITTEN)
    assert values["turnCount"] == 6
    assert values["questionsAsked"] == 1
    assert values["durationSeconds"] == 300
    assert "agentTalkMs" not in values


def test_messages_without_times_have_reasons_in_place_of_numbers() -> None:
    transcript = chat(("c", None, "My order is late."), ("a", None, "Which one?"))
    assert missing(transcript)["firstResponseSeconds"] == "The transcript has no times."


def test_first_contact_resolution_comes_from_outside() -> None:
    assert metrics(WRITTEN, first_contact_resolution=True)["firstContactResolution"] == 1
    assert metrics(WRITTEN)["firstContactResolution"] is None
