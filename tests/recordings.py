"""Helpers that upload a recording like a client and process it like a worker."""

import os
import time
import wave
from pathlib import Path
from typing import Any

import requests

from app.audio_files import jobs
from app.core.runtime import Runtime
from app.operations import background_work
from app.speech.decoder import decode
from tests.caller import Caller
from tests.running import running_runtime

AUDIO = Path(__file__).parent / "data" / "audio"
CARD = AUDIO / "calls" / "card-number.stereo.ogg"
CALL = AUDIO / "calls" / "fx-call-2.stereo.wav"
SPEECH = AUDIO / "formats" / "jfk.mp3"
SILENCE = AUDIO / "nospeech" / "silence.wav"
MUSIC = AUDIO / "nospeech" / "hold-music.wav"


def reserve(client: Caller, size_bytes: int = 1000, **fields: Any) -> dict[str, Any]:
    """Reserve an upload and return the answer's data."""
    body = {"fileName": "call.wav", "contentType": "audio/wav", "sizeBytes": size_bytes, **fields}
    answer = client.post("/audio-files/upload-url", body)
    assert answer.status_code == 201, answer.text
    return dict(answer.json()["data"])


def send(reserved: dict[str, Any], body: bytes, **headers: str) -> requests.Response:
    """Upload the file with the signed link."""
    return requests.put(
        reserved["uploadUrl"],
        data=body,
        headers={**reserved["headers"], **headers},
        timeout=30,
    )


def upload(client: Caller, body: bytes, **fields: Any) -> str:
    """Upload bytes and return the id of the recording."""
    reserved = reserve(client, len(body), **fields)
    assert send(reserved, body).status_code == 201
    return str(reserved["audioFileId"])


def show(client: Caller, audio_file_id: str) -> dict[str, Any]:
    """Return the recording."""
    answer = client.get(f"/audio-files/{audio_file_id}")
    assert answer.status_code == 200
    return dict(answer.json()["data"])


def progress(client: Caller, audio_file_id: str) -> dict[str, Any]:
    """Return the processing status."""
    answer = client.get(f"/audio-files/{audio_file_id}/processing-status")
    assert answer.status_code == 200
    return dict(answer.json()["data"])


def waveform_of(client: Caller, audio_file_id: str) -> list[list[int]]:
    """Return the peaks of each channel."""
    answer = client.get(f"/audio-files/{audio_file_id}/waveform")
    assert answer.status_code == 200
    return list(answer.json()["data"]["channels"])


def ask(client: Caller, audio_file_id: str, **options: Any) -> str:
    """Queue the processing and return the id of its job."""
    answer = client.post(f"/audio-files/{audio_file_id}/process", options)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["data"]["jobId"])


def stored_file(runtime: Runtime, object_id: str) -> Path | None:
    """Return the file of an object of the local storage."""
    with runtime.storage.local_copy(object_id) as copy:
        return None if copy is None else copy.path


def work(client: Caller, audio_file_id: str, **options: Any) -> dict[str, Any]:
    """Process the recording in this process and return it."""
    jobs.process_audio(running_runtime(), ask(client, audio_file_id, **options))
    return show(client, audio_file_id)


def sides_kept(runtime: Runtime) -> set[str]:
    """Return the ids of stored sides of pairs."""
    ids = runtime.storage.object_ids()
    return {object_id for object_id in ids if object_id.startswith(("agent_", "customer_"))}


def sweep_after_a_day(runtime: Runtime) -> None:
    """Delete orphaned files as the service does when they are a day old."""
    long_ago = time.time() - 90_000
    for object_id in runtime.storage.object_ids():
        os.utime(stored_file(runtime, object_id) or "", (long_ago, long_ago))
    for part in range(background_work.ORPHAN_PARTS):
        background_work.delete_orphans(runtime, part)


def split_call(folder: Path, left: str, right: str) -> None:
    """Write the channels of a call, the agent's first, as two files."""
    with decode(CARD, spool_dir=folder) as call:
        for channel, name in enumerate((left, right)):
            sound = call.read(channel, 0, call.sample_count)
            with wave.open(str(folder / name), "wb") as side:
                side.setnchannels(1)
                side.setsampwidth(2)
                side.setframerate(16_000)
                side.writeframes((sound * 32767).astype("<i2").tobytes())
