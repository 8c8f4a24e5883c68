"""Facts of a conversation: everything that is computed before any criterion is judged."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from app.judge.acts.catalogue import Act
from app.judge.acts.lessons import taught
from app.judge.acts.likeness import Likeness
from app.judge.acts.reading import SHOWN, Acts, LineActs, Readers, acts_of, shipped_readers
from app.judge.conduct.readings import AgentLine, Readings, SpokenLine, readings_of
from app.judge.context import Context
from app.judge.dialogue.cues import Cue, Cues, find_cues
from app.judge.dialogue.evidence import CONTRADICTS, SUPPORTS, Evidence, beginning, sentence_around
from app.judge.dialogue.instructions import lines_with_instructions
from app.judge.dialogue.turns import Dialogue, Exchanges, Line, Side, dialogue_of, exchanges_of
from app.judge.facts.metrics import Measures, measure
from app.judge.facts.phrases import SpokenPhrases
from app.judge.facts.sentiment import Sentiment, feelings_of, sentiment_of
from app.judge.facts.timing import Timing, timing_of
from app.judge.ledger.course import course_values
from app.judge.ledger.entries import Ledger, ledger_of
from app.judge.ledger.opinion import Opinion, opinion_values, shipped_opinion_model
from app.judge.ledger.spoken import spoken_lines
from app.judge.scorecard.values import MetricSettings, Scorecard
from app.judge.wording import clauses, part, sentence
from app.transcript import Transcript

# Where the speaker is unknown, a line usually comes from the side whose phrase it holds.
_UNATTRIBUTED_CONFIDENCE = 0.6
_QUOTES = 3
_LOOKED_AT = 20
_LEAST_WORDS = 4
# In fewer lines nothing takes its course.
LEAST_LINES = 2
# Readers saw no shorter conversations.
_LEAST_READ = 4
# From here on a line is rude whatever a reader would say of the whole.
PLAINLY_RUDE = 0.85
# Where readers rated the manner better than this, most single lines that sound rude were not.
_GOOD_MANNER = 0.5
_AMENDS = re.compile(r"\W*(?:no|nope|actually|oh|sorry|wait|almost)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Facts:
    """A dialogue and everything that is computed from it without a judge.

    `acts` and `readings` are those of single lines, `ledger` follows the customer's requests through
    them, all in every known language; where the words are not read or the sides are unknown, they
    are empty. `opinion` is known in English only, and where there is enough of both sides; otherwise the
    `course_values` behind it are empty. `read_by_model` says
    that a language model has read the acts and the requests, in whatever language.
    """

    dialogue: Dialogue
    cues: Cues
    timing: Timing
    measures: Measures
    sentiment: Sentiment
    acts: Acts
    ledger: Ledger
    course_values: Mapping[str, float]
    opinion: Opinion | None
    readings: Readings
    exchanges: Exchanges
    context: Context
    settings: MetricSettings
    phrases: SpokenPhrases
    likeness: Likeness
    read_by_model: bool = False

    @property
    def reader(self) -> Opinion | None:
        """Return what a reader would say of the conversation; None where it is too short for that."""
        return self.opinion if len(self.acts.lines) >= _LEAST_READ else None

    def said(self, *kinds: str, lines: Sequence[Line] | None = None) -> list[Cue]:
        """List the cues that the service side says; anybody's where the sides are unknown."""
        side = Side.SERVICE if self.dialogue.attributed else None
        return self.cues.of(*kinds, lines=lines, side=side)

    def said_at(self, *kinds: str) -> set[int]:
        """Return the positions of the lines in which the service side says these kinds."""
        return {cue.line.position for cue in self.said(*kinds)}

    def heard(self, *kinds: str, lines: Sequence[Line] | None = None) -> list[Cue]:
        """List the cues that the customer says; anybody's where the sides are unknown."""
        side = Side.CUSTOMER if self.dialogue.attributed else None
        return self.cues.of(*kinds, lines=lines, side=side)

    def opening(self, turns: int) -> tuple[Line, ...]:
        """Return the lines of the first turns of the service side."""
        return tuple(line for turn in self.dialogue.service_turns[:turns] for line in turn.lines)

    def ending(self, turns: int) -> tuple[Line, ...]:
        """Return the lines of the last turns; the last lines where the sides are unknown."""
        if not self.dialogue.attributed:
            return self.dialogue.lines[-turns:]
        return tuple(line for turn in self.dialogue.turns[-turns:] for line in turn.lines)

    def confidence(self, if_attributed: float) -> float:
        """Lower a confidence where it is not known who speaks."""
        return if_attributed * (1 if self.dialogue.attributed else _UNATTRIBUTED_CONFIDENCE)

    @property
    def agent(self) -> str:
        """Name the service side in an explanation."""
        if not self.dialogue.attributed:
            return "somebody"
        return "the bot" if self.dialogue.channel == "voice_bot" else "the agent"

    @property
    def customer(self) -> str:
        """Name the customer in an explanation."""
        if not self.dialogue.attributed:
            return "somebody"
        return "the caller" if self.dialogue.channel == "voice_bot" else "the customer"

    def obstacles(self, kinds: Iterable[str]) -> str:
        """Write a sentence that names obstacles or faults."""
        who = {"agent": self.agent, "customer": self.customer}
        return clauses([part(f"obstacle.{kind}", **who) for kind in kinds])

    def sentence(self, key: str, **values: str | int) -> str:
        """Write a sentence of `app.judge.wording` about the two sides of this conversation."""
        return sentence(key, agent=self.agent, customer=self.customer, **values)


