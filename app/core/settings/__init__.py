"""Settings: read once from the environment, validated, and frozen."""

from app.core.settings.parsers import RateLimit, TokenPrices
from app.core.settings.settings import EMBEDDED, LOCAL, Settings, SettingsError, unknown_variables

__all__ = [
    "EMBEDDED",
    "LOCAL",
    "RateLimit",
    "Settings",
    "SettingsError",
    "TokenPrices",
    "unknown_variables",
]
