"""Sources of the settings: the environment, then the `.env` file of the installation."""

import logging
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dotenv import dotenv_values

from app.core.secrets.private_files import is_private
from app.core.settings import Settings, SettingsError, unknown_variables

logger = logging.getLogger(__name__)

_CODE = Path(__file__).resolve().parents[2]


def settings_here(
    options: Mapping[str, Any] | None = None, *, installation: Path = _CODE
) -> Settings:
    """Read the settings; `options` that are not None win over the environment.

    Raises:
        SettingsError: a value cannot be used, or others may change the `.env` file.
    """
    settings = Settings.from_env(_environment(installation))
    overrides = {name: value for name, value in (options or {}).items() if value is not None}
    settings = replace(settings, **overrides)
    return replace(settings, data_dir=settings.data_dir.resolve())


def unknown_settings() -> list[str]:
    """Return a sentence about each CQE_ variable here that is not a setting."""
    return unknown_variables(_environment(_CODE))


def warn_of_unknown() -> None:
    """Log the CQE_ variables that are not settings."""
    for sentence in unknown_settings():
        logger.warning("%s", sentence)


def _environment(installation: Path) -> dict[str, str]:
    # A checkout keeps its data in its own folder, wherever the command is run; an installed package
    # keeps it in the working directory.
    is_checkout = (installation / "setup.cfg").is_file()
    home = installation if is_checkout else Path.cwd()
    # The .env of the working directory is not read: everybody who may write there could change the
    # settings.
    file = _dotenv(installation / ".env") if is_checkout else {}
    layers = ({"CQE_DATA_DIR": str(home / "instance")}, file, os.environ)
    return {name: value for layer in layers for name, value in layer.items() if value}


def _dotenv(file: Path) -> Mapping[str, str | None]:
    if not file.is_file():
        return {}
    try:
        with file.open(encoding="utf-8") as text:
            _require_private(file, os.fstat(text.fileno()))
            return dotenv_values(stream=text, interpolate=False)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} cannot be read: {error}") from error


def _require_private(file: Path, status: os.stat_result) -> None:
    if status.st_uid != os.geteuid():
        raise SettingsError(f"{file} belongs to another user: run `chown {os.geteuid()} {file}`")
    if not is_private(status):
        raise SettingsError(f"{file} may be read or written by others: run `chmod 600 {file}`")