def facts_of(
    transcript: Transcript,
    scorecard: Scorecard,
    context: Context,
    *,
    readers: Readers | None = None,
) -> Facts:
    """Work out the facts of a conversation under the settings of a scorecard version.

    Args:
        readers: what reads English lines; without them the shipped ones, with the encoder.
    """
    readers = readers or shipped_readers(fast=False)
    dialogue = dialogue_of(transcript, channel=scorecard.channel, language=context.language)
    cues = find_cues(dialogue)
    timing = timing_of(dialogue, cues, scorecard.metrics)
    likeness = Likeness(readers.encoder)
    read = acts_of(dialogue, cues, readers)
    cues, acts = taught(dialogue, cues, read, context.lessons, likeness)
    readings = readings_of(cues, acts)
    sentiment = sentiment_of(dialogue, readings, scorecard.metrics)
    measures = measure(dialogue, timing, cues, sentiment, context, scorecard.metrics)
    ledger = ledger_of(spoken_lines(acts))
    values, opinion = _course_of(dialogue, acts, ledger, readings)
    return Facts(
        dialogue=dialogue,
        cues=cues,
        timing=timing,
        measures=measures,
        sentiment=sentiment,
        acts=acts,
        ledger=ledger,
        course_values=values,
        opinion=opinion,
        readings=readings,
        exchanges=exchanges_of(dialogue),
        context=context,
        settings=scorecard.metrics,
        phrases=SpokenPhrases(dialogue, scorecard),
        likeness=likeness,
    )


def read_again(facts: Facts, cues: Cues, acts: Acts, ledger: Ledger) -> Facts:
    """Return the facts as they follow from what a language model has read in each line."""
    dialogue, readings = facts.dialogue, readings_of(cues, acts, by_model=True)
    sentiment = sentiment_of(dialogue, readings, facts.settings, read_all=True)
    values, opinion = _course_of(dialogue, acts, ledger, readings)
    return replace(
        facts,
        cues=cues,
        acts=acts,
        ledger=ledger,
        readings=readings,
        sentiment=sentiment,
        measures=measure(dialogue, facts.timing, cues, sentiment, facts.context, facts.settings),
        course_values=values,
        opinion=opinion,
        read_by_model=True,
    )


def _course_of(
    dialogue: Dialogue, acts: Acts, ledger: Ledger, readings: Readings
) -> tuple[Mapping[str, float], Opinion | None]:
    if not _has_course(dialogue):
        return {}, None
    # What an agent writes to the judge moves no matter forward, and neither does an insult.
    idle = {line.position for line in lines_with_instructions(dialogue.service)}
    idle |= {line.line.position for line in acts.service if line.shows(Act.INSULT)}
    lines = [line for line in spoken_lines(acts) if line.position not in idle]
    values = course_values(lines, ledger, feelings_of(line.line.text for line in acts.customer))
    seen = opinion_values(lines, ledger, values, readings.manners)
    return values, shipped_opinion_model().opinion(seen)


