"""Views of one evaluation: cut texts, parts of the sound, waits, moments and changed answers."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.dashboard.views.conversation import (
    PlayWindow,
    Quote,
    clock,
    moments_by_turn,
    play_window,
    text_runs,
    turns_of,
)
from app.dashboard.views.scored import changes_between, is_estimated

TEXT = st.text(alphabet="abc de.", max_size=40)


def quotes_in(text: str) -> st.SearchStrategy[list[Quote]]:
    place = st.integers(0, len(text))
    quote = st.builds(
        lambda key, a, b: Quote(key, min(a, b), max(a, b)), st.sampled_from("xyz"), place, place
    )
    return st.lists(quote, max_size=6)


TEXT_WITH_QUOTES = TEXT.flatmap(lambda text: st.tuples(st.just(text), quotes_in(text)))


def turn(text: str, *, start_ms: int | None = 1000, timed: bool = True, **more: Any) -> Any:
    """A turn of which each word takes 500 ms."""
    words = [
        {"text": word, "startMs": 1000 + 500 * index, "endMs": 1400 + 500 * index}
        for index, word in enumerate(text.split() if timed else [])
    ]
    end_ms = None if start_ms is None else start_ms + 9000
    return {"text": text, "startMs": start_ms, "endMs": end_ms, "words": words, **more}


def message(number: int, sent_at: str | None, **more: Any) -> Any:
    return turn(
        f"message {number}",
        start_ms=None,
        timed=False,
        id=f"seg_{number}",
        role="customer",
        participantId="customer",
        language="en",
        sentiment=None,
        confidence=None,
        sentAt=sent_at,
        **more,
    )


def transcript(*segments: Any) -> Any:
    return {
        "segments": segments,
        "participants": [{"id": "customer", "displayName": "Ann"}],
    }


def criterion(key: str, answer: Any, score: float | None, **more: Any) -> Any:
    return {
        "key": key,
        "title": key.capitalize(),
        "applicable": score is not None,
        "answer": answer,
        "normalizedScore": score,
        "judgedBy": "rule",
        **more,
    }


@given(TEXT_WITH_QUOTES)
def test_every_character_keeps_the_criteria_of_all_its_quotes(
    case: tuple[str, list[Quote]],
) -> None:
    text, quotes = case
    runs = text_runs(text, quotes)
    assert "".join(run.text for run in runs) == text
    place = 0
    for run in runs:
        for at in range(place, place + len(run.text)):
            covering = {quote.criterion for quote in quotes if quote.start <= at < quote.end}
            assert set(run.criteria) == covering
        place += len(run.text)


def test_overlapping_quotes_are_cut_where_they_overlap() -> None:
    runs = text_runs("I was charged twice", [Quote("a", 2, 13), Quote("b", 6, 19)])
    assert [(run.text, run.criteria) for run in runs] == [
        ("I ", ()),
        ("was ", ("a",)),
        ("charged", ("a", "b")),
        (" twice", ("b",)),
    ]


def test_a_quote_plays_its_words_and_a_little_around_them() -> None:
    said = turn("Hello, I was charged twice for it")
    start = said["text"].index("was charged twice")
    assert play_window(said, start, start + 17) == PlayWindow(1700, 3700)
    assert play_window(said, start, start + 17, duration_ms=3500) == PlayWindow(1700, 3500)
    assert play_window(said, 0, 5) == PlayWindow(700, 1700)


def test_a_quote_is_heard_from_five_seconds_before_at_most() -> None:
    assert PlayWindow(61_000, 62_000).lead_in_ms == 56_000
    assert PlayWindow(1700, 3700).lead_in_ms == 0


def test_a_word_that_is_said_twice_plays_at_its_own_time() -> None:
    said = turn("no no no")
    assert play_window(said, 6, 8) == PlayWindow(1700, 2700)


def test_a_turn_without_times_of_words_plays_whole_and_a_message_not() -> None:
    assert play_window(turn("Hello there", timed=False), 0, 5) == PlayWindow(700, 10_300)
    assert play_window(turn("Hello", start_ms=None, timed=False), 0, 5) is None


@given(TEXT_WITH_QUOTES, st.integers(1, 30_000))
def test_a_part_of_the_sound_never_ends_before_it_begins(
    case: tuple[str, list[Quote]], duration_ms: int
) -> None:
    text, quotes = case
    for quote in quotes:
        window = play_window(turn(text), quote.start, quote.end)
        assert window is not None
        assert 0 <= window.start_ms < window.end_ms


def test_a_wait_of_a_minute_is_shown_between_messages() -> None:
    shown = turns_of(
        transcript(
            message(1, "2026-11-21T09:04:00.000Z"),
            message(2, "2026-11-21T09:04:59.000Z"),
            message(3, "2026-11-21T09:07:00.000Z"),
            message(4, None),
        ),
        {},
    )
    assert [turn.wait_s for turn in shown] == [None, None, 121, None]
    assert [turn.clock for turn in shown] == ["0:00", "0:59", "3:00", ""]
    assert {turn.name for turn in shown} == {"Ann"}


def test_moments_belong_to_their_turns() -> None:
    first, second, third = ({"segmentId": segment} for segment in ("seg_2", "seg_1", "seg_2"))
    assert moments_by_turn([first, second, third]) == {"seg_2": [first, third], "seg_1": [second]}


def test_clocks_have_hours_only_when_needed() -> None:
    assert [clock(value) for value in (None, 0, 59_999, 3_600_000)] == [
        "",
        "0:00",
        "0:59",
        "1:00:00",
    ]


def test_changed_answers_are_listed_and_equal_ones_are_not() -> None:
    before = [criterion("a", "no", 0.0), criterion("b", 2, 1.0), criterion("old", "yes", 1.0)]
    after = [
        criterion("a", "yes", 1.0, judgedBy="human"),
        criterion("b", 2, 1.0),
        criterion("new", None, None),
    ]
    changes = changes_between(before, after)
    assert [
        (change.title, change.before, change.after, change.judged_by) for change in changes
    ] == [
        ("A", "No", "Yes", "human"),
        ("New", "Not in this scorecard", "Not applicable", "rule"),
        ("Old", "Yes", "Not in this scorecard", None),
    ]


@pytest.mark.parametrize(("estimated", "expected"), [(40, False), (60, True), (100, True)])
def test_a_score_that_rests_mostly_on_estimates_is_said_to(estimated: int, expected: bool) -> None:
    judged = {"points": 1, "maxPoints": 100 - estimated, "estimate": None}
    unsure = {"points": None, "maxPoints": estimated, "estimate": 0.5}
    without_place = {"points": None, "maxPoints": 500, "estimate": None}
    results = {"criteria": [judged, unsure, without_place], "autoFail": {"triggered": False}}
    assert is_estimated(results) is expected
    assert not is_estimated({**results, "autoFail": {"triggered": True}})
