"""Factory of transcribers and decoders: jobs reach the libraries of the asr extra through it."""

import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from app.ai.speech.errors import ModelMissing
from app.ai.speech.remote.access import ServerAccess
from app.ai.speech.transcriber import DecodedSound, Transcriber, TranscriptionOptions


def build_transcriber(
    *,
    server: ServerAccess | None = None,
    fallback: bool = False,
    model_dir: Path | None = None,
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
        model_dir: folder of a converted Whisper model; None selects the packaged one.
        spool_dir: folder for decoded sound, 115 MB for an hour of one channel; None selects the
            system's temporary folder.
        min_free_bytes: disk space that decoding leaves free.

    Raises:
        ModelMissing: the asr extra is not installed.
    """
    local = _import("local.recogniser").LocalRecogniser(
        model_dir=model_dir, cpu_threads=cpu_threads
    )
    recogniser = local
    if server is not None:
        recogniser = _import("remote.recogniser").RemoteRecogniser(server)
        if fallback:
            recogniser = _import("fallback").FallbackRecogniser(recogniser, local)
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
) -> AbstractContextManager[DecodedSound]:
    """Decode a recording without transcribing it (see `speech.waveform.decoded`).

    Raises:
        ModelMissing: the asr extra is not installed.
    """
    sound: AbstractContextManager[DecodedSound] = _import("waveform").decoded(
        path,
        options,
        spool_dir=spool_dir,
        min_free_bytes=min_free_bytes,
        should_stop=should_stop,
    )
    return sound


def _import(module: str) -> Any:
    try:
        return importlib.import_module(f"app.ai.speech.{module}")
    except ImportError as error:
        raise ModelMissing from error
