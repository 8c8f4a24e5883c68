"""The formats by name, and which one a file is in."""

import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from app.imports.formats import contact_lens, csv_rows, native, openai, srt, vcon, vtt
from app.imports.formats.items import Reader

READERS: Mapping[str, Reader] = MappingProxyType(
    {
        "native": native.read,
        "openai": openai.read,
        "csv": csv_rows.read,
        "vtt": vtt.read,
        "srt": srt.read,
        "contact_lens": contact_lens.read,
        "vcon": vcon.read,
    }
)
FORMATS = tuple(READERS)
# Of these a file is one record, known by the file's name.
ONE_A_FILE = frozenset({"vtt", "srt", "contact_lens", "vcon"})
HEAD_BYTES = 64 * 1024
_BY_NAME = {".vtt": "vtt", ".srt": "srt", ".csv": "csv", ".tsv": "csv", ".vcon": "vcon"}
_SRT = re.compile(r"(?:\d{1,9}\s{0,9}\n)?\s{0,9}\d{1,3}:\d\d:\d\d[,.]\d{1,3}\s{0,9}-->")
_KEY = re.compile(
    r'"(vcon|Transcript|Participants|CustomerMetadata|externalId|kind|messages|content)"\s*:'
)
_MARKS = (
    ("vcon", {"vcon"}),
    ("contact_lens", {"Transcript", "Participants"}),
    ("contact_lens", {"Transcript", "CustomerMetadata"}),
)


def detect(head: bytes, name: str = "") -> str | None:
    """Tell the format by the file's name, or by its first 64 KiB; None where neither does."""
    suffix = re.search(r"\.[a-z]+$", name.casefold())
    if suffix and suffix[0] in _BY_NAME:
        return _BY_NAME[suffix[0]]
    text = head[:HEAD_BYTES].decode("utf-8", "replace").removeprefix("\ufeff").lstrip()
    if text.startswith("WEBVTT"):
        return "vtt"
    if _SRT.match(text):
        return "srt"
    if text.startswith("{"):
        return _of_json(text)
    return "csv" if csv_rows.delimiter_of(text.split("\n", 1)[0].rstrip("\r")) else None


def _of_json(text: str) -> str | None:
    try:
        first = json.loads(text.split("\n", 1)[0])
    except (ValueError, RecursionError):
        # Cut off or printed over many lines: the names alone have to do.
        return _of_keys(set(_KEY.findall(text)))
    return _of_keys(set(first) | _keys_of_message(first)) if isinstance(first, dict) else None


def _of_keys(keys: set[str]) -> str | None:
    marked = next((name for name, marks in _MARKS if marks <= keys), None)
    if marked is not None:
        return marked
    if keys & {"externalId", "kind"}:
        return "native"
    if "messages" in keys:
        return "openai" if "content" in keys else "native"
    return None


def _keys_of_message(document: dict[str, Any]) -> set[str]:
    messages = document.get("messages")
    first = messages[0] if isinstance(messages, list) and messages else None
    return {"content"} & set(first) if isinstance(first, dict) else set()
