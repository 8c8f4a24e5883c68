"""Waveforms, play copies and muted copies, stored with a recording so that people can see and hear it."""

import io
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO

from sqlalchemy.orm import Session

from app.audio_files import queries
from app.audio_files.enums import AudioStatus, ContentType
from app.audio_files.models import WaveformJob
from app.audio_files.stored_objects import PlayedObject, mute_id, play_copy_id, side_ids, wave_id
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
def stored(
    storage: Storage, audio_file_id: str, sound: DecodedSound, *, muted: bool = False
) -> Iterator[None]:
    """Store waveform and play copy, or muted copy, around the step of a job that records them.

    Erasure ends the job, so that the step finds its lease lost; both are deleted again then.

    Raises:
        DiskFull: too little disk space is free.
    """
    copy_id = mute_id if muted else play_copy_id
    if sound.play_copy is not None:
        _write(storage, copy_id(audio_file_id), sound.play_copy, replace=muted)
    # The waveform last: where it is, a needed copy is too.
    _write(storage, wave_id(audio_file_id), io.BytesIO(sound.waveform), replace=muted)
    try:
        yield
    except LeaseLost:
        delete(storage, audio_file_id)
        raise


def delete(storage: Storage, audio_file_id: str) -> None:
    """Delete everything but the recording itself."""
    for object_id in (wave_id, play_copy_id, mute_id):
        storage.delete(object_id(audio_file_id))
    for side in side_ids(audio_file_id).values():
        storage.delete(side)


def delete_original(storage: Storage, audio_file_id: str) -> None:
    """Delete the sound that says what the text masks."""
    storage.delete(play_copy_id(audio_file_id))
    storage.delete(audio_file_id)


def played(storage: Storage, audio_file_id: str, content_type: str) -> PlayedObject | None:
    """Return what browsers play of an original: the play copy, or else the upload."""
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


def spool_dir(settings: Settings) -> Path:
    spool = settings.data_dir / "spool"
    spool.mkdir(mode=0o700, exist_ok=True)
    return spool


def _write(storage: Storage, object_id: str, file: IO[bytes], *, replace: bool) -> None:
    size_bytes = file.seek(0, io.SEEK_END)
    file.seek(0)
    with suppress(ObjectExists):
        storage.write(object_id, file, size_bytes=size_bytes, replace=replace)
