"""Vendors of sources: how they sign, what they send, and what becomes of it."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol, TypeAlias
from urllib.parse import parse_qsl, urlsplit

from app.core.errors import MalformedRequest
from app.core.json_documents import load_object
from app.imports.formats.records import NativeRecord, TimedTurn, collect_turns, record_of
from app.imports.formats.table_rows import with_offset
from app.intake.signatures import Scheme

_MOST_S = 7 * 86_400
Document: TypeAlias = Mapping[str, Any]
# Values of the settings of a source, secrets included.
Config: TypeAlias = Mapping[str, str]
# Paths to a member, such as `call.id`, by field; the first with a value counts.
FieldTable: TypeAlias = Mapping[str, Sequence[str]]
Convert: TypeAlias = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of a source, asked for when it is switched on.

    `pattern` is that of its values; one that `is_optional` may be empty.
    """

    name: str
    label: str
    hint: str = ""
    is_secret: bool = False
    is_optional: bool = False
    pattern: str = r"[\x21-\x7e]{1,500}"


# The address of a system that its owner runs.
OWN_ADDRESS = Setting(
    "url",
    "Address",
    hint="Such as https://desk.example.com.",
    pattern=r"https?://[A-Za-z0-9.:-]{1,255}",
)


@dataclass(frozen=True, slots=True)
class Sound:
    """A recording that was fetched into a file, with its fields in the words of the API."""

    path: Path
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SoundPlace:
    """Place of the sound of a call; the ending of its file says its type."""

    url: str
    ending: str
    headers: Mapping[str, str] = field(default_factory=dict)


class Fetch(Protocol):
    """Reads from the hosts of the vendor alone."""

    def json(self, url: str, headers: Mapping[str, str]) -> Any:
        """Return a document."""

    def sound(self, url: str, headers: Mapping[str, str], name: str) -> Path:
        """Read sound into a file of this name."""


@dataclass(frozen=True, slots=True)
class Vendor:
    """A vendor's webhooks.

    Attributes:
        steps: what to do at the vendor, as sentences.
        concerns: whether something is to be done for a document; others are answered and left.
        collect: returns the record of a document, fetching what it does not contain.
        sound: returns where the sound of the call of a document is, if anywhere.
        hosts: returns the hosts that may be asked, their subdomains included.
        sent_at: returns when a document says that it was sent, where the signature does not.
        is_form: whether the body is a form.
    """

    name: str
    title: str
    steps: Sequence[str]
    scheme: Scheme
    settings: Sequence[Setting]
    concerns: Callable[[Document], bool]
    collect: Callable[[Document, Config, Fetch], NativeRecord | Sound]
    sound: Callable[[Document, Config], SoundPlace | None] = lambda _, __: None
    hosts: Callable[[Config], Sequence[str]] = lambda _: ()
    sent_at: Callable[[Document], datetime | None] = lambda _: None
    is_form: bool = False

    def document_of(self, body: bytes) -> Document:
        """Parse a body as the vendor sends it; raises `MalformedRequest` where it has another form."""
        if not self.is_form:
            return load_object(body)
        try:
            return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=200))
        except ValueError as error:
            raise MalformedRequest("The body must be a form.") from error


def value_at(document: Any, path: str) -> Any:
    """Return the member at a path such as `call.id`; None if there is none."""
    for name in path.split("."):
        document = document.get(name) if isinstance(document, Mapping) else None
    return document


def objects_at(document: Document, *paths: str) -> list[Document]:
    """Return the objects of the first list at one of these paths."""
    lists = (value for path in paths if isinstance(value := value_at(document, path), list))
    return [item for item in next(lists, []) if isinstance(item, Mapping)]


def fields_of(
    document: Document, table: FieldTable, convert: Mapping[str, Convert]
) -> dict[str, Any]:
    """Return the fields of a table that a document has, converted where the vendor has other values."""
    values = {
        name: next(
            (value for path in paths if (value := value_at(document, path)) is not None), None
        )
        for name, paths in table.items()
    }
    given = {name: value for name, value in values.items() if value not in (None, "")}
    return {
        name: convert[name](value) if name in convert else value for name, value in given.items()
    }


def call_of(
    document: Document,
    table: FieldTable,
    convert: Mapping[str, Convert],
    turns_of: Callable[[Document], Iterable[TimedTurn]],
) -> NativeRecord:
    fields = fields_of(document, table, convert)
    return record_of(1, collect_turns(turns_of(document)), channel=None, **fields)


def spoken(
    document: Document, paths: Sequence[str], text: str, roles: Mapping[str, str]
) -> Iterator[tuple[str, str, Document]]:
    """Yield the role, the words and the rest of what the known roles say; tools are left out."""
    for said in objects_at(document, *paths):
        role, words = roles.get(str(said.get("role"))), said.get(text)
        if role and isinstance(words, str) and words.strip():
            yield role, words, said


def sound_at(document: Document, *paths: str) -> SoundPlace | None:
    """Return the place of the sound whose address is the first at one of these paths."""
    urls = (url for path in paths if isinstance(url := value_at(document, path), str))
    url = next(filter(None, urls), None)
    if url is None:
        return None
    ending = re.search(r"\.[a-z0-9]{3,4}$", urlsplit(url).path.casefold())
    return SoundPlace(url, ending[0] if ending else ".wav")


def milliseconds(seconds: object) -> int | None:
    """Return seconds as milliseconds; None for what is no number of them."""
    if (
        isinstance(seconds, bool)
        or not isinstance(seconds, int | float)
        or not 0 <= seconds < _MOST_S
    ):
        return None
    return round(seconds * 1000)


def host_of(config: Config) -> Sequence[str]:
    return [urlsplit(config["url"]).hostname or ""]


def moment_of(number: object) -> str | None:
    """Return seconds or milliseconds since 1970 as a time in ISO 8601; None for anything else."""
    return with_offset(str(round(number)), None) if isinstance(number, int | float) else None
