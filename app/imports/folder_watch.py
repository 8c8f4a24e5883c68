"""Watched folder: finds the files that are new or changed and no longer grow."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from app.imports.files import ImportFile, list_files, sidecar_of

# Size and time of the last change, of the file and of the JSON file next to it.
_State = tuple[tuple[int, int], ...]


class FolderWatch:
    """Remembers the state of each file, and which states were imported."""

    def __init__(self, folder: Path, *, metadata: Path | None = None) -> None:
        self._folder = folder
        self._metadata = metadata
        self._seen: Mapping[Path, _State] = {}
        self._imported: dict[Path, _State] = {}

    def ready(self) -> list[ImportFile]:
        """Return the files that have changed since their import, but not since the last call."""
        files = {file.path: file for file in self._list()}
        states = {path: state for path in files if (state := _state_of(path))}
        unchanged = [path for path, state in states.items() if self._seen.get(path) == state]
        self._seen = states
        return [files[path] for path in unchanged if self._imported.get(path) != states[path]]

    def note_imported(self, files: Iterable[ImportFile]) -> None:
        """Leave these files out until they change again."""
        for file in files:
            self._imported[file.path] = self._seen[file.path]

    def _list(self) -> list[ImportFile]:
        try:
            return list_files(self._folder, metadata=self._metadata)
        except FileNotFoundError:
            return []  # A file was removed while the folder was read.


def _state_of(path: Path) -> _State | None:
    """Return the state of a file; None if it is gone."""
    try:
        stats = [part.stat() for part in (path, sidecar_of(path)) if part is not None]
    except FileNotFoundError:
        return None
    return tuple((stat.st_size, stat.st_mtime_ns) for stat in stats)
