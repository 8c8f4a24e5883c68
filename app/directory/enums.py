"""Enumerations of the directory."""

from enum import StrEnum


class ExecutiveKind(StrEnum):
    """Person or bot that handles the contacts. Rankings keep the two apart."""

    HUMAN = "human"
    BOT = "bot"
