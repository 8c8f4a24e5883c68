"""Default scorecards: one for each channel, read once from their files."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

# Their ids are fixed, so that old and new evaluations name the same scorecard.
IDS: Mapping[str, str] = {
    "voice": "sc_01m7y8wde7fkg94gfsppkx38b6",
    "chat": "sc_01m7y8wdeyext86rqr0n83rs5t",
    "voice_bot": "sc_01m7y8wdfpemkrvt1s16v4bvav",
}
SHIPPED_AT = datetime(2026, 11, 1, tzinfo=UTC)


@cache
def document_of(channel: str) -> dict[str, Any]:
    """Return the default document of a channel; KeyError for an unknown channel."""
    scorecard_id = IDS[channel]
    file = files("app.scorecards") / "defaults" / f"{channel}.json"
    return {**orjson.loads(file.read_bytes()), "id": scorecard_id}


def channel_of(scorecard_id: str) -> str | None:
    """Return the channel of a default's id; None for other ids."""
    return next((channel for channel, known in IDS.items() if known == scorecard_id), None)
