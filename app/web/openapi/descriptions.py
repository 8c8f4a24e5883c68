"""Descriptions for the OpenAPI document: a sentence for every field and parameter, by its name."""

import tomllib
from pathlib import Path
from typing import Any

_FILE = Path(__file__).with_name("descriptions.toml")


def describe(document: dict[str, Any]) -> None:
    """Describe every field and parameter of the document that does not describe itself."""
    known = tomllib.loads(_FILE.read_text())
    for name, schema in document["components"]["schemas"].items():
        _describe_fields(schema, name, known["fields"])
    for item in document["webhooks"].values():
        _describe_fields(item, "Event", known["fields"])
    for item in document["paths"].values():
        _describe_fields(item, "", known["fields"])
        for holder in item.values():
            parameters = holder if isinstance(holder, list) else holder.get("parameters", ())
            for parameter in parameters:
                if "name" in parameter and "description" not in parameter:
                    parameter["description"] = known["parameters"][parameter["name"]]


def _describe_fields(node: Any, owner: str, known: dict[str, str]) -> None:
    if isinstance(node, dict) and isinstance(node.get("properties"), dict):
        for field, shape in node["properties"].items():
            text = known.get(f"{owner}.{field}") or known.get(field) or known.get(camel(field))
            if text is not None:
                shape.setdefault("description", text)
    members = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for member in members:
        _describe_fields(member, owner, known)


def camel(name: str) -> str:
    """Return a snake_case name in camelCase."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
