"""Progress bar of the import command on a terminal."""

import sys
from collections.abc import Sequence
from typing import Any, BinaryIO, Self

import click

from app.imports.files import ImportFile


class _Bar:
    """A progress bar of click; hidden if there is nothing to do, or no terminal."""

    def __init__(self, length: int, **options: Any) -> None:
        hidden = length == 0 or not sys.stderr.isatty()
        self._bar = click.progressbar(length=length, file=sys.stderr, hidden=hidden, **options)

    def __enter__(self) -> Self:
        self._bar.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: Any) -> None:
        self._bar.__exit__(kind, *error)


class Progress(_Bar):
    """A bar over the bytes of all files; hidden unless standard error is a terminal."""

    def __init__(self, files: Sequence[ImportFile]) -> None:
        super().__init__(sum(file.size_bytes for file in files))
        self._stream: BinaryIO | None = None
        self._earlier_bytes = 0

    def __exit__(self, kind: type[BaseException] | None, *error: Any) -> None:
        if kind is None:
            self._bar.update((self._bar.length or 0) - self._bar.pos)
        super().__exit__(kind, *error)

    def opened(self, stream: BinaryIO, earlier_bytes: int) -> None:
        """Note the file that is read now, and the bytes of the files before it."""
        self._stream, self._earlier_bytes = stream, earlier_bytes

    def update(self, received: int) -> None:
        """Show the number of records so far and the position in the files."""
        if self._stream is not None and not self._stream.closed:
            self._show(received, self._earlier_bytes + self._stream.tell())

    def finished(self, file: ImportFile, received: int) -> None:
        """Show that a file was loaded as a whole, as a recording is."""
        self._show(received, self._bar.pos + file.size_bytes)

    def _show(self, received: int, position: int) -> None:
        self._bar.label = f"{received} records"
        self._bar.update(max(0, position - self._bar.pos))


class ScoreProgress(_Bar):
    """A bar over the records that wait for their scores; hidden unless on a terminal."""

    def __init__(self, waiting: int) -> None:
        super().__init__(waiting, label="scored", show_pos=True)

    def update(self, waiting: int) -> None:
        """Show how many records still wait."""
        self._bar.update(max(0, (self._bar.length or 0) - waiting - self._bar.pos))
