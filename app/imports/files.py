"""Files, folders, also watched ones, pairs of recordings, and standard input as documents."""

import errno
import io
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import BinaryIO, Generic, Protocol, TypeVar

from app.audio_files.enums import ContentType
from app.audio_files.links import EXTENSIONS
from app.core.database.upserts import EXTERNAL_ID_PATTERN
from app.core.storage.untrusted import UntrustedFolder
from app.imports.formats.catalogue import HEAD_BYTES, ONE_RECORD_FORMATS, detect_format
from app.imports.formats.records import BadLine, Fault, Unreadable
from app.imports.loading.input import Document

AUTO = "auto"
STDIN = "-"
SUFFIXES = frozenset(
    {".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".vtt", ".srt", ".vcon", ".txt"}
)
_SIDE = re.compile(r"(?P<call>.+?)[-_.](?P<side>in|out|rx|tx|agent|customer|caller)", re.IGNORECASE)
_OTHER = {
    "in": "out",
    "out": "in",
    "rx": "tx",
    "tx": "rx",
    "agent": "customer",
    "customer": "agent",
    "caller": "agent",
}
_NAMED = {"agent": "agent", "customer": "customer", "caller": "customer"}
# What a telephone system receives of the channel that it records: of who has called.
_RECEIVED = frozenset({"in", "rx"})
_SIDES = ("agent", "customer")
_WHOLE = ({"in", "out"}, {"rx", "tx"}, set(_SIDES))
_NO_DIRECTION = (
    "Which side is the agent's depends on the direction of the call, inbound or outbound: give it, "
    "or a name pattern or metadata with it."
)
# Size and time of the last change, of the file and of its JSON file.
_State = tuple[tuple[int, int], ...]


class UnknownFormat(Exception):
    code = str(Fault.UNKNOWN_FORMAT)
    message = "The format of the file is unknown: name it as `format`."


@dataclass(frozen=True, slots=True)
class ImportFile:
    """A file to import; `external_id` is the key for a file that is one record.

    `recording_type` is the content type of a recording; None for texts.
    """

    folder: UntrustedFolder
    path: Path
    name: str
    external_id: str | None
    size_bytes: int
    recording_type: str | None

    def open(self) -> io.BufferedReader:
        """Open the file.

        Raises:
            OSError: it cannot be read, is a link, or is no longer a regular file.
        """
        return self.folder.open(self.path)


def list_files(
    path: Path, *, metadata: Path | None = None, follow_links: bool = False
) -> list[ImportFile]:
    """List a file, or the importable files of a folder in the order of their names.

    The JSON file of a recording and the table of `metadata` are left out. Links are listed in
    any case, so that it is said of each that it was not followed.
    """
    if not path.is_dir():
        return [_import_file(UntrustedFolder(path.parent, follow_links), path)]
    folder = UntrustedFolder(path, follow_links)
    paths = sorted(file for file in path.rglob("*") if _is_importable(file, path))
    sidecars = {sidecar_of(file) for file in paths if _recording_type(file)}
    return [
        _import_file(folder, file)
        for file in paths
        if file not in sidecars and not (metadata and file.samefile(metadata))
    ]


def sidecar_of(recording: Path) -> Path | None:
    """Return the JSON file of a recording: `call.wav.json`, or else `call.json`."""
    candidates = (recording.with_name(recording.name + ".json"), recording.with_suffix(".json"))
    return next((path for path in candidates if path.is_file()), None)


def open_documents(
    files: Sequence[ImportFile], format: str, on_opened: Callable[[BinaryIO, int], None]
) -> Iterator[Document | BadLine]:
    """Open each file in turn; yield the reason instead where it cannot be read.

    `on_opened` receives the stream and the bytes of earlier files.
    """
    earlier_bytes = 0
    for file in files:
        with ExitStack() as stack:
            try:
                stream = stack.enter_context(file.open())
                document = document_of(stream, file.name, format, file.external_id)
            except UnknownFormat as error:
                yield BadLine(0, Fault.UNKNOWN_FORMAT, str(error), file=file.name)
            except OSError as error:
                yield BadLine(0, Fault.MALFORMED, unreadable(error), file=file.name)
            else:
                on_opened(stream, earlier_bytes)
                yield document
        earlier_bytes += file.size_bytes


def unreadable(error: OSError) -> str:
    hint = "; --follow-links follows links" if error.errno == errno.ELOOP else ""
    return f"The file could not be read: {error.strerror or error}{hint}."


def document_of(
    stream: BinaryIO, name: str, format: str, external_id: str | None = None
) -> Document:
    """Return an open file as a document, and detect its format if that is `AUTO`."""
    if format == AUTO:
        stream = stream if stream.seekable() else io.BufferedReader(_RawStream(stream), HEAD_BYTES)
        detected = detect_format(_peek(stream), name)
        if detected is None:
            raise UnknownFormat(f"The format of {name} is unknown: give it with --format.")
        format = detected
    return Document(format, stream, external_id if format in ONE_RECORD_FORMATS else None, name)


def key_of(name: str) -> str | None:
    """Return the key of a file that is one record; None, for a hash of it, if the name is unusable."""
    stem = name.removesuffix(PurePath(name).suffix).replace("/", ":")
    key = unicodedata.normalize("NFC", stem)
    is_text = _decodable(key) == key
    return key if is_text and re.fullmatch(EXTERNAL_ID_PATTERN, key) else None


def _peek(stream: BinaryIO) -> bytes:
    if isinstance(stream, io.BufferedReader) and not stream.seekable():
        return stream.peek(HEAD_BYTES)
    head = stream.read(HEAD_BYTES)
    stream.seek(0)
    return head


class _RawStream(io.RawIOBase):
    """A stream that cannot seek, as the source of a buffer that can be peeked into."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        data = self._source.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _is_importable(file: Path, folder: Path) -> bool:
    is_hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
    is_known = file.suffix.casefold() in SUFFIXES or _recording_type(file) is not None
    return file.is_file() and not is_hidden and is_known


def _import_file(folder: UntrustedFolder, path: Path) -> ImportFile:
    name = path.relative_to(folder.path).as_posix()
    return ImportFile(
        folder,
        path,
        name=_decodable(name),
        external_id=key_of(name),
        size_bytes=path.stat(follow_symlinks=folder.follow_links).st_size,
        recording_type=_recording_type(path),
    )


def _recording_type(path: Path) -> str | None:
    suffix = path.suffix.casefold()
    types = (kind for kind, suffixes in EXTENSIONS.items() if suffix in suffixes)
    return next(types, None)


def _decodable(name: str) -> str:
    """Replace the bytes of a file name that are no text, which Python has as lone surrogates."""
    return name.encode("utf-8", "replace").decode()


class FolderWatch:
    """Remembers the state of each file, and which states were imported."""

    def __init__(self, list_files: Callable[[], list[ImportFile]]) -> None:
        self._list = list_files
        self._seen: Mapping[Path, _State] = {}
        self._imported: dict[Path, _State] = {}

    def ready(self) -> list[ImportFile]:
        """Return the files that have changed since their import, but not since the last call."""
        files = {file.path: file for file in self._listed()}
        states = {path: state for path, file in files.items() if (state := _state_of(file))}
        unchanged = [path for path, state in states.items() if self._seen.get(path) == state]
        self._seen = states
        return [files[path] for path in unchanged if self._imported.get(path) != states[path]]

    def note_imported(self, files: Iterable[ImportFile]) -> None:
        """Leave these files out until they change again."""
        for file in files:
            self._imported[file.path] = self._seen[file.path]

    def _listed(self) -> list[ImportFile]:
        try:
            return self._list()
        except (FileNotFoundError, NotADirectoryError):
            return []  # A file was removed or replaced while the folder was read.


def _state_of(file: ImportFile) -> _State | None:
    """Return the state of a file; None if it is gone."""
    parts = [part for part in (file.path, sidecar_of(file.path)) if part is not None]
    try:
        stats = [part.stat(follow_symlinks=file.folder.follow_links) for part in parts]
    except (FileNotFoundError, NotADirectoryError):
        return None
    return tuple((stat.st_size, stat.st_mtime_ns) for stat in stats)


class Named(Protocol):
    """A file whose name may say which side of a call it is."""

    @property
    def name(self) -> str: ...


File = TypeVar("File", bound=Named)


@dataclass(frozen=True, slots=True)
class Pair(Generic[File]):
    """Two files of one call, by their sides; `name` is that of the file that they are together."""

    name: str
    sides: dict[str, File]

    def by_role(self, direction: str | None) -> tuple[File, File]:
        """Return the agent's file and the customer's.

        Raises:
            Unreadable: that depends on the direction, which is not known.
        """
        roles = {_NAMED.get(side): file for side, file in self.sides.items()}
        if None not in roles:
            return roles["agent"], roles["customer"]
        received = next(file for side, file in self.sides.items() if side in _RECEIVED)
        sent = next(file for side, file in self.sides.items() if side not in _RECEIVED)
        if direction == "inbound":
            return sent, received
        if direction == "outbound":
            return received, sent
        raise Unreadable(Fault.VALIDATION_ERROR, _NO_DIRECTION)


def whole_of(pair: Pair[ImportFile]) -> ImportFile:
    """Return the file that both sides are together, which does not exist yet."""
    sides = list(pair.sides.values())
    return replace(
        sides[0],
        name=pair.name,
        external_id=key_of(pair.name),
        size_bytes=sum(side.size_bytes for side in sides),
        recording_type=ContentType.WAV,
    )


def paired(files: Sequence[File]) -> Iterator[File | Pair[File] | BadLine]:
    """Yield each pair of recordings, files that name no side, and why a half has no pair."""
    calls: dict[str, list[tuple[str, File]]] = {}
    for file in files:
        stem, _, _ = file.name.rpartition(".")
        match = _SIDE.fullmatch(stem)
        if match is None:
            yield file
        else:
            calls.setdefault(match["call"], []).append((match["side"].lower(), file))
    for call, found in calls.items():
        halves = dict(found)
        if {_NAMED.get(side, side) for side in halves} in _WHOLE and len(found) == len(_SIDES):
            yield Pair(f"{call}.wav", halves)
        else:
            for side, file in found:
                message = _fault_of(call, side, [side for side, _ in found])
                yield BadLine(0, Fault.VALIDATION_ERROR, message, file=file.name)


def _fault_of(call: str, side: str, sides: Sequence[str]) -> str:
    """Return why a file that names a side has no pair."""
    if len(sides) == 1:
        return f"The other half of this pair, {call}-{_OTHER[side]}, is not in the folder."
    if len({_NAMED.get(side, side) for side in sides}) == 1:
        return f"The folder has {len(sides)} files of this side of {call}, and none of the other."
    return f"{call} has {len(sides)} files that name a side: a pair is two."
