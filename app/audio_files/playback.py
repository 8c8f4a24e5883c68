"""Waveforms and play copies, stored next to a recording so that people can see and hear it.

Their ids share their body with the recording's id.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sqlalchemy.orm import Session

from app.audio_files import queries
from app.audio_files.enums import AudioStatus, ContentType
from app.audio_files.models import WaveformJob
from app.core.database.session import ring_after_commit
from app.core.database.upserts import insert_missing
from app.core.errors import NotFound
from app.core.jobs.leases import JobState, LeaseLost
from app.core.queue import Bell
from app.core.settings import Settings
from app.core.storage.objects import ObjectExists, Storage
from app.speech.transcriber import WAVEFORM_MARK, DecodedSound

WAVEFORM_QUEUE = "waveforms"
waveform_bell = partial(Bell, WAVEFORM_QUEUE)
# A recording in these states gets its waveform from the processing job.
_PROCESSING = (AudioStatus.QUEUED, AudioStatus.TRANSCRIBING)


@dataclass(frozen=True, slots=True)
class PlayedObject:
    """Stored object that browsers play."""

    object_id: str
    size_bytes: int
    content_type: str


def request_waveform(session: Session, audio_file_id: str) -> None:
    """Queue the drawing of a stored recording, once.

    Raises:
        NotFound: there is no such recording, its file was deleted, or it cannot be drawn.
        Conflict: it has not been uploaded.
    """
    audio = queries.find_stored(session, audio_file_id)
    if audio.status in _PROCESSING:
        return
    job_id = wave_id(audio.id)
    job = session.get(WaveformJob, job_id)
    if job is not None and job.state == JobState.FAILED:
        raise NotFound("No waveform can be drawn of this recording.")
    if job is not None:
        return
    insert_missing(session, WaveformJob, id=job_id, audio_file_id=audio.id)
    ring_after_commit(session, waveform_bell(job_id))


@contextmanager
def stored(storage: Storage, audio_file_id: str, sound: DecodedSound) -> Iterator[None]:
    """Store waveform and play copy around the step of a job that records them.

    Erasure ends the job, so that the step finds its lease lost; both are deleted again then.

    Raises:
        DiskFull: too little disk space is free.
    """
    _store(storage, audio_file_id, sound)
    try:
        yield
    except LeaseLost:
        delete(storage, audio_file_id)
        raise


def delete(storage: Storage, audio_file_id: str) -> None:
    """Delete the waveform and the play copy of a recording."""
    storage.delete(wave_id(audio_file_id))
    storage.delete(play_copy_id(audio_file_id))


def played(storage: Storage, audio_file_id: str, content_type: str) -> PlayedObject | None:
    """Return what browsers play: the play copy, or else the upload."""
    for object_id, type_ in (
        (play_copy_id(audio_file_id), ContentType.MP4),
        (audio_file_id, content_type),
    ):
        size_bytes = storage.size_of(object_id)
        if size_bytes is not None:
            return PlayedObject(object_id, size_bytes, type_)
    return None


def peaks_of(waveform: bytes) -> tuple[int, list[list[int]]]:
    """Return how many peaks a second a stored waveform has, and the peaks of each channel."""
    channels, per_second = waveform[len(WAVEFORM_MARK)], waveform[len(WAVEFORM_MARK) + 1]
    peaks = waveform[len(WAVEFORM_MARK) + 2 :]
    count = len(peaks) // channels
    channel_peaks = [
        list(peaks[channel * count : (channel + 1) * count]) for channel in range(channels)
    ]
    return per_second, channel_peaks


def wave_id(audio_file_id: str) -> str:
    """Return the id of the waveform of a recording."""
    return _with_prefix("wave", audio_file_id)


def play_copy_id(audio_file_id: str) -> str:
    """Return the id of the play copy of a recording."""
    return _with_prefix("play", audio_file_id)


def by_recording(object_ids: Sequence[str]) -> Mapping[str, str]:
    """Map the ids of recordings to these ids of their waveforms or play copies."""
    return {_with_prefix("aud", object_id): object_id for object_id in object_ids}


def spool_dir(settings: Settings) -> Path:
    """Return the folder for decoded sound."""
    spool = settings.data_dir / "spool"
    spool.mkdir(mode=0o700, exist_ok=True)
    return spool


def _with_prefix(prefix: str, object_id: str) -> str:
    return f"{prefix}_{object_id.partition('_')[2]}"


def _store(storage: Storage, audio_file_id: str, sound: DecodedSound) -> None:
    """Store the waveform last: where it is, a needed play copy is too."""
    if sound.play_copy is not None:
        size_bytes = sound.play_copy.seek(0, io.SEEK_END)
        sound.play_copy.seek(0)
        with suppress(ObjectExists):
            storage.write(play_copy_id(audio_file_id), sound.play_copy, size_bytes=size_bytes)
    with suppress(ObjectExists):
        peaks = io.BytesIO(sound.waveform)
        storage.write(wave_id(audio_file_id), peaks, size_bytes=len(sound.waveform))
