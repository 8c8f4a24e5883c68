"""The moments of a conversation that a listener would jump to."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from app.judge.dialogue.cues import Cue
from app.judge.dialogue.instructions import lines_with_instructions
from app.judge.dialogue.turns import Line, Side
from app.judge.facts.conversation_facts import Facts, rude_replies
from app.judge.facts.timing import Gap
from app.judge.scorecard.values import Scorecard

# Each kind of cue with its speaker and its severity.
_CUES = (
    ("escalation_request", Side.CUSTOMER, "warn"),
    ("complaint", Side.CUSTOMER, "warn"),
    ("opt_out", Side.CUSTOMER, "warn"),
    ("danger", Side.CUSTOMER, "critical"),
    ("commitment", Side.SERVICE, "info"),
)
# A next step with its time is promised too.
_CUE_KINDS = {"commitment": ("commitment", "next_step")}
# Moments without a speaker.
_SILENCES = ("dead_air", "long_hold")


@dataclass(frozen=True, slots=True)
class KeyMoment:
    """`label` says in a sentence what happens; times are None where the line has none."""

    kind: str
    line: Line
    severity: str
    label: str
    start_ms: int | None
    end_ms: int | None

    def as_json(self) -> dict[str, Any]:
        return {
            "type": self.kind,
            "startMs": self.start_ms,
            "endMs": self.end_ms,
            "segmentId": self.line.segment.id,
            "role": None if self.kind in _SILENCES else self.line.segment.role.value,
            "severity": self.severity,
            "label": self.label,
        }


def moments_of(facts: Facts, scorecard: Scorecard) -> list[dict[str, Any]]:
    """List the moments in the order in which they begin, in the shape of the results.

    Chat messages have no position in a recording; their times are null.
    """
    moments = [
        *_from_cues(facts),
        *_statements(facts, scorecard),
        *_instructions(facts),
        *_silences(facts),
        *_overlaps(facts),
    ]
    # Without all times, moments are ordered by their lines.
    timed = all(moment.start_ms is not None for moment in moments)

    def place(moment: KeyMoment) -> tuple[int, int, str]:
        begins = moment.start_ms if timed else None
        return (begins or 0, moment.line.position, moment.kind)

    return [moment.as_json() for moment in sorted(moments, key=place)]


def event_types(facts: Facts) -> frozenset[str]:
    """Return the types of all moments except required statements."""
    moments = (*_from_cues(facts), *_silences(facts), *_overlaps(facts))
    return frozenset(moment.kind for moment in moments)


def _from_cues(facts: Facts) -> Iterable[KeyMoment]:
    for kind, side, severity in _CUES:
        cues_of = facts.said if side is Side.SERVICE else facts.heard
        for line in _lines_of(cues_of(*_CUE_KINDS.get(kind, (kind,)))).values():
            yield _moment(facts, kind, line, severity)
    abusive = _lines_of(facts.cues.of("profanity"))
    for line in abusive.values():
        severity = "critical" if line.side is Side.SERVICE else "warn"
        yield _moment(facts, "profanity", line, severity)
    for reply in rude_replies(facts):
        if reply.line.position not in abusive:
            yield _moment(facts, "rudeness", reply.line, "warn")


def _statements(facts: Facts, scorecard: Scorecard) -> Iterable[KeyMoment]:
    lines = {line.segment.id: line for line in facts.dialogue.lines}
    for criterion in scorecard.criteria:
        for statement in criterion.parameters.get("requiredStatements", ()):
            for evidence in facts.phrases.statement_evidence(statement)[:1]:
                line = lines[evidence.segment_id]
                yield _moment(
                    facts, "compliance_disclosure", line, "info", title=statement["title"]
                )


def _instructions(facts: Facts) -> Iterable[KeyMoment]:
    for line in lines_with_instructions(facts.dialogue.lines):
        yield _moment(facts, "instruction_in_transcript", line, "warn")


def _silences(facts: Facts) -> Iterable[KeyMoment]:
    for gap in facts.timing.long_silences(facts.settings):
        if gap.announced is False:
            yield _silence(facts, "dead_air", gap)
    for gap in facts.timing.holds(facts.settings):
        if gap.length >= facts.settings.long_hold_ms:
            yield _silence(facts, "long_hold", gap)


def _overlaps(facts: Facts) -> Iterable[KeyMoment]:
    interruptions = set(facts.timing.interruptions)
    for item in facts.timing.barge_ins:
        if item in interruptions:
            severity = "warn" if item.line.side is Side.SERVICE else "info"
            yield _moment(
                facts, "interruption", item.line, severity, between=(item.start, item.end)
            )
        elif item.end - item.start >= facts.settings.interruption_overlap_ms:
            yield _moment(facts, "overlap", item.line, "info", between=(item.start, item.end))


def _lines_of(cues: Iterable[Cue]) -> dict[int, Line]:
    return {cue.line.position: cue.line for cue in cues}


def _silence(facts: Facts, kind: str, gap: Gap) -> KeyMoment:
    seconds = round(gap.length / 1000)
    return _moment(facts, kind, gap.before, "warn", between=(gap.start, gap.end), seconds=seconds)


def _moment(
    facts: Facts,
    kind: str,
    line: Line,
    severity: str,
    *,
    between: tuple[int | None, int | None] | None = None,
    **values: str | int,
) -> KeyMoment:
    who = {Side.SERVICE: facts.agent, Side.CUSTOMER: facts.customer}
    other = {Side.SERVICE: facts.customer, Side.CUSTOMER: facts.agent}
    start_ms, end_ms = between or (line.segment.start_ms, line.segment.end_ms)
    label = facts.sentence(
        f"moment.{kind}",
        who=who.get(line.side, "somebody"),
        other=other.get(line.side, "somebody"),
        **values,
    )
    return KeyMoment(kind, line, severity, label, start_ms, end_ms)
