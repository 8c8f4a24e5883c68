"""Records of erasures: files outside of the database with the ids of what was erased.

A restored backup contains again what was erased after it was made; by these files it is erased again.
They contain ids and times, and nothing of the customer.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from app.core.clock import iso_utc, utc_now
from app.core.ids import is_id
from app.core.settings import Settings

_SUFFIX = ".jsonl"


@dataclass(frozen=True, slots=True)
class ErasureBatch:
    """Some sources of one type, which an erasure erases together."""

    source_type: str
    source_ids: Sequence[str]


def folder_of(settings: Settings) -> Path:
    """Return the folder of the records."""
    return settings.data_dir / "erasures"


def append(folder: Path, erasure_id: str, batch: ErasureBatch) -> None:
    """Add an erased batch to the record of their erasure, synced to the disk."""
    folder.mkdir(mode=0o700, exist_ok=True)
    line = {"at": iso_utc(utc_now()), "type": batch.source_type, "ids": list(batch.source_ids)}
    file = folder / f"{erasure_id}{_SUFFIX}"
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(handle, orjson.dumps(line) + b"\n")
        os.fsync(handle)
    finally:
        os.close(handle)


def add_copies(folder: Path, copies: Path) -> None:
    """Add copied records; of two versions the longer one stays, because records only grow."""
    folder.mkdir(mode=0o700, exist_ok=True)
    for erasure_id in erasure_ids(copies):
        file, copy = (place / f"{erasure_id}{_SUFFIX}" for place in (folder, copies))
        if not file.exists() or copy.stat().st_size > file.stat().st_size:
            shutil.copyfile(copy, file)
            file.chmod(0o600)


def erasure_ids(folder: Path) -> list[str]:
    """List the erasures that have a record, the oldest first."""
    if not folder.is_dir():
        return []
    ids = [file.name.removesuffix(_SUFFIX) for file in folder.glob(f"*{_SUFFIX}")]
    return sorted(erasure_id for erasure_id in ids if is_id(erasure_id, "era"))


def read(folder: Path, erasure_id: str) -> Iterator[ErasureBatch]:
    """Yield the batches that an erasure has erased; a line that a crash has cut off was never erased."""
    for line in (folder / f"{erasure_id}{_SUFFIX}").read_bytes().splitlines():
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        yield ErasureBatch(record["type"], record["ids"])
