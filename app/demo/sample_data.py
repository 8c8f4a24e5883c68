"""Sample data of the demo. Its times and ids are relative, and resolved when it is loaded."""

import json
import re
from collections.abc import Mapping
from datetime import datetime, time, timedelta
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from app.core.clock import iso_utc
from app.imports.formats.records import Kind

RECORDINGS = "recordings"
_FILES: Mapping[str, str] = {
    Kind.CALL_CENTER: "call-centers.jsonl",
    Kind.EXECUTIVE: "executives.jsonl",
    Kind.CAMPAIGN: "campaigns.jsonl",
    Kind.CONVERSATION: "chats.jsonl",
    Kind.VOICE_CALL: "voice-calls.jsonl",
    RECORDINGS: "recordings.jsonl",
}
_MOMENT = re.compile(r"(\d+) days ago (\d\d:\d\d:\d\d)")
_REFERENCE = "@"


def folder() -> Traversable:
    return files("app.demo") / "data"


def records(kind: str) -> list[dict[str, Any]]:
    """Read the records of a kind, unresolved."""
    text = (folder() / _FILES[kind]).read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


@cache
def external_ids() -> tuple[str, ...]:
    return tuple(str(record["externalId"]) for kind in _FILES for record in records(kind))


def resolved(value: Any, midnight: datetime, ids: Mapping[str, str]) -> Any:
    """Replace `3 days ago 09:15:00` by a time, and `@demo-leeds` by an id, in nested values.

    Args:
        midnight: the start of today.
        ids: ids by external id.
    """
    if isinstance(value, dict):
        return {name: resolved(item, midnight, ids) for name, item in value.items()}
    if isinstance(value, list):
        return [resolved(item, midnight, ids) for item in value]
    if not isinstance(value, str):
        return value
    if value.startswith(_REFERENCE):
        return ids[value.removeprefix(_REFERENCE)]
    match = _MOMENT.fullmatch(value)
    return _moment(midnight, int(match[1]), match[2]) if match else value


def _moment(midnight: datetime, days: int, clock: str) -> str:
    day = (midnight - timedelta(days=days)).date()
    return iso_utc(datetime.combine(day, time.fromisoformat(clock), midnight.tzinfo))
