"""Settings: read once from the environment, validated, and frozen."""

from app.core.settings.parsers import RateLimit, TokenPrices
from app.core.settings.settings import EMBEDDED, Settings, SettingsError, unknown_variables

__all__ = [
    "EMBEDDED",
    "RateLimit",
    "Settings",
    "SettingsError",
    "TokenPrices",
    "unknown_variables",
]
