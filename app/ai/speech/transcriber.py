"""The seam of speech recognition: what a transcriber is asked, answers, and fails with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from app.ai.speech.decoding.limits import DEFAULT_MAX_DURATION_S
from app.ai.transcript import AudioInfo, Role, Transcript
from app.core.process.stopping import never_stop


def _default_roles() -> dict[int, Role]:
    return {0: Role.AGENT, 1: Role.CUSTOMER}


@dataclass(frozen=True, slots=True)
class TranscribeOptions:
    """What the caller knows about a recording.

    `language` is a BCP 47 tag or None (the model decides). `channel_roles` says who speaks on each
    channel, counted from 0; other channels are unknown. `content_type` is what the uploader
    declared: the first bytes must agree with it; None takes any kind of file that can be read.
    """

    language: str | None = None
    channel_roles: Mapping[int, Role] = field(default_factory=_default_roles)
    content_type: str | None = None
    word_timestamps: bool = True
    max_duration_s: float = DEFAULT_MAX_DURATION_S


class Transcriber(Protocol):
    """Turns a sound file into a transcript; used only inside a job."""

    def transcribe(
        self,
        path: Path,
        options: TranscribeOptions,
        *,
        progress: Callable[[float], None],
        on_decoded: Callable[[AudioInfo], None] | None = None,
        should_stop: Callable[[], bool] = never_stop,
    ) -> Transcript:
        """Transcribe the file; a recording without speech is a success with the warning `no_speech`.

        Args:
            progress: called with 0 to 1, never falling, by seconds of sound done.
            on_decoded: called once, when the sound has been read and measured.
            should_stop: asked often; when it says yes, `Stopped` is raised.

        Raises:
            TranscriptionError: with the code of what went wrong.
        """