def _has_course(dialogue: Dialogue) -> bool:
    enough = dialogue.service and dialogue.customer and len(dialogue.lines) >= LEAST_LINES
    return bool(dialogue.english and dialogue.attributed and enough)


def performed(facts: Facts, lines: Sequence[Line], *acts: Act, least: float = SHOWN) -> list[Cue]:
    """List where the service side performs one of the acts in these lines, in whatever words."""
    return [
        Cue(acts[0], line.line, mark.start, mark.end)
        for line in facts.acts.service
        if line.line in lines
        and (mark := line.best(*acts)) is not None
        and mark.probability >= least
    ]


def said_again(facts: Facts) -> set[int]:
    """Return where the service side repeats itself, except read-backs after a correction."""
    amended = {line.position + 1 for line in facts.dialogue.customer if _AMENDS.match(line.text)}
    amended |= {cue.line.position + 1 for cue in facts.heard("correction")}
    return facts.exchanges.said_again() - (amended & facts.said_at("asks_confirmation"))


def informative_lines(lines: Sequence[Line]) -> Sequence[Line]:
    """Leave out short lines, such as numbers and names, unless all lines are short."""
    return [line for line in lines if len(line.text.split()) >= _LEAST_WORDS] or lines


def quoted(cues: Iterable[Cue], polarity: str = SUPPORTS) -> tuple[Evidence, ...]:
    """Quote the sentences of the first cues, up to three different ones."""
    return distinct(sentence_around(cue.line.segment, cue.start, cue.end, polarity) for cue in cues)


def examined(lines: Iterable[Line], polarity: str = CONTRADICTS) -> tuple[Evidence, ...]:
    """Quote the lines in which something was looked for, up to three of them."""
    return distinct(beginning(line.segment, polarity) for line in lines)


def shown(read: SpokenLine, labels: Iterable[str], polarity: str = SUPPORTS) -> Evidence:
    """Quote the sentence of a line that shows one of the labels best."""
    mark = read.strongest(labels)
    return sentence_around(read.line.segment, mark.start, mark.end, polarity)


def shown_act(line: LineActs, acts: Iterable[Act], polarity: str = SUPPORTS) -> Evidence:
    """Quote the sentence of a line that performs one of the acts best; its beginning if none does."""
    mark = line.best(*acts)
    if mark is None:
        return beginning(line.line.segment, polarity)
    return sentence_around(line.line.segment, mark.start, mark.end, polarity)


def rude_replies(facts: Facts) -> list[AgentLine]:
    """List the rude lines: where a reader would find the manner good, only those that are beyond doubt."""
    rude = [line for line in facts.readings.agent if line.is_rude]
    if facts.opinion is None or facts.opinion.share("manner") <= _GOOD_MANNER:
        return rude
    breached = {breach.line.line.position for breach in facts.readings.breaches}
    return [line for line in rude if line.rude >= PLAINLY_RUDE or line.line.position in breached]


def breach_evidence(facts: Facts, *acts: Act) -> tuple[Evidence, ...]:
    """Quote the worst breaches of these kinds in their order."""
    breaches = [breach for breach in facts.readings.breaches if breach.act in acts]
    breaches.sort(key=lambda breach: (-breach.weight, breach.line.line.position))
    breaches = sorted(breaches[:_QUOTES], key=lambda breach: breach.line.line.position)
    return distinct(
        sentence_around(breach.line.line.segment, breach.start, breach.end, CONTRADICTS)
        for breach in breaches
    )


def distinct(evidence: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """Keep the first pieces of evidence that do not overlap, up to three."""
    pieces: list[Evidence] = []
    for item in islice(evidence, _LOOKED_AT):
        if len(pieces) == _QUOTES:
            break
        if not any(_overlap(item, other) for other in pieces):
            pieces.append(item)
    return tuple(pieces)


def _overlap(one: Evidence, other: Evidence) -> bool:
    same = one.segment_id == other.segment_id
    return same and one.char_start < other.char_end and other.char_start < one.char_end
