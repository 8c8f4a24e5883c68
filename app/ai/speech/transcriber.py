"""Interface of transcribers: their options and the protocol that each implements."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

from app.ai.speech.decoding.limits import DEFAULT_MAX_DURATION_S
from app.ai.transcript import AudioInfo, Role, Transcript
from app.core.process.stopping import never_stop


@dataclass(frozen=True, slots=True)
class TranscriptionOptions:
    """Properties of a recording that the caller knows.

    `language` is a BCP 47 tag, or None to let the model decide. `channel_roles` maps channels,
    counted from 0, to their speakers; other channels are unknown. `content_type` is the declared
    type, which the first bytes must match; None accepts every type.
    """

    language: str | None = None
    channel_roles: Mapping[int, Role] = field(
        default_factory=lambda: {0: Role.AGENT, 1: Role.CUSTOMER}
    )
    content_type: str | None = None
    max_duration_s: float = DEFAULT_MAX_DURATION_S


@dataclass(frozen=True, slots=True)
class DecodedSound:
    """Sound of a decoded recording, for playing and drawing it.

    Attributes:
        info: properties that decoding has found.
        waveform: peaks for drawing (see `speech.waveform`).
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
