"""Records of erasures: texts outside of the database with the ids of what was erased.

A restored backup brings back what was erased after it was made; the records are used to erase it again.
They contain ids and times, and nothing of the customer.
"""

import os
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Self

import orjson

from app.core.clock import iso_utc, utc_now
from app.core.ids import is_id
from app.core.private_files import write_private_file
from app.core.runtime import Runtime
from app.core.settings import Settings
from app.core.storage.objects import Storage

_SUFFIX = ".jsonl"


@dataclass(frozen=True, slots=True)
class ErasureBatch:
    """Some sources of one type, which an erasure erases together."""

    source_type: str
    source_ids: Sequence[str]


@dataclass(frozen=True, slots=True)
class ErasureRecords:
    """Records in the storage that hosts share, or else in the data folder.

    Those of the data folder are read in any case: a restore puts the copies of a backup there.
    """

    folder: Path
    shared: Storage | None

    @classmethod
    def of(cls, runtime: Runtime) -> Self:
        """Return the records of a runtime."""
        shared = runtime.storage if runtime.settings.storage_url else None
        return cls(folder_of(runtime.settings), shared)

    def add(self, erasure_id: str, batch: ErasureBatch) -> None:
        """Add a batch to the records of its erasure, synced to the disk.

        Raises:
            StorageAway: the storage does not answer.
        """
        line = {
            "at": iso_utc(utc_now()),
            "type": batch.source_type,
            "ids": list(batch.source_ids),
        }
        text = orjson.dumps(line).decode() + "\n"
        if self.shared is not None:
            self.shared.write_record(f"{erasure_id}.{token_hex(8)}{_SUFFIX}", text)
        else:
            _append(self.folder, f"{erasure_id}{_SUFFIX}", text)

    def names(self) -> Mapping[str, Sequence[str]]:
        """Return the names of the records of each erasure.

        Raises:
            StorageAway: the storage does not answer.
        """
        names: defaultdict[str, list[str]] = defaultdict(list)
        shared = () if self.shared is None else self.shared.record_names()
        for name in (*_names_in(self.folder), *shared):
            erasure_id = name.partition(".")[0]
            if is_id(erasure_id, "era") and name.endswith(_SUFFIX):
                names[erasure_id].append(name)
        return names

    def read(self, name: str) -> Iterator[ErasureBatch]:
        """Yield the batches of a record, without a line that a crash cut off: its batch was not erased."""
        file = self.folder / name
        if self.shared is None or file.exists():
            text = file.read_text()
        else:
            text = self.shared.read_record(name)
        for line in text.splitlines():
            try:
                record = orjson.loads(line)
            except orjson.JSONDecodeError:
                continue
            yield ErasureBatch(record["type"], record["ids"])


def folder_of(settings: Settings) -> Path:
    """Return the folder of the records in the data folder."""
    return settings.data_dir / "erasures"


def add_copies(folder: Path, copies: Path) -> None:
    """Add copied records; of two versions the longer one stays, because records only grow."""
    folder.mkdir(mode=0o700, exist_ok=True)
    for name in _names_in(copies):
        file, copy = folder / name, copies / name
        if not file.exists() or copy.stat().st_size > file.stat().st_size:
            shutil.copyfile(copy, file)
            file.chmod(0o600)


def copy_shared(folder: Path, storage: Storage) -> None:
    """Copy the records of a storage into a folder.

    Raises:
        StorageAway: the storage does not answer.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    for name in storage.record_names():
        write_private_file(folder / name, storage.read_record(name))


def _names_in(folder: Path) -> list[str]:
    return [file.name for file in folder.glob(f"*{_SUFFIX}")]


def _append(folder: Path, name: str, text: str) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    handle = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(handle, text.encode())
        os.fsync(handle)
    finally:
        os.close(handle)
