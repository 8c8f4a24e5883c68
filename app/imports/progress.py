"""Progress bar of the import command on a terminal."""

import sys
from collections.abc import Sequence
from types import TracebackType
from typing import BinaryIO, Self

import click

from app.imports.files import ImportFile


class Progress:
    """A bar over the bytes of all files; hidden unless standard error is a terminal."""

    def __init__(self, files: Sequence[ImportFile]) -> None:
        total = sum(file.size_bytes for file in files)
        is_visible = total > 0 and sys.stderr.isatty()
        self._bar = click.progressbar(length=total, file=sys.stderr) if is_visible else None
        self._stream: BinaryIO | None = None
        self._earlier_bytes = 0

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            if error is None:
                self._bar.update((self._bar.length or 0) - self._bar.pos)
            self._bar.__exit__(kind, error, trace)

    def opened(self, stream: BinaryIO, earlier_bytes: int) -> None:
        """Note the file that is read now, and the bytes of the files before it."""
        self._stream, self._earlier_bytes = stream, earlier_bytes

    def update(self, received: int) -> None:
        """Show the number of records so far and the position in the files."""
        if self._stream is not None and not self._stream.closed:
            self._show(received, self._earlier_bytes + self._stream.tell())

    def finished(self, file: ImportFile, received: int) -> None:
        """Show that a file was loaded as a whole, as a recording is."""
        if self._bar is not None:
            self._show(received, self._bar.pos + file.size_bytes)

    def _show(self, received: int, position: int) -> None:
        if self._bar is not None:
            self._bar.label = f"{received} records"
            self._bar.update(max(0, position - self._bar.pos))


class ScoreProgress:
    """A bar over the records that wait for their scores; hidden unless on a terminal."""

    def __init__(self, waiting: int) -> None:
        is_visible = waiting > 0 and sys.stderr.isatty()
        self._bar = (
            click.progressbar(length=waiting, label="scored", show_pos=True, file=sys.stderr)
            if is_visible
            else None
        )

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.__exit__(kind, error, trace)

    def update(self, waiting: int) -> None:
        """Show how many records still wait."""
        if self._bar is not None:
            self._bar.update(max(0, (self._bar.length or 0) - waiting - self._bar.pos))
