"""Filters of lists: each turns the value of a query parameter into a condition."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.orm import InstrumentedAttribute

Condition: TypeAlias = Callable[[Any], ColumnElement[bool]]
Filters: TypeAlias = Mapping[str, Condition]
_Column: TypeAlias = ColumnElement[Any] | InstrumentedAttribute[Any]


def equal(column: _Column) -> Condition:
    return lambda value: column == value


def one_of(column: _Column) -> Condition:
    """Match any value of a list; a single value by `=`, so that an index can give the order."""
    return lambda values: column == values[0] if len(values) == 1 else column.in_(values)


def is_set(column: _Column) -> Condition:
    """Match rows with a value, or those without one if the parameter is false."""
    return lambda must_be_set: column.is_not(None) if must_be_set else column.is_(None)


def at_least(column: _Column) -> Condition:
    """Match values from this one on."""
    return lambda value: column >= value


def at_most(column: _Column) -> Condition:
    return lambda value: column <= value


def before(column: _Column) -> Condition:
    return lambda value: column < value


def language(*columns: _Column) -> Condition:
    """Match a language tag and its subtags in any case: `en` matches `en` and `EN-gb` (RFC 4647, 3.3.1)."""
    lowered = [func.lower(column) for column in columns]
    return lambda tag: or_(
        *(
            condition
            for column in lowered
            for condition in (column == tag.lower(), column.startswith(f"{tag.lower()}-"))
        )
    )


def of_contacts(table: Any) -> Filters:
    """Return the filters that lists of conversations, calls and recordings have in common."""
    return {
        "engagement_id": equal(table.engagement_id),
        "campaign_id": equal(table.campaign_id),
        "call_center_id": equal(table.call_center_id),
        "executive_id": equal(table.executive_id),
        "start": at_least(table.conversation_at),
        "end": before(table.conversation_at),
    }


def searchable(*parts: str | None) -> str:
    """Return the text that `contains` searches: a part on each line, so that no match spans two."""
    return "\n".join(part.casefold() for part in parts if part)


def contains(column: _Column) -> Condition:
    """Match a part of a case-folded text."""
    return lambda words: column.contains(words.casefold(), autoescape=True)


def contains_in(row_id: _Column, text_id: _Column, text: _Column) -> Condition:
    """Match a part of a case-folded text that a second table keeps for each row."""
    return lambda words: row_id.in_(select(text_id).where(contains(text)(words)))


def conditions(filters: Filters, values: Mapping[str, Any]) -> list[ColumnElement[bool]]:
    return [filters[name](value) for name, value in values.items()]
