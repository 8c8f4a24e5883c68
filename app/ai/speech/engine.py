"""Chooses the speech engine by its name; the only door to it for the rooms above."""

import importlib
from pathlib import Path
from typing import Any

from app.ai.speech.errors import ModelMissing
from app.ai.speech.transcriber import Transcriber

EMBEDDED = "embedded"


def build_transcriber(
    provider: str = EMBEDDED,
    *,
    model_dir: Path | None = None,
    cpu_threads: int = 2,
    spool_dir: Path | None = None,
) -> Transcriber:
    """Make a transcriber; call it inside a job, in the process that will do the work.

    The engine's packages come with the asr extra and their threads do not survive a fork, so they
    are imported here, late, and not with this module.

    Args:
        model_dir: a converted Whisper model; None takes the packaged one.
        spool_dir: where decoded sound lies while it is worked on, 115 MB an hour and channel;
            None takes the system's temporary directory.

    Raises:
        ModelMissing: the asr extra is not installed.
        ValueError: there is no such provider.
    """
    if provider != EMBEDDED:
        raise ValueError(f"There is no speech engine named {provider!r}.")
    try:
        whisper: Any = importlib.import_module("app.ai.speech.whisper")
    except ImportError as error:
        raise ModelMissing from error
    transcriber: Transcriber = whisper.WhisperTranscriber(
        model_dir=model_dir, cpu_threads=cpu_threads, spool_dir=spool_dir
    )
    return transcriber
