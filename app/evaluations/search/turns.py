"""Turns in which something was said: the first of each source that fits best, with a snippet."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select

from app.core.database.session import Reader
from app.evaluations.models import SpokenWords, StoredTranscript
from app.evaluations.search.terms import Term, terms_of, tokens_of

_BEFORE, _AFTER = 50, 130


def matching_turns(
    session: Reader, source_ids: Sequence[str], asked: str
) -> dict[str, dict[str, Any]]:
    """Return the matching turn of each source: where it is, a snippet, and the matches in that."""
    terms = terms_of(asked)
    statement = (
        select(SpokenWords.source_id, StoredTranscript.segments)
        .join(StoredTranscript, StoredTranscript.id == SpokenWords.transcript_id)
        .where(SpokenWords.source_id.in_(source_ids))
    )
    return {
        source_id: turn
        for source_id, segments in session.execute(statement)
        if (turn := _best(segments, terms))
    }


def _best(segments: Sequence[Mapping[str, Any]], terms: Sequence[Term]) -> dict[str, Any] | None:
    """Return the turn with the most of the terms, the first of those."""
    best, most = None, 0
    for segment in segments:
        tokens = tokens_of(segment["text"])
        places = [list(term.places(tokens)) for term in terms]
        number = sum(map(bool, places))
        if number > most:
            best, most = (segment, sorted({place for some in places for place in some})), number
    return None if best is None else _turn(*best)


def _turn(segment: Mapping[str, Any], places: Sequence[tuple[int, int]]) -> dict[str, Any]:
    text = segment["text"]
    start, end = _window(text, places[0])
    before, after = "…" if start else "", "…" if end < len(text) else ""
    shift = len(before) - start
    return {
        "segment_id": segment["id"],
        "role": segment["role"],
        "start_ms": segment["startMs"],
        "sent_at": segment["sentAt"],
        "snippet": f"{before}{text[start:end]}{after}",
        "matches": [
            {"start": first + shift, "end": last + shift} for first, last in places if last <= end
        ],
    }


def _window(text: str, place: tuple[int, int]) -> tuple[int, int]:
    """Return the bounds of a snippet around a match, at spaces where there are some."""
    start, end = max(0, place[0] - _BEFORE), min(len(text), place[1] + _AFTER)
    if start:
        space = text.find(" ", start, place[0])
        start = start if space < 0 else space + 1
    if end < len(text):
        space = text.rfind(" ", place[1], end)
        end = end if space < 0 else space
    return start, end
