"""Stored objects of a recording: ids of its waveform, copies and sides, with the body of its own id."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlayedObject:
    """An object that is played; `version` is empty, or tells it from an earlier one of this id."""

    object_id: str
    size_bytes: int
    content_type: str
    version: str = ""

    @property
    def etag(self) -> str:
        return f"{self.object_id}-{self.version}" if self.version else self.object_id


def wave_id(audio_file_id: str) -> str:
    return _with_prefix("wave", audio_file_id)


def play_copy_id(audio_file_id: str) -> str:
    return _with_prefix("play", audio_file_id)


def mute_id(audio_file_id: str) -> str:
    """Return the id of the muted copy of a recording, and of the job that makes it."""
    return _with_prefix("mute", audio_file_id)


def join_id(object_id: str) -> str:
    """Return the id of the job that joins the sides of a recording."""
    return _with_prefix("join", object_id)


def side_ids(object_id: str) -> dict[str, str]:
    """Return the ids of the sides of a call by their roles, in the order of the channels."""
    return {role: _with_prefix(role, object_id) for role in ("agent", "customer")}


def by_recording(object_ids: Sequence[str]) -> Mapping[str, str]:
    return {recording_of(object_id): object_id for object_id in object_ids}


def recording_of(object_id: str) -> str:
    """Return the id of the recording that a waveform or copy belongs to."""
    return _with_prefix("aud", object_id)


def _with_prefix(prefix: str, object_id: str) -> str:
    return f"{prefix}_{object_id.partition('_')[2]}"
