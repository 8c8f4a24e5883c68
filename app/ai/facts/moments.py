"""The moments of a conversation that a listener would jump to."""

from collections.abc import Iterable
from typing import Any

from app.ai.dialogue.cues import Cue
from app.ai.dialogue.instructions import lines_with_instructions
from app.ai.dialogue.turns import Line, Side
from app.ai.facts.gathering import Facts
from app.ai.facts.spoken_phrases import statement_evidence
from app.ai.facts.timing import Gap
from app.ai.scorecard.values import Scorecard

# Of each kind of cue: the type of the moment, who says it, how severe it is, and its label.
_CUES = (
    ("escalation_request", Side.CUSTOMER, "warn", "Asks for somebody else"),
    ("complaint", Side.CUSTOMER, "warn", "Complains"),
    ("opt_out", Side.CUSTOMER, "warn", "Asks not to be contacted again"),
    ("commitment", Side.SERVICE, "info", "Promises to follow up"),
)
# A next step with its time is promised too.
_MEANT = {"commitment": ("commitment", "next_step")}


def moments_of(facts: Facts, scorecard: Scorecard) -> list[dict[str, Any]]:
    """List the moments in the order in which they begin, in the shape of contract B6.

    Messages have no times in media, so that theirs are null.
    """
    found = [
        *_of_cues(facts),
        *_profanity(facts),
        *_statements(facts, scorecard),
        *_instructions(facts),
        *_silences(facts),
        *_overlaps(facts),
    ]
    # Where one of them has no time, the order in which things were said is all that is known.
    timed = all(begins is not None for (begins, *_), _ in found)
    return [m for _, m in sorted(found, key=lambda item: item[0] if timed else item[0][1:])]


def event_types(facts: Facts) -> frozenset[str]:
    """Return the types of moments that there are, but for those that a scorecard asks for."""
    found = (*_of_cues(facts), *_profanity(facts), *_silences(facts), *_overlaps(facts))
    return frozenset(moment["type"] for _, moment in found)


def _of_cues(facts: Facts) -> Iterable[tuple[Any, dict[str, Any]]]:
    for kind, side, severity, label in _CUES:
        found = facts.said if side is Side.SERVICE else facts.heard
        for cue in _one_a_line(cue for each in _MEANT.get(kind, (kind,)) for cue in found(each)):
            yield _moment(kind, cue.line, severity, label)


def _profanity(facts: Facts) -> Iterable[tuple[Any, dict[str, Any]]]:
    for cue in _one_a_line(facts.cues.of("profanity")):
        severity = "critical" if cue.line.side is Side.SERVICE else "warn"
        yield _moment("profanity", cue.line, severity, "Abusive words")


def _statements(facts: Facts, scorecard: Scorecard) -> Iterable[tuple[Any, dict[str, Any]]]:
    lines = {line.segment.id: line for line in facts.dialogue.lines}
    for criterion in scorecard.criteria:
        for statement in criterion.parameters.get("requiredStatements", ()):
            for evidence in statement_evidence(facts, statement)[:1]:
                line = lines[evidence.segment_id]
                yield _moment("compliance_disclosure", line, "info", statement["title"])


def _instructions(facts: Facts) -> Iterable[tuple[Any, dict[str, Any]]]:
    for line in lines_with_instructions(facts.dialogue.lines):
        yield _moment("instruction_in_transcript", line, "warn", "Addresses the judge")


def _silences(facts: Facts) -> Iterable[tuple[Any, dict[str, Any]]]:
    for gap in facts.timing.long_silences(facts.settings):
        if gap.announced is False:
            label = f"{_seconds(gap)} seconds of unexplained silence"
            yield _silence("dead_air", gap, label)
    for gap in facts.timing.holds(facts.settings):
        if gap.length >= facts.settings.long_hold_ms:
            yield _silence("long_hold", gap, f"On hold for {_seconds(gap)} seconds")


def _overlaps(facts: Facts) -> Iterable[tuple[Any, dict[str, Any]]]:
    interruptions = set(facts.timing.interruptions)
    for item in facts.timing.barge_ins:
        side = item.line.side
        if item in interruptions:
            severity = "warn" if side is Side.SERVICE else "info"
            over = "the customer" if side is Side.SERVICE else "the agent"
            yield _moment(
                "interruption", item.line, severity, f"Interrupts {over}", item.start, item.end
            )
        elif item.end - item.start >= facts.settings.interruption_overlap_ms:
            yield _moment("overlap", item.line, "info", "Both speak", item.start, item.end)


def _one_a_line(cues: Iterable[Cue]) -> Iterable[Cue]:
    return {cue.line.position: cue for cue in reversed(list(cues))}.values()


def _silence(kind: str, gap: Gap, label: str) -> tuple[Any, dict[str, Any]]:
    key, moment = _moment(kind, gap.before, "warn", label, gap.start, gap.end)
    return key, {**moment, "role": None}


def _moment(
    kind: str,
    line: Line,
    severity: str,
    label: str,
    start_ms: int | None = None,
    end_ms: int | None = None,
) -> tuple[Any, dict[str, Any]]:
    segment = line.segment
    moment = {
        "type": kind,
        "startMs": segment.start_ms if start_ms is None else start_ms,
        "endMs": segment.end_ms if end_ms is None else end_ms,
        "segmentId": segment.id,
        "role": segment.role.value,
        "severity": severity,
        "label": label,
    }
    return (moment["startMs"], line.position, kind), moment


def _seconds(gap: Gap) -> int:
    return round(gap.length / 1000)
