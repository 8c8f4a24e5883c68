"""From what was read to what can be written: defaults folded in, checked, and seen once."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.core.errors import InvalidInput
from app.imports import names
from app.imports.formats.items import BadLine, Fault, Item, Kind
from app.imports.notebook import Notebook
from app.imports.options import Options
from app.imports.sources import Entry

_MOST_TOLD = 3
# A batch is one short transaction, so that other writers wait a moment only: so many records, or
# so many messages in them.
_BATCH_RECORDS = 10
_BATCH_MESSAGES = 120
_TAKES: Mapping[str, tuple[str, ...]] = {
    Kind.CONVERSATION: tuple(names.FIELDS),
    Kind.VOICE_CALL: tuple(names.FIELDS),
    Kind.CAMPAIGN: ("engagement",),
    Kind.EXECUTIVE: ("callCenter",),
    Kind.CALL_CENTER: (),
}
_HAVE_LANGUAGE = frozenset({Kind.CONVERSATION, Kind.VOICE_CALL, Kind.CAMPAIGN})


@dataclass(frozen=True, slots=True)
class Checked:
    """A record whose shape is right: values by column, and names in place of ids."""

    external_id: str
    values: dict[str, Any]
    names: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A record to be written, or what is wrong with it; `bad` is there in both cases to tell why."""

    kind: str
    checked: Checked | None
    bad: BadLine
    file: str | None
    weight: int = 1


Check = Callable[[str, Mapping[str, Any]], Checked]


def prepared(
    entries: Iterable[Entry], options: Options, notebook: Notebook, check: Check
) -> Iterator[Prepared]:
    """Check each record; a key that stands twice is taken the first time."""
    for entry in entries:
        if isinstance(entry.read, BadLine):
            yield Prepared("", None, entry.read, entry.file)
        else:
            yield _prepare(entry.read, entry.file, options, notebook, check)


def batches(found: Iterable[Prepared]) -> Iterator[list[Prepared]]:
    """Gather what one short transaction takes."""
    batch: list[Prepared] = []
    weight = 0
    for each in found:
        batch.append(each)
        weight += each.weight
        if len(batch) == _BATCH_RECORDS or weight >= _BATCH_MESSAGES:
            yield batch
            batch, weight = [], 0
    if batch:
        yield batch


def sentence(error: InvalidInput) -> str:
    """Say in one line what is wrong with which fields."""
    told = [f"{each['field']}: {each['message']}" for each in error.details[:_MOST_TOLD]]
    more = len(error.details) - len(told)
    return " ".join([*told, f"And {more} more."] if more > 0 else told) or error.message


def _prepare(
    item: Item, file: str | None, options: Options, notebook: Notebook, check: Check
) -> Prepared:
    given = item.fields.get("externalId")
    external_id = given if isinstance(given, str) else None
    bad = BadLine(item.line, Fault.VALIDATION_ERROR, "", external_id)
    try:
        checked = check(item.kind, _with_defaults(item, options.defaults))
    except InvalidInput as error:
        bad = BadLine(item.line, Fault.VALIDATION_ERROR, sentence(error), external_id)
        return Prepared(item.kind, None, bad, file)
    if not notebook.is_new(item.kind, checked.external_id):
        message = "This externalId stands more than once in this import; the first is taken."
        bad = BadLine(item.line, Fault.DUPLICATE, message, external_id)
        return Prepared(item.kind, None, bad, file)
    return Prepared(item.kind, checked, bad, file, _weight(item.fields))


def _with_defaults(item: Item, defaults: Mapping[str, str]) -> dict[str, Any]:
    fields = dict(item.fields)
    for name in _TAKES.get(item.kind, ()):
        by_id = names.FIELDS[name].id_field
        if fields.get(name) is None and fields.get(by_id) is None:
            for key in (by_id, name):
                if key in defaults:
                    fields[key] = defaults[key]
                    break
    if item.kind in _HAVE_LANGUAGE and fields.get("language") is None and "language" in defaults:
        fields["language"] = defaults["language"]
    return fields


def _weight(fields: Mapping[str, Any]) -> int:
    spoken = fields.get("messages") or fields.get("turns")
    return 1 + len(spoken) if isinstance(spoken, list) else 1
