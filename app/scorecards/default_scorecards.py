"""Default scorecards: one for each channel and one for e-mail, in every version that shipped."""

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
# Tickets and e-mail are chats of their own habits.
EMAIL = "email"
ALL: Mapping[str, str] = {**IDS, EMAIL: "sc_01m7y8wdg2n8e5tq4h7zj6cyr3"}
# Every version stays, for the evaluations that were made with it; the last is the current one.
SHIPPED_AT: Mapping[int, datetime] = {
    1: datetime(2026, 11, 1, tzinfo=UTC),
    2: datetime(2026, 11, 22, tzinfo=UTC),
    3: datetime(2026, 11, 23, tzinfo=UTC),
    4: datetime(2026, 11, 29, tzinfo=UTC),
}
_FIRST = {EMAIL: 4}
CURRENT = max(SHIPPED_AT)


@cache
def document_of(channel: str, version: int = CURRENT) -> dict[str, Any]:
    """Return a version of a channel's default, or of that for e-mail; KeyError where there is none."""
    scorecard_id, folder = ALL[channel], files("app.scorecards") / "defaults"
    if version not in versions_of(channel):
        raise KeyError(version)
    current = folder / f"{channel}.json"
    file = current if version == CURRENT else folder / "earlier" / f"{channel}-{version}.json"
    return {**orjson.loads(file.read_bytes()), "id": scorecard_id}


def versions_of(channel: str) -> list[int]:
    """Return the versions of a default, the newest first."""
    return sorted((item for item in SHIPPED_AT if item >= _FIRST.get(channel, 1)), reverse=True)


def channel_of(scorecard_id: str) -> str | None:
    """Return the channel of a default's id, or `EMAIL`; None for other ids."""
    return next((channel for channel, known in ALL.items() if known == scorecard_id), None)
