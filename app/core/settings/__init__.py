"""Settings: read once from the environment, validated, and frozen."""

from app.core.settings.parsers import Rate, TokenPrices
from app.core.settings.settings import EMBEDDED, Settings, SettingsError, unknown_variables

__all__ = [
    "EMBEDDED",
    "Rate",
    "Settings",
    "SettingsError",
    "TokenPrices",
    "unknown_variables",
]
