"""The fitted weights that ship with the package, as JSON documents."""

from pathlib import Path
from typing import Any

import orjson

MODELS = Path(__file__).parent / "models"


def document_of(name: str) -> dict[str, Any]:
    """Read one model: `resolved`, `annoyed`, `customer-turns` or `agent-turns`."""
    document: dict[str, Any] = orjson.loads((MODELS / f"{name}.json").read_bytes())
    return document
