"""Stored waveforms and play copies: made by processing or on request, deleted with the recording."""

import io
import os
import time
from collections.abc import Sequence
from typing import Any

import pytest

from app.audio_files import jobs, playback, stored_objects
from app.audio_files.models import WaveformJob
from app.core.jobs import leases
from app.core.jobs.leases import LeaseLost
from app.core.runtime import Runtime
from app.operations import background_work
from app.privacy import jobs as erasures
from app.privacy import service
from app.speech.transcriber import DecodedSound
from app.transcript import AudioInfo
from tests.caller import Caller
from tests.recordings import AUDIO, SILENCE, SPEECH, ask, stored_file, upload, work

THREE_GP = AUDIO / "formats" / "jfk.3gp"


def stored(runtime: Runtime, audio_file_id: str) -> dict[str, int | None]:
    """Return the sizes of what is stored of a recording, by prefix."""
    body = audio_file_id.partition("_")[2]
    return {
        object_id.partition("_")[0]: runtime.storage.size_of(object_id)
        for object_id in sorted(runtime.storage.object_ids())
        if object_id.endswith(body)
    }


def waveform(client: Caller, audio_file_id: str) -> Any:
    """Ask for the waveform, and return the answer's data, or None."""
    answer = client.get(f"/audio-files/{audio_file_id}/waveform")
    assert answer.status_code in (200, 404), answer.text
    return answer.json()["data"] if answer.status_code == 200 else None


def erase(runtime: Runtime, audio_file_ids: Sequence[str]) -> None:
    with runtime.db.writing() as session:
        service.erase_recordings(session, audio_file_ids)


def test_processing_stores_the_waveform_and_erasure_deletes_it(
    client: Caller, runtime: Runtime
) -> None:
    speech = upload(client, SPEECH.read_bytes(), contentType="audio/mpeg")
    assert work(client, speech)["error"]["code"] == "INSUFFICIENT_CONTENT"
    assert stored(runtime, speech) == {"aud": SPEECH.stat().st_size, "wave": 226}

    erase(runtime, [speech])
    erasures.purge_bytes(runtime)
    assert stored(runtime, speech) == {}


def test_a_recording_without_a_waveform_gets_one_on_request(
    client: Caller, runtime: Runtime
) -> None:
    older = upload(client, THREE_GP.read_bytes(), contentType="audio/mp4")
    assert jobs.due_waveform_ids(runtime) == []
    for _ in range(2):
        assert waveform(client, older)["status"] == "drawing"
    [job_id] = jobs.due_waveform_ids(runtime)
    jobs.draw_waveform(runtime, job_id)
    sizes = stored(runtime, older)
    assert sorted(sizes) == ["aud", "play", "wave"]
    assert sizes["wave"] == 227
    drawn = waveform(client, older)
    assert (drawn["status"], drawn["peaksPerSecond"]) == ("ready", 20)
    [peaks] = drawn["channels"]
    assert len(peaks) == 221
    assert 150 < max(peaks) <= 255
    played = playback.played(runtime.storage, older, "audio/3gpp")
    assert played is not None
    assert (played.object_id, played.content_type) == (
        stored_objects.play_copy_id(older),
        "audio/mp4",
    )

    erase(runtime, [older])
    erasures.purge_bytes(runtime)
    assert stored(runtime, older) == {}
    assert waveform(client, older) is None


def test_a_file_that_cannot_be_decoded_gets_no_waveform(client: Caller, runtime: Runtime) -> None:
    broken = upload(client, b"RIFF not a recording")
    assert waveform(client, broken)["status"] == "drawing"
    jobs.draw_waveform(runtime, stored_objects.wave_id(broken))
    assert jobs.due_waveform_ids(runtime) == []
    assert waveform(client, broken) is None
    assert sorted(stored(runtime, broken)) == ["aud"]


def test_a_recording_that_waits_for_processing_is_drawn_by_it(
    client: Caller, runtime: Runtime
) -> None:
    waiting = upload(client, SILENCE.read_bytes())
    job_id = ask(client, waiting)
    assert waveform(client, waiting)["status"] == "drawing"
    assert jobs.due_waveform_ids(runtime) == []
    jobs.process_audio(runtime, job_id)
    assert sorted(stored(runtime, waiting)) == ["aud", "wave"]


def test_a_recording_erased_while_it_is_drawn_keeps_nothing(
    client: Caller, runtime: Runtime
) -> None:
    audio_file_id = upload(client, SILENCE.read_bytes())
    assert waveform(client, audio_file_id)["status"] == "drawing"
    with runtime.db.writing() as session:
        lease = leases.claim(session, stored_objects.wave_id(audio_file_id), WaveformJob)
    assert lease is not None
    sound = DecodedSound(AudioInfo("wav", "gsm", 8000, 1, 1000), b"CQW1", io.BytesIO(b"sound"))
    erase(runtime, [audio_file_id])
    erasures.purge_bytes(runtime)

    def store() -> None:
        with playback.stored(runtime.storage, audio_file_id, sound):
            assert sorted(stored(runtime, audio_file_id)) == ["play", "wave"]
            with runtime.db.writing() as session:
                leases.held(session, lease)

    with pytest.raises(LeaseLost):
        store()
    assert stored(runtime, audio_file_id) == {}


def test_what_a_crash_left_of_an_erased_recording_is_an_orphan(
    client: Caller, runtime: Runtime
) -> None:
    kept, erased = upload(client, b"kept"), upload(client, b"erased")
    erase(runtime, [erased])
    erasures.purge_bytes(runtime)
    long_ago = time.time() - 90_000
    for name in (stored_objects.wave_id, stored_objects.play_copy_id):
        for audio_file_id in (kept, erased):
            runtime.storage.write(name(audio_file_id), io.BytesIO(b"bytes"), size_bytes=5)
            path = stored_file(runtime, name(audio_file_id))
            os.utime(path or "", (long_ago, long_ago))
    assert (
        sum(
            background_work.delete_orphans(runtime, part)
            for part in range(background_work.ORPHAN_PARTS)
        )
        == 2
    )
    assert sorted(stored(runtime, kept)) == ["aud", "play", "wave"]
    assert stored(runtime, erased) == {}
