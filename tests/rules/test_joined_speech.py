"""Speech that is sent without its silence, and the way back of its times."""

import tempfile
from collections.abc import Iterator

import orjson
import pytest

from app.speech.decoding.sound import SourceFormat

WHY = "the asr extra is not installed"
np = pytest.importorskip("numpy", reason=WHY)
pytest.importorskip("faster_whisper", reason=WHY)

from app.speech.decoder import Recording  # noqa: E402
from app.speech.joined_speech import (  # noqa: E402 - needs the asr extra
    AnsweredTranscription,
    JoinedSpeech,
    joined,
    placed,
    read_answer,
)
from app.speech.speech_regions import Region, Speech  # noqa: E402

RATE = 16_000


@pytest.fixture
def recording() -> Iterator[Recording]:
    """A recording of one channel, 30 minutes of a quiet tone."""
    spool = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
    spool.write(np.full(1800 * RATE, 3000, np.int16).tobytes())
    source = SourceFormat(
        "wav", "pcm_s16le", RATE, channels=1, layout="", damaged=False, needs_play_copy=False
    )
    with Recording(spool, source) as recording:
        yield recording


def regions(*spans: tuple[float, float]) -> list[Region]:
    return [Region(0, int(start * RATE), int(stop * RATE)) for start, stop in spans]


@pytest.fixture
def two_turns(recording: Recording) -> JoinedSpeech:
    """Speech from 10 to 14 s and from 60 to 63 s: sent as 0 to 4 and 4.5 to 7.5 s."""
    [part] = joined(Speech(recording, {0: regions((10, 14), (60, 63))}))
    return part


def test_a_time_leads_back_to_its_region(two_turns: JoinedSpeech) -> None:
    assert two_turns.length == 8 * RATE
    assert [two_turns.start_ms(at) for at in (0, 3, 4.2, 4.5, 7)] == [
        10_000,
        13_000,
        60_000,
        60_000,
        62_500,
    ]
    assert [two_turns.end_ms(at) for at in (0, 4, 4.4, 4.5, 7.5, 99)] == [
        10_000,
        14_000,
        14_000,
        14_000,
        63_000,
        63_000,
    ]


def answer(
    text: str, *words: tuple[str, float, float], start: float, end: float
) -> AnsweredTranscription:
    rows = [{"word": word, "start": at, "end": to} for word, at, to in words]
    segments = [{"text": text, "start": start, "end": end}]
    return read_answer(orjson.dumps({"text": text, "segments": segments, "words": rows}))


def test_a_segment_over_a_pause_becomes_two_utterances(two_turns: JoinedSpeech) -> None:
    words = (("Yes", 3.0, 3.5), ("please", 3.5, 4.1), ("and", 4.6, 4.8), ("thanks", 4.8, 5.5))
    said = placed(answer("Yes, please. And thanks!", *words, start=3.0, end=5.5), two_turns)
    assert [(segment.text, segment.start_ms, segment.end_ms) for segment in said] == [
        ("Yes, please.", 13_000, 14_000),
        ("And thanks!", 60_100, 61_000),
    ]
    assert [[word.text for word in segment.words] for segment in said] == [
        ["Yes", "please"],
        ["and", "thanks"],
    ]
    assert {word.confidence for segment in said for word in segment.words} == {None}


def test_a_segment_without_words_stays_whole(two_turns: JoinedSpeech) -> None:
    [said] = placed(answer("Yes, thanks!", start=3.0, end=5.5), two_turns)
    assert (said.text, said.start_ms, said.end_ms) == ("Yes, thanks!", 13_000, 61_000)


def test_words_alone_are_divided_by_the_regions(two_turns: JoinedSpeech) -> None:
    body = (
        b'{"text": "Yes thanks", "words": [{"word": "Yes", "start": 1, "end": 2},'
        b' {"word": "thanks", "start": 5, "end": 6, "probability": 0.5}]}'
    )
    said = placed(read_answer(body), two_turns)
    assert [(segment.text, segment.start_ms) for segment in said] == [
        ("Yes", 11_000),
        ("thanks", 60_500),
    ]


def test_long_speech_is_sent_in_parts_of_ten_minutes(recording: Recording) -> None:
    spans = [(start, start + 25) for start in range(0, 1800, 30)]
    parts = list(joined(Speech(recording, {0: regions(*spans)})))
    assert [len(part.regions) for part in parts] == [23, 23, 14]
    assert all(part.length <= 601 * RATE for part in parts)
    assert len(parts[0].wav()) == 44 + 2 * parts[0].length
    assert parts[2].start_ms(0) == 46 * 30_000
