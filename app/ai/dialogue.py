"""A transcript seen as a dialogue between a service side and a customer, in turns."""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from app.ai.language import is_english
from app.ai.transcript import Role, Segment, Transcript

_PEOPLE = frozenset({Role.AGENT, Role.SUPERVISOR})


class Side(StrEnum):
    """`service` is whom the scorecard judges: the agent or, where none takes part, the bot."""

    SERVICE = "agent"
    CUSTOMER = "customer"
    OTHER = "other"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Line:
    """One spoken or written segment; `position` counts the lines of the dialogue from 0."""

    position: int
    segment: Segment
    side: Side
    by_human: bool

    @property
    def text(self) -> str:
        return self.segment.text


@dataclass(frozen=True, slots=True)
class Turn:
    """Consecutive lines of one side."""

    side: Side
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Dialogue:
    """The lines that carry words, without those of the system.

    `attributed` says whether it is known which lines are whose. In a call of a voice bot the
    service side is the bot alone, and a person who takes over is `other`.
    """

    transcript: Transcript
    channel: str
    language: str | None
    attributed: bool
    english: bool
    lines: tuple[Line, ...]

    @cached_property
    def service(self) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.side is Side.SERVICE)

    @cached_property
    def customer(self) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.side is Side.CUSTOMER)

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        found: list[Turn] = []
        start = 0
        for end in range(1, len(self.lines) + 1):
            if end == len(self.lines) or self.lines[end].side is not self.lines[start].side:
                found.append(Turn(self.lines[start].side, self.lines[start:end]))
                start = end
        return tuple(found)

    @cached_property
    def service_turns(self) -> tuple[Turn, ...]:
        return tuple(turn for turn in self.turns if turn.side is Side.SERVICE)

    @property
    def word_count(self) -> int:
        return sum(len(line.text.split()) for line in self.lines)


def dialogue_of(transcript: Transcript, *, channel: str, language: str | None) -> Dialogue:
    """Read a transcript as a dialogue; `language` overrides the transcript's own."""
    bots = {person.id for person in transcript.participants if person.kind == "bot"}
    spoken = [
        segment
        for segment in transcript.segments
        if segment.role is not Role.SYSTEM and segment.text.strip()
    ]
    roles = [_role(segment, bots) for segment in spoken]
    service = _service_roles(channel, frozenset(roles))
    lines = tuple(
        Line(position, segment, _side(role, service), role in _PEOPLE)
        for position, (segment, role) in enumerate(zip(spoken, roles, strict=True))
    )
    attributed = transcript.speaker_attribution != "none" and any(
        line.side in (Side.SERVICE, Side.CUSTOMER) for line in lines
    )
    declared = language or transcript.language
    return Dialogue(
        transcript=transcript,
        channel=channel,
        language=declared,
        attributed=attributed,
        english=is_english((segment.text for segment in spoken), declared),
        lines=lines if attributed else tuple(_unknown(line) for line in lines),
    )


def _role(segment: Segment, bots: set[str]) -> Role:
    if segment.role is Role.AGENT and segment.participant_id in bots:
        return Role.BOT
    return segment.role


def _service_roles(channel: str, present: frozenset[Role]) -> frozenset[Role]:
    bot = frozenset({Role.BOT})
    if channel == "voice_bot":
        return bot if Role.BOT in present else _PEOPLE
    return _PEOPLE if present & _PEOPLE else bot


def _side(role: Role, service: frozenset[Role]) -> Side:
    if role in service:
        return Side.SERVICE
    if role is Role.CUSTOMER:
        return Side.CUSTOMER
    return Side.UNKNOWN if role is Role.UNKNOWN else Side.OTHER


def _unknown(line: Line) -> Line:
    return Line(line.position, line.segment, Side.UNKNOWN, by_human=False)
