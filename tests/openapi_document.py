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


def id_names(document: dict[str, Any], path: str, method: str) -> set[str]:
    """Return the names of the parameters of a query, and of the fields of a body, that are ids."""
    item = document["paths"][path]
    operation = item[method]
    parameters = [*item.get("parameters", ()), *operation.get("parameters", ())]
    in_query = {each["name"] for each in parameters if each.get("in") == "query"}
    in_body = _field_names(document, operation.get("requestBody", {}), frozenset())
    return {name for name in in_query | in_body if name.endswith(("Id", "Ids"))}


def _field_names(document: dict[str, Any], node: Any, opened: frozenset[str]) -> set[str]:
    """Return the names of all properties below a node; references are followed."""
    if isinstance(node, list):
        return set().union(*(_field_names(document, member, opened) for member in node))
    if not isinstance(node, dict):
        return set()
    name = str(node.get("$ref", "")).rpartition("/")[2]
    if name:
        schema = document["components"]["schemas"][name]
        return _field_names(document, schema, opened | {name}) if name not in opened else set()
    names = node["properties"].keys() if isinstance(node.get("properties"), dict) else ()
    return set(names).union(*(_field_names(document, each, opened) for each in node.values()))
