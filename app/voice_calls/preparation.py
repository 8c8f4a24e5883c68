"""Preparation of a voice call before it is stored: masking, durations, latencies and digests."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from app.ai.dialogue.cues import Cues
from app.ai.dialogue.turns import dialogue_of
from app.ai.facts.metrics import Measures, measure_speech
from app.ai.facts.timing import percentile, timing_of
from app.core.json_documents import digest_of
from app.evaluations.enums import Channel
from app.redaction.redactor import Redactor, SealedOriginals
from app.scorecards.service import current_default
from app.voice_calls.transcripts import of_turns, reading_order

_PERCENTILES = {"p50": 50, "p90": 90, "p95": 95, "max": 100}
_MEASURED = {
    "p50": "latencyMsP50",
    "p90": "latencyMsP90",
    "p95": "latencyMsP95",
    "max": "latencyMsMax",
    "count": "latencyMsCount",
}


def prepare_voice_call(fields: Mapping[str, Any], redactor: Redactor) -> dict[str, Any]:
    """Mask the turns of a call and compute its durations, latencies and interruptions.

    This takes too long for a transaction.

    Args:
        fields: columns of a voice call; `turns`, each with `role`, `text`, `start_ms` and
            `end_ms`; `latency_ms` as percentiles, or as a list of measured values.

    Returns:
        The columns, including the computed ones; the masked `turns`, `turns_digest` of the given
        ones, and `raw`, the sealed originals.
    """
    turns: list[dict[str, Any]] = fields["turns"]
    measures = _measured(turns)
    masked, raw = _masked(turns, redactor)
    return {
        **fields,
        "turns": masked,
        "turns_digest": digest_of([redactor.enabled, turns]),
        "raw": raw,
        "redacted": redactor.enabled,
        "duration_seconds": _duration(fields),
        "ring_seconds": _seconds(fields["started_at"], fields["answered_at"]),
        "latency_ms": _latency(fields["latency_ms"], measures),
        "interruptions_by_customer": measures.get("interruptionsByCustomer"),
        "interruptions_by_bot": measures.get("interruptionsByAgent"),
    }


def _masked(
    turns: Sequence[Mapping[str, Any]], redactor: Redactor
) -> tuple[list[dict[str, Any]], SealedOriginals | None]:
    """Mask the texts in transcript order; the originals are sealed by segment."""
    order = reading_order(turns)
    masked, originals = redactor.masked_messages([turns[place] for place in order], "role")
    in_given_order = [dict(turn) for turn in turns]
    for place, turn in zip(order, masked, strict=True):
        in_given_order[place] = turn
    segments = {
        f"seg_{int(place) + 1:04d}": {"text": text, "words": []}
        for place, text in originals.items()
    }
    return in_given_order, redactor.seal(segments=segments) if segments else None


def _measured(turns: Sequence[Mapping[str, Any]]) -> Measures:
    measures = Measures()
    timed = all(turn["start_ms"] is not None and turn["end_ms"] is not None for turn in turns)
    if turns and timed:
        settings = current_default(Channel.VOICE_BOT).scorecard.metrics
        # The measures below use only roles and times, so the language does not matter.
        transcript = of_turns(turns, language=None)
        dialogue = dialogue_of(transcript, channel=Channel.VOICE_BOT, language="en")
        timing = timing_of(dialogue, Cues(), settings)
        measure_speech(measures, dialogue, timing, settings)
    return measures


def _latency(
    latencies: Mapping[str, Any] | Sequence[float] | None, measures: Measures
) -> dict[str, Any] | None:
    if isinstance(latencies, Mapping):
        return {name: latencies.get(name) for name in _MEASURED}
    if latencies:
        percentiles = {name: round(percentile(latencies, at)) for name, at in _PERCENTILES.items()}
        return {**percentiles, "count": len(latencies)}
    if not measures.get("latencyMsCount"):
        return None
    measured = {name: measures.get(metric) for name, metric in _MEASURED.items()}
    return {name: None if value is None else round(value) for name, value in measured.items()}


def _duration(fields: Mapping[str, Any]) -> int | None:
    if fields["duration_seconds"] is not None:
        return int(fields["duration_seconds"])
    return _seconds(fields["started_at"] or fields["answered_at"], fields["ended_at"])


def _seconds(start: datetime | None, end: datetime | None) -> int | None:
    if start is None or end is None:
        return None
    return max(0, round((end - start).total_seconds()))
