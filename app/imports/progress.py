"""Progress bar of the import command on a terminal."""

import sys
from collections.abc import Sequence
from types import TracebackType
from typing import BinaryIO, Self

import click

from app.imports.files import Found


class Progress:
    """A bar over the bytes of all files; nothing is shown where standard error is no terminal."""

    def __init__(self, found: Sequence[Found]) -> None:
        total = sum(each.size_bytes for each in found)
        visible = total > 0 and sys.stderr.isatty()
        self._bar = click.progressbar(length=total, file=sys.stderr) if visible else None
        self._stream: BinaryIO | None = None
        self._read_before = 0

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

    def opened(self, stream: BinaryIO, read_before: int) -> None:
        """Note which file is read now, and how many bytes stood before it."""
        self._stream, self._read_before = stream, read_before

    def move(self, received: int) -> None:
        """Show how many records there were so far, and where in the files that is."""
        if self._bar is None or self._stream is None or self._stream.closed:
            return
        self._bar.label = f"{received} records"
        self._bar.update(max(0, self._read_before + self._stream.tell() - self._bar.pos))
