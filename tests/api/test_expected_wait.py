"""Expected wait of recordings: the page of work says no more than is known."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from app.audio_files import jobs
from app.audio_files.models import AudioFile, ProcessingJob
from app.audio_files.processing.expected_wait import expected_wait
from app.core.clock import iso_utc
from app.core.runtime import Runtime
from tests.caller import Caller
from tests.recordings import CALL, ask, upload
from tests.running import running_runtime
from tests.transcription_server import TranscriptionServer, heard, word
from tests.visitor import signed_in

pytest.importorskip("faster_whisper", reason="the asr extra is not installed")

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.fixture
def base(serve: Callable[..., str]) -> Iterator[str]:
    """A service whose recordings are transcribed at once, by a server of the test."""
    server = TranscriptionServer()
    words = enumerate(
        [
            "Thank",
            "you",
            "for",
            "calling,",
            "how",
            "may",
            "I",
            "help",
            "you",
            "with",
            "your",
            "order",
            "today?",
        ]
        * 3
    )
    server.answer_with(heard(*(word(text, 0.2 * at, 0.2 * at + 0.2) for at, text in words)))
    yield serve(**server.settings())
    server.close()


def uploaded(client: Caller) -> str:
    """Upload a call of 29 seconds and return the id of the job."""
    return ask(client, upload(client, CALL.read_bytes()))


def transcribed(client: Caller, *times: tuple[int, int]) -> None:
    """Transcribe a recording for each start and end, in seconds after noon."""
    runtime = running_runtime()
    for start, end in times:
        job_id = uploaded(client)
        jobs.process_audio(runtime, job_id)
        with runtime.db.writing() as session:
            job = session.get_one(ProcessingJob, job_id)
            stages = {name: dict(record) for name, record in job.stages.items()}
            stages["decode"]["startedAt"] = iso_utc(NOON + timedelta(seconds=start))
            stages["transcribe"]["completedAt"] = iso_utc(NOON + timedelta(seconds=end))
            job.stages = stages


def test_the_page_says_no_more_than_is_known(client: Caller, base: str, runtime: Runtime) -> None:
    visitor = signed_in(base, runtime, "reviewer")
    assert "to be transcribed" not in visitor.get("/work").text
    first = uploaded(client)
    assert "1 recording waits to be transcribed.</p>" in visitor.get("/work").text
    jobs.process_audio(runtime, first)
    assert "to be transcribed" not in visitor.get("/work").text
    uploaded(client)
    uploaded(client)
    page = visitor.get("/work").text
    assert "2 recordings wait to be transcribed, about 1 minute of audio.</p>" in page


def test_the_pace_counts_transcriptions_at_the_same_time_once(
    client: Caller, runtime: Runtime
) -> None:
    transcribed(client, (0, 10), (5, 12))
    with runtime.db.reading() as session:
        assert expected_wait(session).pace is None
    transcribed(client, (100, 104))
    for _ in range(9):
        uploaded(client)
    with runtime.db.reading() as session:
        expected = expected_wait(session)
    assert expected.pace == pytest.approx(87 / 16)
    assert expected.recordings == 9
    assert expected.audio is not None
    assert expected.audio.total_seconds() == pytest.approx(261, abs=2)
    assert expected.wait is not None
    assert expected.wait.total_seconds() == pytest.approx(48, abs=1)
    page = signed_in(client.base, runtime, "viewer").get("/work").text
    assert "9 recordings wait to be transcribed, about 5 minutes of audio." in page
    assert "transcribed 5.4 times as fast as they play: at this pace it takes about 48 s." in page


def test_a_known_length_counts_and_an_unknown_kind_has_none(
    client: Caller, runtime: Runtime
) -> None:
    job_id = ask(client, upload(client, b"ID3", contentType="audio/mpeg"))
    with runtime.db.reading() as session:
        assert expected_wait(session).audio is None
    with runtime.db.writing() as session:
        audio_file_id = session.get_one(ProcessingJob, job_id).audio_file_id
        session.get_one(AudioFile, audio_file_id).duration_seconds = 600
    with runtime.db.reading() as session:
        assert expected_wait(session).audio == timedelta(minutes=10)


def test_what_only_waits_for_its_judgement_is_left_out(client: Caller, runtime: Runtime) -> None:
    job_id = uploaded(client)
    with runtime.db.writing() as session:
        session.get_one(ProcessingJob, job_id).transcribe = False
    with runtime.db.reading() as session:
        assert expected_wait(session).recordings == 0
