"""How a setting is declared: a dataclass field that knows its variable, its parser and its meaning."""

from dataclasses import field
from typing import Any


def setting(variable: str, default: Any, parse: Any, meaning: str, *, secret: bool = False) -> Any:
    """Declare a setting.

    Args:
        parse: makes a value of the variable's text, or raises `ValueError` with the mend.
        secret: whether the value is left out of the settings' printed form.
    """
    metadata = {"variable": variable, "parse": parse, "meaning": meaning}
    if callable(default):
        return field(default_factory=default, metadata=metadata, repr=not secret)
    return field(default=default, metadata=metadata, repr=not secret)
