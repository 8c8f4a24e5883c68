"""Records of erasures: texts outside of the database with the ids of what was erased.

A restored backup brings back what was erased after it was made; the records are used to erase it again.
They contain ids and times, and nothing of the customer.
"""

import logging
import os
import re
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
from app.core.runtime import Runtime
from app.core.secrets.private_files import write_private_file
from app.core.settings import Settings
from app.core.storage.objects import Storage
from app.core.storage.untrusted import UntrustedFolder

logger = logging.getLogger(__name__)

SOURCE_TYPES = ("conversations", "voiceCalls", "audioFiles")
_SUFFIX = ".jsonl"
_SOURCE_ID = re.compile(r"[a-z]+_\w{1,64}", re.ASCII)
# Several times what one batch has; a database takes so many values in a statement.
_MOST_IDS = 5_000
_MOST_BYTES = 256 << 20


class DamagedRecord(Exception):
    """A record is too large, or has JSON that names no sources; the text names the file."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the record of erasures {name} is damaged")


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
        for name in (*_names_in(self.folder), *filter(_is_record, shared)):
            names[name.partition(".")[0]].append(name)
        return names

    def read(self, name: str) -> Iterator[ErasureBatch]:
        """Yield the batches of a record, without damaged lines: they must not keep a service from starting."""
        file = self.folder / name
        if self.shared is None or file.exists():
            text = file.read_text(errors="replace")
        else:
            text = self.shared.read_record(name)
        for line in text.splitlines():
            try:
                yield from _batches_of(line, name)
            except DamagedRecord as error:
                logger.error("%s, and what it named is not erased again", error)


def folder_of(settings: Settings) -> Path:
    return settings.data_dir / "erasures"


def require_readable(copies: Path) -> None:
    """Check copied records before a restore relies on them.

    Raises:
        DamagedRecord: a record is too large, or a line names no sources.
        OSError: a record is a link or no regular file.
    """
    for name in _names_in(copies):
        with UntrustedFolder(copies).open(copies / name) as copy:
            if os.fstat(copy.fileno()).st_size > _MOST_BYTES:
                raise DamagedRecord(name)
            for line in copy:
                list(_batches_of(line, name))


def add_copies(folder: Path, copies: Path) -> None:
    """Add copied records; of two versions the longer one stays, because records only grow."""
    folder.mkdir(mode=0o700, exist_ok=True)
    for name in _names_in(copies):
        file = folder / name
        with UntrustedFolder(copies).open(copies / name) as copy:
            size_bytes = os.fstat(copy.fileno()).st_size
            if not file.exists() or size_bytes > file.stat().st_size:
                with file.open("wb") as target:
                    shutil.copyfileobj(copy, target)
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
    return [file.name for file in folder.glob(f"*{_SUFFIX}") if _is_record(file.name)]


def _is_record(name: str) -> bool:
    return name.endswith(_SUFFIX) and is_id(name.partition(".")[0], "era")


def _batches_of(line: str | bytes, name: str) -> Iterator[ErasureBatch]:
    """Yield the batch of a line; none for a line that a crash cut off: its batch was not erased."""
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        return
    match record:
        case {"type": str(source_type), "ids": [*ids]} if (
            source_type in SOURCE_TYPES
            and len(ids) <= _MOST_IDS
            and all(isinstance(each, str) and _SOURCE_ID.fullmatch(each) for each in ids)
        ):
            yield ErasureBatch(source_type, ids)
        case _:
            raise DamagedRecord(name)


def _append(folder: Path, name: str, text: str) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    handle = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(handle, text.encode())
        os.fsync(handle)
    finally:
        os.close(handle)
