"""Parts of the OpenAPI document, for tests."""

from collections.abc import Iterator
from typing import Any


def operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every operation, those of webhooks included, by method and path."""
    for section in ("paths", "webhooks"):
        for path, item in document[section].items():
            for method, operation in item.items():
                if method != "parameters":
                    yield f"{method} {path}", operation


def properties(node: Any, place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every property of every schema, wherever it is, with its place."""
    if isinstance(node, dict):
        if isinstance(node.get("properties"), dict):
            yield from ((f"{place}.{name}", shape) for name, shape in node["properties"].items())
        for name, member in node.items():
            if name not in ("example", "examples"):
                yield from properties(member, f"{place}/{name}")
    elif isinstance(node, list):
        for number, member in enumerate(node):
            yield from properties(member, f"{place}/{number}")
