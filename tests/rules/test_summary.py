import pytest

from app.ai.context import Context
from app.ai.facts import facts_of
from app.ai.scorecard import Topic, scorecard_from
from app.ai.summary import summary_of
from app.ai.topics import topics_of
from tests.talks import GOOD_CALL, GOOD_CHAT, call, chat, document, scorecard

CHAT = scorecard("chat")
NOTHING = {"overview": None, "issue": None, "outcome": None, "actionItems": []}


def test_a_summary_quotes_the_issue_the_outcome_and_what_is_promised() -> None:
    found = summary_of(facts_of(GOOD_CHAT, CHAT, Context()))
    assert found == {
        "overview": "Hello, my parcel has not arrived and I am a little worried."
        " The driver missed you; I have scheduled a new delivery for you.",
        "issue": "Hello, my parcel has not arrived and I am a little worried.",
        "outcome": "The driver missed you; I have scheduled a new delivery for you.",
        "actionItems": ["We will bring it by Tuesday."],
    }


def test_every_sentence_of_a_summary_is_in_the_transcript() -> None:
    found = summary_of(facts_of(GOOD_CALL, scorecard("voice"), Context()))
    said = [segment.text for segment in GOOD_CALL.segments]
    for sentence in (found["issue"], found["outcome"], *found["actionItems"]):
        assert any(sentence in text for text in said)


def test_nothing_is_summed_up_where_the_words_or_the_speakers_are_unknown() -> None:
    spanish = chat(("c", None, "Hola, mi pedido no ha llegado."), language="es")
    assert summary_of(facts_of(spanish, CHAT, Context())) == NOTHING
    mixed = call(("u", 0, 900, "My parcel has not arrived."), speaker_attribution="none")
    assert summary_of(facts_of(mixed, scorecard("voice"), Context())) == NOTHING


def test_a_topic_needs_two_lines_and_a_topic_of_the_scorecard_one() -> None:
    facts = facts_of(GOOD_CHAT, CHAT, Context())
    assert topics_of(facts, ()) == ("delivery",)
    own = (Topic("drivers", ("the driver",)), Topic("pets", ("dog",)))
    assert topics_of(facts, own) == ("drivers", "delivery")


def test_a_scorecard_may_bring_its_own_topics() -> None:
    topics = [{"name": "drivers", "anyOf": ["the driver"]}]
    card = scorecard_from({**document("chat"), "topics": topics})
    assert card.topics == (Topic("drivers", ("the driver",)),)


@pytest.mark.parametrize("topics", ["x", [{"name": "a"}], [{"name": "a", "anyOf": []}]])
def test_topics_without_words_are_refused(topics) -> None:
    with pytest.raises(ValueError, match="topics"):
        scorecard_from({**document("chat"), "topics": topics})
