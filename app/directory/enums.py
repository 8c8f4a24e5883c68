"""Enumerations of the directory."""

from enum import StrEnum


class ExecutiveKind(StrEnum):
    """Who handles the contacts: a person or a bot. Rankings keep the two apart."""

    HUMAN = "human"
    BOT = "bot"
