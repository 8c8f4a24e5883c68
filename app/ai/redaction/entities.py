"""Entity types of personal data, and their placeholders."""

from enum import StrEnum
from typing import NamedTuple


class Entity(StrEnum):
    """The kinds; where two are found in one place, the earlier of these is told."""

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
        """Return what stands in for it, such as `[CARD]`."""
        return f"[{self.name}]"


ORDER = {entity: rank for rank, entity in enumerate(Entity)}


class Found(NamedTuple):
    """An entity at `[start, end)` of a text, in code points."""

    start: int
    end: int
    entity: Entity


def united(found: list[Found]) -> list[Found]:
    """Sort what was found and join what overlaps."""
    joined: list[Found] = []
    for each in sorted(found):
        if joined and each.start < joined[-1].end:
            last = joined.pop()
            entity = min(last.entity, each.entity, key=ORDER.__getitem__)
            each = Found(last.start, max(last.end, each.end), entity)
        joined.append(each)
    return joined
