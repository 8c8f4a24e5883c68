"""Transcripts in the analysis of a vCon: their form is the vendor's; two common ones are read."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from app.imports.formats.records import Fault, Unreadable
from app.imports.formats.timed_turns import TimedTurn, require_order

_LIST_FIELDS = ("segments", "transcript", "utterances")
_MAX_SECONDS = 10_000_000


def transcript_turns(
    analyses: Sequence[Mapping[str, Any]], role_of: Callable[[object], str]
) -> Iterator[TimedTurn]:
    """Yield the turns of the first transcript.

    The transcript is a list of objects, or an object with a list in `segments`, `transcript` or
    `utterances`. Each object has `text` or `message`, `party` (an index) or `speaker`, and may
    have `start` and `end` in seconds.
    """
    transcripts = (analysis for analysis in analyses if analysis.get("type") == "transcript")
    transcript = next(transcripts, None)
    for segment in _segments_of(transcript.get("body")) if transcript is not None else ():
        text = segment.get("text") or segment.get("message")
        if not isinstance(text, str) or not text.strip():
            continue
        start_ms, end_ms = _milliseconds(segment.get("start")), _milliseconds(segment.get("end"))
        require_order(start_ms, end_ms)
        party = segment.get("party")
        speaker = segment.get("speaker") if party is None else party
        name = speaker if isinstance(speaker, str) else None
        yield TimedTurn(role_of(speaker), text, start_ms, end_ms, name)


def _segments_of(body: object) -> list[dict[str, Any]]:
    if isinstance(body, str):
        try:
            body = json.loads(body)
        except (ValueError, RecursionError) as error:
            message = "The transcript must be JSON with a speaker for each text."
            raise Unreadable(Fault.MALFORMED, message) from error
    if isinstance(body, dict):
        body = next((body[field] for field in _LIST_FIELDS if field in body), None)
    if not isinstance(body, list) or not all(isinstance(segment, dict) for segment in body):
        raise Unreadable(Fault.MALFORMED, "The form of the transcript is unknown.")
    return body


def _milliseconds(seconds: object) -> int | None:
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise Unreadable(Fault.VALIDATION_ERROR, "start and end must be numbers of seconds.")
    if not 0 <= seconds <= _MAX_SECONDS:
        message = f"start and end must be between 0 and {_MAX_SECONDS} seconds."
        raise Unreadable(Fault.VALIDATION_ERROR, message)
    return round(seconds * 1000)
