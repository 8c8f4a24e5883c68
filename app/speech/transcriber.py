"""Interface of transcribers and their factory, through which jobs reach the libraries of the asr extra."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

from app.core.process.stopping import never_stop
from app.speech.decoding.sound import DEFAULT_MAX_DURATION_S
from app.speech.errors import ModelMissing
from app.speech.server_access import ServerAccess
from app.transcript import AudioInfo, Role, Transcript

# A stored waveform begins with it.
WAVEFORM_MARK = b"CQW1"


@dataclass(frozen=True, slots=True)
class TranscriptionOptions:
    """Properties of a recording that the caller knows.

    `language` is a BCP 47 tag, or None to let the model decide. `channel_roles` maps channels,
    counted from 0, to their speakers; other channels are unknown. `voice_roles` does the same for the
    voices of one channel that a server tells apart, in the order in which they begin; the service never guesses
    these. `content_type` is the declared
    type, which the first bytes must match; None accepts every type.
    """

    language: str | None = None
    channel_roles: Mapping[int, Role] = field(
        default_factory=lambda: {0: Role.AGENT, 1: Role.CUSTOMER}
    )
    voice_roles: Mapping[int, Role] = field(default_factory=dict)
    content_type: str | None = None
    max_duration_s: float = DEFAULT_MAX_DURATION_S


@dataclass(frozen=True, slots=True)
class DecodedSound:
    """Sound of a decoded recording, for playing and drawing it.

    Attributes:
        info: properties that decoding has found.
        waveform: peaks for drawing (see `speech.decoder.waveform`).
        play_copy: open file with AAC in MP4, if browsers do not play the upload at the right
            times; it is closed after the call that received it.
    """

    info: AudioInfo
    waveform: bytes
    play_copy: IO[bytes] | None


class Transcriber(Protocol):
    """Turns an audio file into a transcript; only jobs call it."""

    def transcribe(
        self,
        path: Path,
        options: TranscriptionOptions,
        *,
        progress: Callable[[float], None],
        on_decoded: Callable[[DecodedSound], None] | None = None,
        should_stop: Callable[[], bool] = never_stop,
    ) -> Transcript:
        """Transcribe a file; without speech, the transcript is empty and has the warning `no_speech`.

        Args:
            progress: called with values from 0 to 1 that never decrease.
            on_decoded: called once, when the file has been decoded.
            should_stop: called often; if it returns true, `TranscriptionStopped` is raised.

        Raises:
            TranscriptionError: its `code` names the reason.
        """


def build_transcriber(
    *,
    server: ServerAccess | None = None,
    fallback: bool = False,
    model_dir: Path | None = None,
    models_dir: Path | None = None,
    always_base: bool = False,
    cpu_threads: int = 2,
    spool_dir: Path | None = None,
    min_free_bytes: int = 0,
) -> Transcriber:
    """Build a transcriber. Call this in the process that transcribes, and do not fork afterwards.

    The libraries of the asr extra start threads that do not survive a fork, so they are imported
    here and not with the module.

    Args:
        server: transcribes instead of the local model.
        fallback: whether the local model transcribes where the server does not.
        model_dir: folder of a converted Whisper model; None selects the packaged ones.
        models_dir: folder for the multilingual model, which is joined there; None does without it.
        always_base: whether the multilingual model also transcribes English.
        spool_dir: folder for decoded sound, 115 MB for an hour of one channel; None selects the
            system's temporary folder.
        min_free_bytes: disk space that decoding leaves free.

    Raises:
        ModelMissing: the asr extra is not installed.
    """
    local = _import("local_recogniser").LocalRecogniser(
        model_dir=model_dir,
        models_dir=models_dir,
        always_base=always_base,
        cpu_threads=cpu_threads,
    )
    recogniser = local
    if server is not None:
        recogniser = _import("remote_recogniser").RemoteRecogniser(server)
        if fallback:
            recogniser = _import("recogniser").FallbackRecogniser(recogniser, local)
    transcriber: Transcriber = _import("pipeline").SpeechTranscriber(
        recogniser, spool_dir=spool_dir, min_free_bytes=min_free_bytes
    )
    return transcriber


def decoded(
    path: Path,
    options: TranscriptionOptions,
    *,
    spool_dir: Path,
    min_free_bytes: int,
    should_stop: Callable[[], bool],
    silent: Sequence[tuple[int, int]] | None = None,
) -> AbstractContextManager[DecodedSound]:
    """Decode a recording without transcribing it (see `speech.decoder.decoded`).

    Raises:
        ModelMissing: the asr extra is not installed.
    """
    sound: AbstractContextManager[DecodedSound] = _import("decoder").decoded(
        path,
        options,
        spool_dir=spool_dir,
        min_free_bytes=min_free_bytes,
        should_stop=should_stop,
        silent=silent,
    )
    return sound


def join_sides(
    first: Path,
    second: Path,
    target: IO[bytes],
    *,
    spool_dir: Path,
    min_free_bytes: int,
    second_later_s: float = 0,
) -> None:
    """Write two sides of a call as one recording (see `speech.two_sides.join`).

    Raises:
        ModelMissing: the asr extra is not installed.
    """
    _import("two_sides").join(
        first,
        second,
        target,
        spool_dir=spool_dir,
        min_free_bytes=min_free_bytes,
        second_later_s=second_later_s,
    )


def _import(module: str) -> Any:
    try:
        return importlib.import_module(f"app.speech.{module}")
    except ImportError as error:
        raise ModelMissing from error
