"""Settings: read once from the environment, validated, and frozen."""

from app.core.settings.settings import Rate, Settings, SettingsError, unknown_variables

__all__ = ["Rate", "Settings", "SettingsError", "unknown_variables"]
