"""Stored waveforms and play copies; their ids share their body with the recording's id."""

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from app.ai.speech.transcriber import WAVEFORM_MARK, DecodedSound
from app.audio_files.enums import ContentType
from app.core.jobs.leases import LeaseLost
from app.core.settings import Settings
from app.core.storage.objects import ObjectExists, Storage

RECORDING, WAVE, PLAY_COPY = "aud", "wave", "play"


@dataclass(frozen=True, slots=True)
class PlayedObject:
    """Stored object that browsers play."""

    object_id: str
    size_bytes: int
    content_type: str


def wave_id(audio_file_id: str) -> str:
    """Return the id of the waveform of a recording."""
    return _with_prefix(WAVE, audio_file_id)


def play_copy_id(audio_file_id: str) -> str:
    """Return the id of the play copy of a recording."""
    return _with_prefix(PLAY_COPY, audio_file_id)


def by_recording(object_ids: Sequence[str]) -> Mapping[str, str]:
    """Map the ids of recordings to these ids of their waveforms or play copies."""
    return {_with_prefix(RECORDING, object_id): object_id for object_id in object_ids}


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


def spool_dir(settings: Settings) -> Path:
    """Return the folder for decoded sound."""
    spool = settings.data_dir / "spool"
    spool.mkdir(mode=0o700, exist_ok=True)
    return spool


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


def _with_prefix(prefix: str, object_id: str) -> str:
    return f"{prefix}_{object_id.partition('_')[2]}"


def peaks_of(waveform: bytes) -> tuple[int, list[list[int]]]:
    """Return how many peaks a second a stored waveform has, and the peaks of each channel."""
    channels, per_second = waveform[len(WAVEFORM_MARK)], waveform[len(WAVEFORM_MARK) + 1]
    peaks = waveform[len(WAVEFORM_MARK) + 2 :]
    count = len(peaks) // channels
    channel_peaks = [
        list(peaks[channel * count : (channel + 1) * count]) for channel in range(channels)
    ]
    return per_second, channel_peaks


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
