"""Catalogue of the import formats, and the detection of a file's format."""

import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from app.imports.formats import contact_lens, json_lines, subtitles, tables, vcon
from app.imports.formats.records import Reader

READERS: Mapping[str, Reader] = MappingProxyType(
    {
        "native": json_lines.read_native,
        "openai": json_lines.read_openai,
        "csv": tables.read,
        "vtt": subtitles.read_vtt,
        "srt": subtitles.read_srt,
        "contact_lens": contact_lens.read,
        "vcon": vcon.read,
    }
)
FORMATS = tuple(READERS)
# A file of these formats is one record; the file's name is its key.
ONE_RECORD_FORMATS = frozenset({"vtt", "srt", "contact_lens", "vcon"})
HEAD_BYTES = 64 * 1024
_BY_SUFFIX = {".vtt": "vtt", ".srt": "srt", ".csv": "csv", ".tsv": "csv", ".vcon": "vcon"}
_SRT = re.compile(r"(?:\d{1,9}\s{0,9}\n)?\s{0,9}\d{1,3}:\d\d:\d\d[,.]\d{1,3}\s{0,9}-->")
_KEY = re.compile(
    r'"(vcon|Transcript|Participants|CustomerMetadata|externalId|kind|messages|content)"\s*:'
)
_BY_KEYS = (
    ("vcon", {"vcon"}),
    ("contact_lens", {"Transcript", "Participants"}),
    ("contact_lens", {"Transcript", "CustomerMetadata"}),
)


def detect_format(head: bytes, name: str = "") -> str | None:
    """Detect the format by the file's suffix, else by its first 64 KiB; None if unknown."""
    suffix = re.search(r"\.[a-z]+$", name.casefold())
    if suffix and suffix[0] in _BY_SUFFIX:
        return _BY_SUFFIX[suffix[0]]
    text = head[:HEAD_BYTES].decode("utf-8", "replace").removeprefix("\ufeff").lstrip()
    if text.startswith("WEBVTT"):
        return "vtt"
    if _SRT.match(text):
        return "srt"
    if text.startswith("{"):
        return _json_format(text)
    return "csv" if tables.is_header(text.split("\n", 1)[0].rstrip("\r")) else None


def _json_format(text: str) -> str | None:
    try:
        first = json.loads(text.split("\n", 1)[0])
    except (ValueError, RecursionError):
        # The document is cut off or spans several lines: search its keys in the text.
        return _format_by_keys(set(_KEY.findall(text)))
    if not isinstance(first, dict):
        return None
    return _format_by_keys(set(first) | _content_key_of(first))


def _format_by_keys(keys: set[str]) -> str | None:
    by_keys = next((name for name, required in _BY_KEYS if required <= keys), None)
    if by_keys is not None:
        return by_keys
    if keys & {"externalId", "kind"}:
        return "native"
    if "messages" in keys:
        return "openai" if "content" in keys else "native"
    return None


def _content_key_of(document: dict[str, Any]) -> set[str]:
    """Return `content` if the first message has it, as only chat completions do."""
    messages = document.get("messages")
    first = messages[0] if isinstance(messages, list) and messages else None
    return {"content"} & set(first) if isinstance(first, dict) else set()
