"""Enumerations of the directory."""

from enum import StrEnum


class ExecutiveKind(StrEnum):
    """Whether a person or a bot handles the contacts; rankings keep the two apart."""

    HUMAN = "human"
    BOT = "bot"
