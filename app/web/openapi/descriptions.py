"""Descriptions for the OpenAPI document: a sentence for every field and parameter, by its name."""

import tomllib
from pathlib import Path
from typing import Any

from app.core.names import camel_case

_FILE = Path(__file__).with_name("descriptions.toml")


def describe(document: dict[str, Any]) -> None:
    """Describe every field and parameter of the document that does not describe itself."""
    descriptions = tomllib.loads(_FILE.read_text())
    for name, schema in document["components"]["schemas"].items():
        _describe_fields(schema, name, descriptions["fields"])
    for item in document["webhooks"].values():
        _describe_fields(item, "Event", descriptions["fields"])
    for item in document["paths"].values():
        _describe_fields(item, "", descriptions["fields"])
        for holder in item.values():
            parameters = holder if isinstance(holder, list) else holder.get("parameters", ())
            for parameter in parameters:
                if "name" in parameter and "description" not in parameter:
                    parameter["description"] = descriptions["parameters"][parameter["name"]]


def _describe_fields(node: Any, owner: str, descriptions: dict[str, str]) -> None:
    if isinstance(node, dict) and isinstance(node.get("properties"), dict):
        for field, shape in node["properties"].items():
            for name in (f"{owner}.{field}", field, camel_case(field)):
                if name in descriptions:
                    shape.setdefault("description", descriptions[name])
    members = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for member in members:
        _describe_fields(member, owner, descriptions)
