"""How many requests were answered and how fast: counted in each web process, added up from files.

A process counts in memory and writes its figures down every second. One that starts goes on where
one that has ended stopped, in its file: so a kill costs the last second at most, and no more files
lie there than processes have run at once.
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
# Of a method, a route and a class of status such as 2xx: the sum of the seconds, and how many
# requests took up to each bucket's bound and beyond the last.
Figures: TypeAlias = dict[tuple[str, str, str], list[float]]

_WRITE_EVERY_S = 1.0
_NAME = "requests-{}.json"


class RequestFigures:
    """The figures of one web process; safe to use from its threads."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = _folder_in(data_dir)
        self._lock = threading.Lock()
        self._figures: Figures = {}
        self._in_flight = 0
        self._has_news = False
        self._file: Path | None = None

    def began(self) -> None:
        """Count a request that is being answered."""
        if self._file is None:
            self._start()
        with self._lock:
            self._in_flight += 1
            self._has_news = True

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        key = (method, route, f"{status // 100}xx")
        place = 1 + bisect_left(BUCKETS_S, seconds)
        with self._lock:
            found = self._figures.get(key)
            if found is None:
                found = self._figures[key] = _nothing()
            found[0] += seconds
            found[place] += 1

    def ended(self) -> None:
        """Count a request no longer as being answered."""
        with self._lock:
            self._in_flight -= 1
            self._has_news = True

    def _start(self) -> None:
        """Begin with the first request: a thread that was there before a fork would be missing."""
        with self._lock:
            if self._file is not None:
                return
            self._file = self._folder / _NAME.format(uuid4().hex)
            self._folder.mkdir(mode=0o700, exist_ok=True)
            self._figures = _taken_over(self._folder, self._file)
        threading.Thread(target=self._keep, name="request figures", daemon=True).start()
        atexit.register(self._write)

    def _keep(self) -> None:
        while True:
            # A full disk must not end the thread; the figures are in memory still.
            with suppress(OSError):
                self._write()
            time.sleep(_WRITE_EVERY_S)

    def _write(self) -> None:
        with self._lock:
            if not self._has_news or self._file is None:
                return
            figures = [[*key, values] for key, values in self._figures.items()]
            document = {
                "owner": owner.this_process(),
                "inFlight": self._in_flight,
                "figures": figures,
            }
            body = orjson.dumps(document)
            self._has_news = False
        partial = self._file.with_suffix(".part")
        partial.write_bytes(body)
        os.replace(partial, self._file)


def added_up(data_dir: Path) -> tuple[Figures, int]:
    """Return the figures of all processes, and how many requests are being answered now."""
    figures: Figures = {}
    in_flight = 0
    for document in _documents(_folder_in(data_dir)).values():
        if not owner.is_dead(document["owner"]):
            in_flight += document["inFlight"]
        for key, values in _read(document):
            known = figures.setdefault(key, _nothing())
            figures[key] = [one + other for one, other in zip(known, values, strict=True)]
    return figures, in_flight


def _taken_over(folder: Path, file: Path) -> Figures:
    """Make the file of a process that has ended one's own; return what it holds."""
    for left, document in _documents(folder).items():
        if owner.is_dead(document["owner"]):
            try:
                left.rename(file)
                left.with_suffix(".part").unlink(missing_ok=True)
            except FileNotFoundError:  # another was quicker
                continue
            return dict(_read(document))
    return {}


def _documents(folder: Path) -> Mapping[Path, Any]:
    """Read every file; while one is being taken over, begin again."""
    while True:
        found = {}
        try:
            for file in folder.glob(_NAME.format("*")):
                # A power cut may leave a file empty; its figures are lost, and no others.
                with suppress(orjson.JSONDecodeError):
                    found[file] = orjson.loads(file.read_bytes())
        except FileNotFoundError:
            continue
        return found


def _read(document: Any) -> Iterator[tuple[tuple[str, str, str], list[float]]]:
    for method, route, status, values in document["figures"]:
        yield (method, route, status), values


def _nothing() -> list[float]:
    return [0.0] * (len(BUCKETS_S) + 2)


def _folder_in(data_dir: Path) -> Path:
    return data_dir / "figures"
