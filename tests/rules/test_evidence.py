from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.judge.dialogue.evidence import (
    CONTRADICTS,
    beginning,
    evidence_at,
    sentence_around,
    verified,
)
from app.judge.rule_judge import checked
from app.judge.scoring.answers import judged
from tests.talks import GOOD_CALL

SEGMENTS = {segment.id: segment for segment in GOOD_CALL.segments}
FIRST = GOOD_CALL.segments[0]
TRUE = evidence_at(FIRST, 0, 30)


def test_a_quote_is_the_text_between_its_offsets() -> None:
    assert TRUE.quote == "Thank you for calling Northwin"
    assert (TRUE.start_ms, TRUE.end_ms) == (0, 5_000)


@given(st.text(max_size=40), st.integers(0, 45), st.integers(0, 45))
def test_whatever_is_quoted_holds(text, start, end) -> None:
    segment = replace(FIRST, text=text)
    try:
        quoted = evidence_at(segment, start, end)
    except ValueError:
        assert not text[start:end].strip()
        return
    assert text[quoted.char_start : quoted.char_end] == quoted.quote
    assert verified([quoted], {segment.id: segment}) == ((quoted,), 0)


def test_white_space_is_not_quoted() -> None:
    segment = replace(FIRST, text="  Hello there \n")
    assert beginning(segment).quote == "Hello there"
    assert beginning(segment).char_start == 2


LONG = " ".join(f"word{number}" for number in range(80))


@pytest.mark.parametrize(
    ("text", "cue", "quote"),
    [
        ("Hi there. I am unable to move it. Bye.", "unable to", "I am unable to move it."),
        ("Sorry. The driver was late today.", "Sorry", "Sorry. The driver was late today."),
        ("It costs 3.50 euros a day. Yes.", "costs", "It costs 3.50 euros a day."),
        ("Thank you so much, Anna. Bye.", "Bye", "Thank you so much, Anna. Bye."),
        ("i am afraid it is lost", "afraid", "i am afraid it is lost"),
        (LONG, "word40", " ".join(f"word{number}" for number in range(30, 60))),
        (LONG, "word79", " ".join(f"word{number}" for number in range(50, 80))),
    ],
)
def test_a_sentence_is_quoted_and_never_a_fragment(text, cue, quote) -> None:
    segment = replace(FIRST, text=text)
    start = text.index(cue)
    assert sentence_around(segment, start, start + len(cue)).quote == quote


@given(st.text(max_size=300), st.integers(0, 300), st.integers(1, 40))
def test_whatever_is_widened_to_a_sentence_holds_and_is_short(text, start, length) -> None:
    segment = replace(FIRST, text=text)
    if not text[start : start + length].strip():
        return
    for quoted in (sentence_around(segment, start, start + length), beginning(segment)):
        assert verified([quoted], {segment.id: segment}) == ((quoted,), 0)
        assert len(quoted.quote.split()) <= 30


@pytest.mark.parametrize(
    "lie",
    [
        {"segment_id": "seg_9999"},
        {"quote": "Thank you for calling Southwin"},
        {"quote": "thank you for calling northwin"},
        {"char_start": 1},
        {"char_end": 31},
        {"char_start": -30, "char_end": 0},
        {"char_end": 9_999},
        {"start_ms": 10},
        {"end_ms": None},
        {"polarity": "maybe"},
        {"quote": "", "char_end": 0},
    ],
)
def test_evidence_that_the_transcript_does_not_hold_is_dropped_and_counted(lie) -> None:
    kept, dropped = verified([TRUE, replace(TRUE, **lie)], SEGMENTS)
    assert kept == (TRUE,)
    assert dropped == 1


def test_an_answer_keeps_only_the_evidence_that_holds() -> None:
    answer = judged(
        "no",
        0,
        "So it is.",
        confidence=1,
        evidence=[replace(TRUE, quote="Never said"), beginning(FIRST, CONTRADICTS)],
    )
    answers, dropped = checked({"a": answer}, GOOD_CALL)
    assert dropped == 1
    assert [item.quote for item in answers["a"].evidence] == [FIRST.text]
