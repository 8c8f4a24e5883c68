"""Entity types of personal data, their placeholders and their spans in a text."""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple


class Entity(StrEnum):
    """The entity types; where two overlap, the earlier of these wins.

    MASKED is a text that is masked whole, whatever it says.
    """

    MASKED = "masked"
    CARD = "card"
    IBAN = "iban"
    NATIONAL_ID = "national_id"
    EMAIL = "email"
    CVV = "cvv"
    PASSCODE = "passcode"
    BANK_ACCOUNT = "bank_account"
    DATE_OF_BIRTH = "date_of_birth"
    PHONE = "phone"
    IP_ADDRESS = "ip_address"
    ADDRESS = "address"
    NAME = "name"

    @property
    def placeholder(self) -> str:
        """Return the placeholder, such as `[CARD]`."""
        return _PLACEHOLDERS[self]


_PLACEHOLDERS = {entity: f"[{entity.name}]" for entity in Entity}
_PRIORITY = {entity: rank for rank, entity in enumerate(Entity)}


class EntitySpan(NamedTuple):
    """An entity at `[start, end)` of a text, in code points."""

    start: int
    end: int
    entity: Entity


def merged_spans(spans: Iterable[EntitySpan]) -> list[EntitySpan]:
    """Sort spans and merge those that overlap."""
    merged: list[EntitySpan] = []
    for span in sorted(spans):
        if merged and span.start < merged[-1].end:
            last = merged.pop()
            entity = min(last.entity, span.entity, key=_PRIORITY.__getitem__)
            span = EntitySpan(last.start, max(last.end, span.end), entity)
        merged.append(span)
    return merged
