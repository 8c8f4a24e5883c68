"""The texts of the demo, with times and references put in where they only say which."""

import json
import re
from collections.abc import Mapping
from datetime import datetime, time, timedelta
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from app.core.clock import iso_utc
from app.imports.formats.items import Kind

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
    """Return the folder of the texts and the recordings."""
    return files("app.demo") / "data"


def records(kind: str) -> list[dict[str, Any]]:
    """Read the records of a kind as they are written."""
    text = (folder() / _FILES[kind]).read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


@cache
def external_ids() -> tuple[str, ...]:
    """Return the external ids of everything in the demo."""
    return tuple(str(each["externalId"]) for kind in _FILES for each in records(kind))


def placed(value: Any, midnight: datetime, ids: Mapping[str, str]) -> Any:
    """Put in moments for `3 days ago 09:15:00`, and ids for `@demo-leeds`.

    Args:
        midnight: when today began.
        ids: of what is referred to.
    """
    if isinstance(value, dict):
        return {name: placed(each, midnight, ids) for name, each in value.items()}
    if isinstance(value, list):
        return [placed(each, midnight, ids) for each in value]
    if not isinstance(value, str):
        return value
    if value.startswith(_REFERENCE):
        return ids[value.removeprefix(_REFERENCE)]
    found = _MOMENT.fullmatch(value)
    return _moment(midnight, int(found[1]), found[2]) if found else value


def _moment(midnight: datetime, days: int, clock: str) -> str:
    day = (midnight - timedelta(days=days)).date()
    return iso_utc(datetime.combine(day, time.fromisoformat(clock), midnight.tzinfo))
