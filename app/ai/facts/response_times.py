"""Response times of written conversations (docs/metrics.md)."""

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise

from app.ai.context import Context
from app.ai.dialogue.turns import Dialogue, Line, Side
from app.ai.facts.intervals import percentile
from app.ai.facts.measures import NO_CUSTOMER, NO_ROLES, NO_TIMES, Measures
from app.ai.wording.sentences import sentence

_FIRST = "firstResponseSeconds"
_RESPONSES = ("responseSecondsAvg", "responseSecondsP50", "responseSecondsP90")
_RESOLUTION = "resolutionSeconds"


def measure_responses(measures: Measures, dialogue: Dialogue, context: Context) -> None:
    """Add the metrics that come from when messages were sent; only in a chat."""
    if dialogue.channel != "chat":
        return
    sent = sent_times(dialogue)
    if sent is None:
        measures.set_missing(NO_TIMES, _FIRST, *_RESPONSES, _RESOLUTION)
    elif not dialogue.attributed:
        measures.set_missing(NO_ROLES, _FIRST, *_RESPONSES, _RESOLUTION)
    elif not dialogue.customer:
        measures.set_missing(NO_CUSTOMER, _FIRST, *_RESPONSES, _RESOLUTION)
    else:
        _measure(measures, dialogue, sent, context)


def _measure(
    measures: Measures, dialogue: Dialogue, sent: Sequence[datetime], context: Context
) -> None:
    first_asked_at = min(sent[line.position] for line in dialogue.customer)
    start = max(
        time
        for time in (first_asked_at, context.handed_off_at, context.reopened_at)
        if time is not None
    )
    answers = [
        sent[line.position]
        for line in dialogue.lines
        if line.by_human and sent[line.position] >= start
    ]
    if answers:
        measures.set(_FIRST, _seconds(start, min(answers)))
    else:
        measures.set_missing(sentence("not_measured.no_person"), _FIRST)
    waits = [seconds for _, seconds in answer_times(dialogue.lines, sent)]
    if waits:
        measures.set("responseSecondsAvg", sum(waits) / len(waits))
        measures.set("responseSecondsP50", percentile(waits, 50))
        measures.set("responseSecondsP90", percentile(waits, 90))
    else:
        measures.set_missing(sentence("not_measured.no_person"), *_RESPONSES)
    if context.closed_at is None:
        measures.set_missing(sentence("not_measured.close_unknown"), _RESOLUTION)
    else:
        measures.set(_RESOLUTION, max(0.0, _seconds(first_asked_at, context.closed_at)))


def answer_times(lines: Sequence[Line], sent: Sequence[datetime]) -> list[tuple[Line, float]]:
    """List the lines with which a person answers, and the seconds that the customer had waited.

    A run of customer messages is answered once, and its first message has waited longest; what a
    bot says in between answers nobody.
    """
    answers = []
    waiting_since: datetime | None = None
    for line in lines:
        if line.side is Side.CUSTOMER:
            waiting_since = waiting_since or sent[line.position]
        elif line.by_human and waiting_since is not None:
            answers.append((line, _seconds(waiting_since, sent[line.position])))
            waiting_since = None
    return answers


def sent_times(dialogue: Dialogue) -> list[datetime] | None:
    """Return when each line was sent; None unless every line has a time, and they are in order."""
    times = [line.segment.sent_at for line in dialogue.lines]
    if not times or any(time is None for time in times):
        return None
    known_times = [time for time in times if time is not None]
    in_order = all(before <= after for before, after in pairwise(known_times))
    return known_times if in_order else None


def _seconds(start: datetime, end: datetime) -> float:
    return round((end - start).total_seconds(), 3)
