import pytest

from app.judge.acts.reading import acts_of, shipped_readers
from app.judge.acts.sentences import sentences_of
from app.judge.conduct.readings import AgentLine, CustomerLine, Readings, readings_of
from app.judge.dialogue.cues import find_cues
from app.judge.dialogue.turns import dialogue_of
from tests.talks import chat


def read(*lines: tuple[str, str], language: str = "en") -> Readings:
    dialogue = dialogue_of(
        chat(*((side, None, text) for side, text in lines)), channel="chat", language=language
    )
    cues = find_cues(dialogue)
    return readings_of(cues, acts_of(dialogue, cues, shipped_readers(fast=False)))


def customer(*texts: str) -> CustomerLine:
    return read(*(("c", text) for text in texts)).customer[-1]


def agent(text: str) -> AgentLine:
    return read(("a", text)).agent[0]


def test_a_text_is_read_by_sentences_and_as_a_whole() -> None:
    text = "No. I want my 30 euros back!  Now, please?"
    assert [text[sentence.start : sentence.end] for sentence in sentences_of(text)] == [
        "No.",
        "I want my 30 euros back!",
        "Now, please?",
        text,
    ]
    assert sentences_of(text)[1].words == ("i", "want", "my", "0", "euros", "back")
    assert sentences_of(text)[-1].questions == sentences_of(text)[-1].exclamations == 1


def test_what_has_no_full_stops_is_read_in_windows_that_overlap() -> None:
    text = " ".join(f"w{number}" for number in range(30))
    sentences = sentences_of(text)
    assert [sentence.words[0] for sentence in sentences] == ["w0", "w8", "w16", "w0"]
    assert [len(sentence.words) for sentence in sentences] == [16, 16, 14, 30]
    assert all(
        text[sentence.start : sentence.end].split()[0] == sentence.words[0]
        for sentence in sentences
    )


@pytest.mark.parametrize("text", ["", " ", "\n", "...", "?!", "🙂", "。", "9" * 2_000, "a" * 5_000])
def test_any_text_can_be_read(text: str) -> None:
    for sentence in sentences_of(text):
        assert 0 <= sentence.start < sentence.end <= len(text)


@pytest.mark.parametrize(
    "text",
    [
        "What a pain in the arse you lot are.",
        "That's not my problem.",
        "Then go to another company.",
    ],
)
def test_a_rude_agent_is_known_without_swear_words(text: str) -> None:
    assert agent(text).is_rude


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry about the double charge, I have refunded it.",
        "Could you give me your order number, please?",
        "Unfortunately there are no rooms left on Friday. Shall I look for Saturday?",
    ],
)
def test_a_friendly_agent_is_not_rude(text: str) -> None:
    assert agent(text).rude < 0.2


def test_a_customer_is_angry_disappointed_or_pleased() -> None:
    assert customer("Where is my damn sofa, you idiots?").negative >= 0.9
    assert customer("I really expected better from you.").negative > 0.5
    assert customer("Great, thank you so much!").score > 0.6
    assert abs(customer("My order number is 4411.").score) < 0.2


def test_the_sentence_that_shows_it_best_is_marked() -> None:
    line = customer("The number is 4411. This is an absolute disgrace! Bye.")
    mark = line.marks["anger"]
    assert line.line.text[mark.start : mark.end] == "This is an absolute disgrace!"


def test_praise_after_a_cold_reply_is_meant_the_other_way() -> None:
    lines = read(
        ("c", "This is ridiculous, I have been waiting for three weeks!"),
        ("a", "That's not my problem."),
        ("c", "Great, thanks a lot."),
    )
    assert lines.customer[-1].score < 0
    assert customer("Great, thanks a lot.").score > 0


def test_tension_rises_with_anger_and_falls_with_help() -> None:
    lines = read(
        ("c", "This is ridiculous, I am really angry!"),
        ("a", "I'm so sorry, that is really frustrating. I have refunded it just now."),
        ("c", "The number is 4411."),
    )
    assert lines.customer[1].tension < lines.customer[0].tension / 1.8


def test_hindi_is_read_by_its_phrases() -> None:
    lines = read(
        ("c", "मेरा ऑर्डर अभी तक नहीं आया, बहुत खराब सर्विस है"),
        ("a", "माफ़ कीजिए, मैं अभी देखता हूँ"),
        ("c", "धन्यवाद"),
        language="hi",
    )
    assert lines.agent[0].shows("apology") == 1.0
    assert lines.customer[-1].positive > 0.5


def test_where_it_is_not_known_who_speaks_nothing_is_read() -> None:
    dialogue = dialogue_of(
        chat(("u", None, "Hello there.")),
        channel="chat",
        language="en",
    )
    cues = find_cues(dialogue)
    acts = acts_of(dialogue, cues, shipped_readers(fast=False))
    assert readings_of(cues, acts).lines == ()


def test_a_bot_that_understands_nothing_stalls_and_does_not_apologise() -> None:
    line = agent("Sorry, I did not understand that. Could you rephrase it?")
    assert line.shows("stall") >= 0.8
    assert line.shows("apology") < 0.5
    assert 0 < line.strongest(["stall"]).end <= len(line.line.text)
