"""Collection for Postman, made of the OpenAPI document: every request, signed before it is sent."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.web.openapi.document import METHODS

SIGN_SCRIPT = Path(__file__).with_name("sign_request.js")
_ABOUT = """\
Set the variables `apiKey` and `secret` of this collection to an API key and its secret. Every request
is signed before it is sent. Ids in paths are variables of the request, under *Params*.
"""
_SCHEMA = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"


def build_collection(document: Mapping[str, Any], base: str) -> dict[str, Any]:
    """Return the collection, with a folder for each tag.

    Args:
        base: the address of the service, the value of the variable `base`.
    """
    folders: dict[str, list[dict[str, Any]]] = {}
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                tag = item[method]["tags"][0]
                values = {
                    parameter["name"]: parameter.get("example", "")
                    for parameter in item.get("parameters", ())
                }
                folders.setdefault(tag, []).append(_request(path, method, item[method], values))
    return {
        "info": {"name": document["info"]["title"], "description": _ABOUT, "schema": _SCHEMA},
        "item": [{"name": tag, "item": requests} for tag, requests in folders.items()],
        "event": [
            {"listen": "prerequest", "script": {"exec": SIGN_SCRIPT.read_text().splitlines()}}
        ],
        "variable": [
            {"key": "base", "value": base},
            {"key": "apiKey", "value": ""},
            {"key": "secret", "value": ""},
        ],
    }


def _request(
    path: str, method: str, operation: Mapping[str, Any], values: Mapping[str, str]
) -> dict[str, Any]:
    parts = [
        f":{part[1:-1]}" if part.startswith("{") else part for part in path.strip("/").split("/")
    ]
    request: dict[str, Any] = {
        "method": method.upper(),
        "description": operation.get("description", ""),
        "url": {
            "raw": "{{base}}/" + "/".join(parts),
            "host": ["{{base}}"],
            "path": parts,
            "query": [
                {
                    "key": parameter["name"],
                    "value": "",
                    "description": parameter.get("description", ""),
                    "disabled": True,
                }
                for parameter in operation.get("parameters", ())
                if parameter.get("in") == "query"
            ],
            "variable": [{"key": name, "value": value} for name, value in values.items()],
        },
    }
    if "requestBody" in operation:
        content = operation["requestBody"]["content"]["application/json"]
        request["header"] = [{"key": "Content-Type", "value": "application/json"}]
        body = json.dumps(content.get("example", {}), indent=2, ensure_ascii=False)
        request["body"] = {"mode": "raw", "raw": body}
    return {"name": operation["summary"], "request": request}
