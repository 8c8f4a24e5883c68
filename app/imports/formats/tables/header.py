"""Header of a CSV file: the field of each column, by its name or by the caller's mapping."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from app.imports.formats.records import Fault, Unreadable

DELIMITERS = ",;\t|"
LABEL_PREFIX = "label."
IGNORED = "ignore"
_MAX_NAME = 80


def fields_of_header(
    header: Sequence[str], known: Mapping[str, str], mapping: Mapping[str, str]
) -> list[str]:
    """Return the field of each column; `IGNORED` for a column that is left out.

    Args:
        known: fields by normalised names of columns.
        mapping: the caller's fields by names of columns.
    """
    mapped = {normalised_name(column): field for column, field in mapping.items()}
    fields = [field_of(mapped.get(normalised_name(column), column), known) for column in header]
    times = Counter(field for field in fields if field != IGNORED)
    present = {normalised_name(column) for column in header}
    faults = {
        "Unknown columns": [
            column
            for column, field in zip(header, fields, strict=True)
            if field is None and normalised_name(column) not in mapped
        ],
        "More than one column of the same field": [
            column
            for column, field in zip(header, fields, strict=True)
            if field is not None and times[field] > 1
        ],
        "Mapped columns that the file does not have": [
            column for column in mapping if normalised_name(column) not in present
        ],
        "Unknown fields in the mapping": [
            field for field in mapping.values() if field_of(field, known) is None
        ],
    }
    sentences = [f"{fault}: {_named(names)}." for fault, names in faults.items() if names]
    if sentences:
        raise Unreadable(Fault.MALFORMED, " ".join(sentences), 1)
    return [field or IGNORED for field in fields]


def field_of(name: str, known: Mapping[str, str]) -> str | None:
    """Return the field of a column's name; None if there is none."""
    stripped = name.strip()
    if stripped.casefold().startswith(LABEL_PREFIX):
        return LABEL_PREFIX + stripped[len(LABEL_PREFIX) :]
    return IGNORED if stripped == IGNORED else known.get(normalised_name(name))


def by_column_name(*fields: str) -> dict[str, str]:
    """Map the normalised names of columns to the fields of the same names."""
    return {normalised_name(field): field for field in fields}


def normalised_name(name: str) -> str:
    """Return the name of a column in lower case without `_`, `-` and spaces."""
    return "".join(character for character in name.casefold() if character not in " _-\t")


def _named(names: Iterable[str]) -> str:
    return ", ".join(repr(name.strip()[:_MAX_NAME]) for name in dict.fromkeys(names))
