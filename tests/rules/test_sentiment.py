import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.judge.acts.reading import acts_of, shipped_readers
from app.judge.conduct.readings import readings_of
from app.judge.dialogue.cues import find_cues
from app.judge.dialogue.turns import dialogue_of
from app.judge.facts.sentiment import Sentiment, sentiment_of
from app.transcript import Transcript
from tests.talks import call, chat, scorecard

SETTINGS = scorecard("chat").metrics
AWFUL, NEUTRAL, LOVELY = "This is awful.", "My order number is 4411.", "This is lovely, thank you!"


def sentiment(transcript: Transcript, channel: str = "chat") -> Sentiment:
    dialogue = dialogue_of(transcript, channel=channel, language=None)
    cues = find_cues(dialogue)
    acts = acts_of(dialogue, cues, shipped_readers(fast=False))
    return sentiment_of(dialogue, readings_of(cues, acts), SETTINGS)


def customer(*texts: str) -> Sentiment:
    return sentiment(chat(*(("c", 10 * index, text) for index, text in enumerate(texts))))


def test_the_quarters_cut_the_time_of_the_side_in_four() -> None:
    texts = (AWFUL, NEUTRAL, NEUTRAL, NEUTRAL, LOVELY)
    lines = [("c", 1_000 * index, 1_000 * index + 900, text) for index, text in enumerate(texts)]
    felt = sentiment(call(*lines, duration=5_000), "voice").customer
    assert felt.by_quarter[0] < 0
    assert felt.by_quarter[1:3] == pytest.approx((0, 0), abs=0.01)
    assert felt.by_quarter[3] > 0


def test_the_messages_of_a_chat_share_the_quarters_whenever_they_were_sent() -> None:
    texts = (AWFUL, NEUTRAL, NEUTRAL, NEUTRAL, LOVELY)
    at_once = sentiment(chat(*(("c", 0, text) for text in texts))).customer
    assert at_once == customer(*texts).customer
    # Each message is a fifth: a quarter holds the whole of one, and a part of another.
    first, *_, last = (segment.score for segment in customer(*texts).segments)
    assert at_once.by_quarter == pytest.approx((0.8 * first, 0, 0, 0.8 * last), abs=0.01)


def test_the_worst_moment_and_the_end_weigh_more_than_the_rest() -> None:
    felt = customer(AWFUL, NEUTRAL, LOVELY)
    scores = awful, neutral, lovely = [segment.score for segment in felt.segments]
    expected = 0.4 * sum(scores) / 3 + 0.35 * awful + 0.25 * (neutral + lovely) / 2
    assert felt.customer.overall == pytest.approx(expected, abs=1e-3)
    assert felt.customer.overall < 0 < lovely


def test_without_a_bad_moment_the_best_one_counts() -> None:
    felt = customer(LOVELY, NEUTRAL, NEUTRAL)
    scores = lovely, *last = [segment.score for segment in felt.segments]
    expected = 0.5 * sum(scores) / 3 + 0.25 * lovely + 0.25 * sum(last) / 2
    assert felt.customer.overall == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    "before", [[NEUTRAL], [AWFUL, NEUTRAL], [LOVELY, LOVELY, NEUTRAL, NEUTRAL]]
)
def test_thanks_at_the_end_of_a_chat_raise_the_sentiment(before) -> None:
    thanked = customer(*before, "Thank you so much, that was wonderful!").customer
    assert thanked.overall > customer(*before).customer.overall


def test_the_shift_is_the_last_quarter_less_the_first() -> None:
    felt = customer(AWFUL, NEUTRAL, NEUTRAL, LOVELY).customer
    assert felt.shift == pytest.approx(felt.end - felt.begin, abs=2e-4)
    assert felt.trend == "improving"


@pytest.mark.parametrize(
    ("texts", "trend"),
    [
        ([LOVELY, NEUTRAL, NEUTRAL, AWFUL], "declining"),
        ([NEUTRAL, NEUTRAL, NEUTRAL, NEUTRAL], "no_change"),
        ([*[NEUTRAL] * 7, "That works for me."], "slightly_improving"),
        (["That works for me.", *[NEUTRAL] * 7], "slightly_declining"),
        ([AWFUL, NEUTRAL, LOVELY], "not_calculated"),
    ],
)
def test_the_trend_names_the_size_of_the_shift(texts, trend) -> None:
    assert customer(*texts).customer.trend == trend


def test_one_quarter_makes_no_trend() -> None:
    lines = [("c", 0, 900, AWFUL) for _ in range(6)]
    felt = sentiment(call(*lines, duration=5_000), "voice").customer
    assert felt.shift is None
    assert felt.trend == "not_calculated"


def test_a_side_that_says_nothing_has_no_sentiment() -> None:
    assert customer(AWFUL).agent.overall is None
    assert customer(AWFUL).agent.by_quarter == (None, None, None, None)


def test_another_language_has_no_sentiment() -> None:
    felt = sentiment(chat(("c", 0, AWFUL), ("a", 5, LOVELY), language="it"))
    assert felt.customer.overall is None
    assert felt.segments == ()


def test_the_timeline_counts_from_the_first_message_or_the_start_of_the_recording() -> None:
    assert [item["atMs"] for item in customer(AWFUL, LOVELY).as_json()["timeline"]] == [0, 10_000]
    spoken = call(("c", 700, 900, AWFUL), ("a", 1_000, 2_000, NEUTRAL))
    assert [item.at_ms for item in sentiment(spoken, "voice").segments] == [700, 1_000]


def test_messages_without_times_count_by_their_place() -> None:
    felt = sentiment(chat(*(("c", None, text) for text in (AWFUL, NEUTRAL, NEUTRAL, LOVELY))))
    assert felt.customer.trend == "improving"
    assert felt.segments[0].at_ms is None


@pytest.mark.parametrize(
    ("text", "label"),
    [
        (AWFUL, "negative"),
        (NEUTRAL, "neutral"),
        (LOVELY, "positive"),
        ("You were lovely, but the delivery was a disaster.", "negative"),
    ],
)
def test_a_message_is_labelled_by_its_words(text, label) -> None:
    assert customer(text).segments[0].label == label


@given(st.lists(st.tuples(st.sampled_from("ac"), st.text(max_size=60)), max_size=8))
def test_sentiment_stays_between_its_bounds(lines) -> None:
    transcript = chat(*((letter, 7 * index, text) for index, (letter, text) in enumerate(lines)))
    felt = sentiment(transcript)
    for side in (felt.customer, felt.agent):
        for value in (side.overall, side.begin, side.end, *side.by_quarter):
            assert value is None or -1 <= value <= 1
