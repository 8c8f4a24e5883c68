"""Where the settings come from: the environment, then a `.env` file, then where this code lies."""

import logging
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dotenv import dotenv_values

from app.core.settings import Settings, SettingsError, unknown_variables

logger = logging.getLogger(__name__)

_CODE = Path(__file__).resolve().parents[2]


def settings_here(options: Mapping[str, Any] | None = None) -> Settings:
    """Read the settings; `options` that are not None win over the environment.

    Raises:
        SettingsError: a value cannot be used; the text names the setting.
    """
    settings = Settings.from_env(_environment())
    given = {name: value for name, value in (options or {}).items() if value is not None}
    settings = replace(settings, **given)
    return replace(settings, data_dir=settings.data_dir.resolve())


def warn_of_unknown() -> None:
    """Log the CQE_ variables that no setting reads."""
    for name in unknown_variables(_environment()):
        logger.warning("%s is not a setting: is the name right?", name)


def _environment() -> dict[str, str]:
    layers = ({"CQE_DATA_DIR": str(_home() / "instance")}, _dotenv(), os.environ)
    return {name: value for layer in layers for name, value in layer.items() if value}


def _home() -> Path:
    # A checkout keeps its data beside the code, wherever the command is given; a wheel has no such
    # place, there it is the working directory.
    return _CODE if (_CODE / "setup.cfg").is_file() else Path.cwd()


def _dotenv() -> Mapping[str, str | None]:
    file = next(
        (each / ".env" for each in (Path.cwd(), _home()) if (each / ".env").is_file()), None
    )
    if file is None:
        return {}
    try:
        return dotenv_values(file, interpolate=False)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} cannot be read: {error}") from error
