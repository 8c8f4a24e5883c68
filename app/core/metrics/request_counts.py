"""Counts of requests: kept in memory by each web process, added up over their files.

A process writes its file every second. A process that starts continues the file of one that has
ended. So a kill loses at most the last second, and there are never more files than processes have
run at once. docs/decisions/0017-request-counts.md says why prometheus_client does not do this.
"""

import atexit
import os
import threading
import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

import orjson

from app.core.process import owner

BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
# By method, route and status class such as 2xx: the sum of the seconds, then the number of requests
# in each bucket and beyond the last.
Counts: TypeAlias = dict[tuple[str, str, str], list[float]]

_WRITE_EVERY_S = 1.0
_NAME = "requests-{}.json"


class RequestCounts:
    """The counts of one web process; its threads may share them."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = _folder_in(data_dir)
        self._lock = threading.Lock()
        self._counts: Counts = {}
        self._in_flight = 0
        self._has_changed = False
        self._file: Path | None = None

    def start_request(self) -> None:
        """Count a request as in flight."""
        if self._file is None:
            self._start()
        with self._lock:
            self._in_flight += 1
            self._has_changed = True

    def count_answer(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        key = (method, route, f"{status // 100}xx")
        bucket = 1 + bisect_left(BUCKETS_S, seconds)
        with self._lock:
            counts = self._counts.get(key)
            if counts is None:
                counts = self._counts[key] = _zeros()
            counts[0] += seconds
            counts[bucket] += 1

    def finish_request(self) -> None:
        """Count a request as in flight no longer."""
        with self._lock:
            self._in_flight -= 1
            self._has_changed = True

    def _start(self) -> None:
        """Start writing at the first request: a thread from before a fork would be missing."""
        with self._lock:
            if self._file is not None:
                return
            self._file = self._folder / _NAME.format(uuid4().hex)
            self._folder.mkdir(mode=0o700, exist_ok=True)
            self._counts = _take_over(self._folder, self._file)
        threading.Thread(target=self._write_always, name="request counts", daemon=True).start()
        atexit.register(self._write)

    def _write_always(self) -> None:
        while True:
            # A full disk must not end the thread: the counts are still in memory.
            with suppress(OSError):
                self._write()
            time.sleep(_WRITE_EVERY_S)

    def _write(self) -> None:
        with self._lock:
            if not self._has_changed or self._file is None:
                return
            document = {
                "owner": owner.this_process(),
                "inFlight": self._in_flight,
                "counts": [[*key, values] for key, values in self._counts.items()],
            }
            body = orjson.dumps(document)
            self._has_changed = False
        partial = self._file.with_suffix(".part")
        partial.write_bytes(body)
        os.replace(partial, self._file)


def total_counts(data_dir: Path) -> tuple[Counts, int]:
    """Return the counts of all processes, and how many requests are in flight."""
    total: Counts = {}
    in_flight = 0
    for document in _documents(_folder_in(data_dir)).values():
        if not owner.is_dead(document["owner"]):
            in_flight += document["inFlight"]
        for key, values in _counts_in(document):
            known = total.setdefault(key, _zeros())
            total[key] = [one + other for one, other in zip(known, values, strict=True)]
    return total, in_flight


def _take_over(folder: Path, file: Path) -> Counts:
    """Rename the file of a process that has ended to `file`; return its counts."""
    for orphan, document in _documents(folder).items():
        if owner.is_dead(document["owner"]):
            try:
                orphan.rename(file)
                orphan.with_suffix(".part").unlink(missing_ok=True)
            except FileNotFoundError:  # another process was first
                continue
            return dict(_counts_in(document))
    return {}


def _documents(folder: Path) -> Mapping[Path, Any]:
    """Read every file; begin again when one is renamed meanwhile."""
    while True:
        documents = {}
        try:
            for file in folder.glob(_NAME.format("*")):
                # A power cut may leave a file empty; only its counts are lost.
                with suppress(orjson.JSONDecodeError):
                    documents[file] = orjson.loads(file.read_bytes())
        except FileNotFoundError:
            continue
        return documents


def _counts_in(document: Any) -> Iterator[tuple[tuple[str, str, str], list[float]]]:
    for method, route, status, values in document["counts"]:
        yield (method, route, status), values


def _zeros() -> list[float]:
    return [0.0] * (len(BUCKETS_S) + 2)


def _folder_in(data_dir: Path) -> Path:
    return data_dir / "request-counts"
