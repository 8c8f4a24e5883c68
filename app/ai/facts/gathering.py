"""Everything about a conversation that is worked out before any criterion is judged."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from app.ai.conduct.readings import Readings, readings_of
from app.ai.context import Context
from app.ai.dialogue.cues import Cue, Cues, find_cues
from app.ai.dialogue.evidence import SUPPORTS, Evidence, evidence_at
from app.ai.dialogue.turns import Dialogue, Line, Side, dialogue_of
from app.ai.facts.measures import Measures
from app.ai.facts.metrics import measure, measure_feelings
from app.ai.facts.reading import Reading, reading_of
from app.ai.facts.sentiment import Sentiment, sentiment_of
from app.ai.facts.timing import Timing, timing_of
from app.ai.scorecard.values import MetricSettings, Scorecard
from app.ai.transcript import Transcript

# What is said by somebody unknown was said by the side it belongs to more often than not.
_UNATTRIBUTED_CONFIDENCE = 0.6
_QUOTES = 5
_LOOKED_AT = 20


@dataclass(frozen=True, slots=True)
class Facts:
    """The dialogue and what code alone can tell of it.

    `readings` are those of single lines, in every known language; `reading` is that of the whole
    dialogue, in English. Both are None where the words are not read or the sides are unknown.
    """

    dialogue: Dialogue
    cues: Cues
    timing: Timing
    measures: Measures
    sentiment: Sentiment
    readings: Readings | None
    reading: Reading | None
    context: Context
    settings: MetricSettings

    def said(self, kind: str, lines: Sequence[Line] | None = None) -> list[Cue]:
        """List the cues that the service side says; anybody's where the sides are unknown."""
        side = Side.SERVICE if self.dialogue.attributed else None
        return self.cues.of(kind, lines, side)

    def heard(self, kind: str, lines: Sequence[Line] | None = None) -> list[Cue]:
        """List the cues that the customer says; anybody's where the sides are unknown."""
        side = Side.CUSTOMER if self.dialogue.attributed else None
        return self.cues.of(kind, lines, side)

    def opening(self, turns: int) -> tuple[Line, ...]:
        """Return the lines of the first turns of the service side."""
        return tuple(line for turn in self.dialogue.service_turns[:turns] for line in turn.lines)

    def ending(self, turns: int) -> tuple[Line, ...]:
        """Return the lines of the last turns; the last lines where the sides are unknown."""
        if not self.dialogue.attributed:
            return self.dialogue.lines[-turns:]
        return tuple(line for turn in self.dialogue.turns[-turns:] for line in turn.lines)

    def sure(self, confidence: float) -> float:
        """Lower a confidence where it is not known who speaks."""
        return confidence * (1 if self.dialogue.attributed else _UNATTRIBUTED_CONFIDENCE)

    @property
    def agent(self) -> str:
        """Name the service side in an explanation."""
        if not self.dialogue.attributed:
            return "somebody"
        return "the bot" if self.dialogue.channel == "voice_bot" else "the agent"


def facts_of(transcript: Transcript, scorecard: Scorecard, context: Context) -> Facts:
    """Work out the facts of a conversation under the settings of a scorecard version."""
    dialogue = dialogue_of(transcript, channel=scorecard.channel, language=context.language)
    cues = find_cues(dialogue)
    timing = timing_of(dialogue, cues, scorecard.metrics)
    sentiment = sentiment_of(dialogue, scorecard.metrics)
    feelings = [item.score for item in sentiment.segments if item.side is Side.CUSTOMER]
    measures = measure(dialogue, timing, cues, context, scorecard.metrics)
    measure_feelings(measures, dialogue, sentiment)
    read = dialogue.english and dialogue.attributed
    return Facts(
        dialogue=dialogue,
        cues=cues,
        timing=timing,
        measures=measures,
        sentiment=sentiment,
        readings=readings_of(dialogue, cues),
        reading=reading_of(dialogue, cues, feelings) if read else None,
        context=context,
        settings=scorecard.metrics,
    )


def quoted(cues: Iterable[Cue], polarity: str = SUPPORTS) -> tuple[Evidence, ...]:
    """Quote the first five cues, and of those that overlap the longest."""
    given = list(islice(cues, _LOOKED_AT))
    longest = {
        (cue.line.position, cue.start, cue.end): cue
        for cue in given
        if not any(_is_within(cue, other) for other in given)
    }
    return tuple(
        evidence_at(cue.line.segment, cue.start, cue.end, polarity)
        for cue in list(longest.values())[:_QUOTES]
    )


def _is_within(cue: Cue, other: Cue) -> bool:
    if cue.line.position != other.line.position or cue.end - cue.start >= other.end - other.start:
        return False
    return other.start <= cue.start < other.end or other.start < cue.end <= other.end


def places(cues: Iterable[Cue]) -> str:
    """Say in which segments the first three cues are."""
    return segments_named(cue.line for cue in cues)


def segments_named(lines: Iterable[Line]) -> str:
    """Say in words which segments the first three lines are."""
    in_order = sorted(lines, key=lambda line: line.position)
    ids = list(dict.fromkeys(line.segment.id for line in in_order))
    shown = ", ".join(ids[:3])
    return shown if len(ids) <= 3 else f"{shown} and {len(ids) - 3} more"


def capital(sentence: str) -> str:
    """Begin a sentence with a capital letter."""
    return sentence[:1].upper() + sentence[1:]
