"""Enums whose members have a label, as people read them."""

from enum import StrEnum
from typing import Self


class LabelledEnum(StrEnum):
    """Enum of texts with labels: `QUEUED = "queued", "Waiting"`."""

    _value_: str
    label: str

    def __new__(cls, value: str, label: str = "") -> Self:
        """Make a member from its value and its label."""
        member = str.__new__(cls, value)
        member._value_, member.label = value, label
        return member

    @classmethod
    def labels(cls) -> dict[str, str]:
        return {member.value: member.label for member in cls}
