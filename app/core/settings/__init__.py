"""Settings: read once from the environment, validated, and frozen."""

from app.core.settings.parsers import RateLimit, TokenPrices
from app.core.settings.settings import (
    EMBEDDED,
    KEEPER,
    LOCAL,
    ROLES,
    SENDER,
    Settings,
    SettingsError,
    unknown_variables,
)

__all__ = [
    "EMBEDDED",
    "KEEPER",
    "LOCAL",
    "ROLES",
    "SENDER",
    "RateLimit",
    "Settings",
    "SettingsError",
    "TokenPrices",
    "unknown_variables",
]
