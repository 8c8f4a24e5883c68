"""The transcript in a vCon's analysis: whose form is the vendor's; two common ones are read."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from app.imports.formats import spoken
from app.imports.formats.items import Fault, Unreadable
from app.imports.formats.spoken import Turn

_LISTS = ("segments", "transcript", "utterances")
_MOST_SECONDS = 10_000_000


def turns(
    analyses: Sequence[Mapping[str, Any]], role_of: Callable[[object], str]
) -> Iterator[Turn]:
    """Yield the turns of the first transcript.

    It is a list of objects, or an object with one under `segments`, `transcript` or `utterances`;
    each has `text` or `message`, `party` (an index) or `speaker`, and may have `start` and `end`
    in seconds.
    """
    transcript = next((each for each in analyses if each.get("type") == "transcript"), None)
    for segment in _segments(transcript.get("body")) if transcript is not None else ():
        text = segment.get("text") or segment.get("message")
        if not isinstance(text, str) or not text.strip():
            continue
        start_ms, end_ms = _ms(segment.get("start")), _ms(segment.get("end"))
        spoken.require_order(start_ms, end_ms)
        speaker = segment.get("party")
        speaker = segment.get("speaker") if speaker is None else speaker
        name = speaker if isinstance(speaker, str) else None
        yield Turn(role_of(speaker), text, start_ms, end_ms, name)


def _segments(body: object) -> list[dict[str, Any]]:
    if isinstance(body, str):
        try:
            body = json.loads(body)
        except (ValueError, RecursionError) as error:
            message = "The transcript is not JSON: it is not said who speaks."
            raise Unreadable(Fault.MALFORMED, message) from error
    if isinstance(body, dict):
        body = next((body[name] for name in _LISTS if name in body), None)
    if not isinstance(body, list) or not all(isinstance(each, dict) for each in body):
        raise Unreadable(Fault.MALFORMED, "The form of the transcript is not known.")
    return body


def _ms(seconds: object) -> int | None:
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise Unreadable(Fault.VALIDATION_ERROR, "start and end must be seconds.")
    if not 0 <= seconds <= _MOST_SECONDS:
        raise Unreadable(Fault.VALIDATION_ERROR, "start and end may not be before the beginning.")
    return round(seconds * 1000)
