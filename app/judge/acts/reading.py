"""Acts of the lines of a dialogue: each with its probability and the sentence that shows it best.

English lines are read by models, lines of other languages by the phrases of their lexicon.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import repeat
from typing import Any, NamedTuple, Protocol

from app.judge.acts.catalogue import Act
from app.judge.acts.classifier import Classifier, classifier_from, probability_of
from app.judge.acts.features import EncodedLine, Heard, contexts_of
from app.judge.dialogue.cues import Cue, Cues
from app.judge.dialogue.instructions import lines_with_instructions
from app.judge.dialogue.turns import Dialogue, Line, Side
from app.judge.languages.detection import ENGLISH
from app.judge.weights import model_document

# A line is taken to perform an act where that is at least as likely as not.
SHOWN = 0.5
# Averages of two models are timid: this power moves 0.4, where as much is missed as invented, to 0.5.
BOLDER = 0.756
# A longer conversation is read without the encoder, which takes some 5 ms for each line.
_MOST_ENCODED = 1_000
# Acts less likely than 1 in 20 are left out.
_LEAST = 0.05
# Acts that a phrase of a lexicon shows in languages without a model.
_BY_CUE: Mapping[Side, Mapping[str, Mapping[Act, float]]] = {
    Side.CUSTOMER: {
        "asks_again": {Act.CONFUSED: 0.8},
        "closing": {Act.CLOSE: 0.8},
        "complaint": {Act.COMPLAIN: 0.8, Act.ANGRY: 0.6},
        "correction": {Act.CORRECT: 0.7},
        "escalation_request": {Act.ASK_PERSON: 0.9},
        "gives_up": {Act.GIVE_UP: 0.8},
        "greeting": {Act.GREET: 0.9},
        "nothing_more": {Act.CLOSE: 0.8},
        "opt_out": {Act.OPT_OUT: 0.9},
        "praise": {Act.PRAISE: 0.8},
        "problem": {Act.REQUEST: 0.6},
        "profanity": {Act.ANGRY: 0.9},
        "restates": {Act.REPEAT: 0.7},
        "solved": {Act.SOLVED: 0.8},
        "still_broken": {Act.UNSOLVED: 0.8},
        "thanks": {Act.THANK: 0.9},
    },
    Side.SERVICE: {
        "apology": {Act.APOLOGISE: 0.9},
        "bad_news": {Act.CANNOT: 0.6},
        "closing": {Act.CLOSE: 0.8},
        "commitment": {Act.PROMISE: 0.8},
        "dismissive": {Act.MOCK: 0.8},
        "done": {Act.DONE: 0.8},
        "empathy": {Act.EMPATHISE: 0.9},
        "failure": {Act.CANNOT: 0.8},
        "fallback": {Act.STALL: 0.7},
        "greeting": {Act.GREET: 0.9},
        "hold": {Act.DOING: 0.7},
        "identity_check": {Act.VERIFY: 0.9},
        "next_step": {Act.NEXT: 0.7},
        "no_result": {Act.CANNOT: 0.8},
        "offer_help": {Act.OFFER_MORE: 0.8},
        "opt_out_done": {Act.DONE: 0.9},
        "profanity": {Act.INSULT: 0.9},
        "purpose": {Act.ASK: 0.6},
        "recap": {Act.RECAP: 0.8},
        "refusal": {Act.REFUSE: 0.7},
        "solved_check": {Act.CHECK: 0.8},
        "success": {Act.DONE: 0.8},
        "transfer": {Act.TRANSFER: 0.9},
    },
}
# Phrases of the English lexicon that say more than a model does.
_SURE_IN_ENGLISH = frozenset({"fallback", "opt_out", "opt_out_done", "profanity"})
_REFUSALS = (Act.REFUSE, Act.REFUSE_REASON)
# Leaves the customer a choice, and denies nothing.
_CHOICE = re.compile(
    r"(?!.*\b(?:\w{2,6}n['\u2019]t|cant|wont|cannot|not|no|unable)\b).*\bif you(?:['\u2019]d| would) (?:rather|prefer)\b",
    re.IGNORECASE | re.DOTALL,
)
_MEANT = (Act.PRAISE, Act.THANK, Act.SOLVED)


class Mark(NamedTuple):
    """Probability, 0 to 1, that a line performs an act, and `text[start:end]`, which shows it best."""

    probability: float
    start: int
    end: int


class SentenceActs(NamedTuple):
    """Acts that the classifier reads in `text[start:end]`, a sentence or a part of a long one."""

    start: int
    end: int
    likely: Mapping[Act, float]


@dataclass(frozen=True, slots=True)
class LineActs:
    """A line with the acts that it may perform and, where the encoder read it, its meaning as a vector."""

    line: Line
    marks: Mapping[Act, Mark]
    sentences: tuple[SentenceActs, ...] = ()
    meaning: Any = field(default=None, compare=False, repr=False)

    def of(self, act: Act) -> float:
        """Return the probability of an act, 0 where nothing shows it."""
        mark = self.marks.get(act)
        return 0.0 if mark is None else mark.probability

    def shows(self, *acts: Act) -> bool:
        """Tell whether the line is taken to perform one of the acts."""
        return any(self.of(act) >= SHOWN for act in acts)

    def shows_within(self, start: int, end: int, *acts: Act) -> bool:
        """Tell whether a sentence of `text[start:end]` is taken to perform one of the acts."""
        marks = (self.marks[act] for act in acts if act in self.marks)
        return any(m.probability >= SHOWN and m.start < end and start < m.end for m in marks)

    def within(self, act: Act, start: int, end: int) -> float:
        """Return the probability of an act as far as `text[start:end]` shows it."""
        mark = self.marks.get(act)
        if mark is None:
            return 0.0
        shown = [
            (item.likely.get(act, 0.0), _shared(item.start, item.end, start, end))
            for item in self.sentences
        ]
        most = max((likely for likely, _ in shown), default=0.0)
        if not most:
            return mark.probability * _shared(mark.start, mark.end, start, end)
        return mark.probability * max(likely * shared for likely, shared in shown) / most

    def best(self, *acts: Act) -> Mark | None:
        """Return the mark of the likeliest of the acts; None where nothing shows any."""
        return max((self.marks[act] for act in acts if act in self.marks), default=None)


def _shared(start: int, end: int, other_start: int, other_end: int) -> float:
    """Return how much of the shorter of two stretches is in the other."""
    shared = min(end, other_end) - max(start, other_start)
    return max(0, shared) / max(1, min(end - start, other_end - other_start))


@dataclass(frozen=True)
class Acts:
    """The lines of both sides in their order; empty where the sides are unknown or the words not read."""

    lines: tuple[LineActs, ...] = ()

    @cached_property
    def customer(self) -> tuple[LineActs, ...]:
        return tuple(line for line in self.lines if line.line.side is Side.CUSTOMER)

    @cached_property
    def service(self) -> tuple[LineActs, ...]:
        return tuple(line for line in self.lines if line.line.side is Side.SERVICE)

    @cached_property
    def _by_position(self) -> Mapping[int, LineActs]:
        return {line.line.position: line for line in self.lines}

    @property
    def positions(self) -> Collection[int]:
        """Return the positions of the lines that were read."""
        return self._by_position.keys()

    def at(self, position: int) -> LineActs:
        return self._by_position[position]


class LineReader(Protocol):
    """Reads the lines of a conversation."""

    def read(self, lines: Sequence[Heard]) -> list[EncodedLine]: ...

    def meaning(self, text: str, *, by_customer: bool) -> Any:
        """Return the meaning of the beginning of a line as a vector of length 1."""
        ...


class Readers(NamedTuple):
    """Models that read English: the classifiers of the two sides and, where installed, the encoder."""

    customer: Classifier
    service: Classifier
    encoder: LineReader | None = None


@cache
def shipped_readers(*, fast: bool) -> Readers:
    """Return the readers of the package; the `fast` ones go without the encoder."""
    # Only what judges needs numpy.
    from app.judge.acts.encoder import Encoder  # noqa: PLC0415

    return Readers(
        customer=classifier_from(model_document("acts-customer")),
        service=classifier_from(model_document("acts-service")),
        encoder=None if fast else Encoder.shipped(),
    )


def acts_of(dialogue: Dialogue, cues: Cues, readers: Readers) -> Acts:
    """Read the acts of an attributed dialogue whose words are known."""
    if not dialogue.attributed or not dialogue.readable:
        return Acts()
    # A customer who writes to the judge says nothing to the agent; an agent may hide nothing so.
    steering = {line.position for line in lines_with_instructions(dialogue.customer)}
    lines = [
        line
        for line in dialogue.lines
        if line.side in (Side.CUSTOMER, Side.SERVICE) and line.position not in steering
    ]
    english = any(line.language == ENGLISH for line in lines)
    read = read_lines([heard_line(line, cues.in_line(line)) for line in lines], readers)
    return Acts(
        tuple(
            LineActs(line, _with_phrases(line, marks, cues.in_line(line)), sentences, meaning)
            for line, (marks, sentences, meaning) in zip(
                lines, read if english else repeat(({}, (), None)), strict=False
            )
        )
    )


def heard_line(line: Line, cues: Sequence[Cue]) -> Heard:
    phrases = tuple((cue.kind, cue.start) for cue in cues)
    return Heard(line.side is Side.CUSTOMER, line.text, phrases)


def read_lines(
    lines: Sequence[Heard], readers: Readers
) -> Iterator[tuple[dict[Act, Mark], tuple[SentenceActs, ...], Any]]:
    """Yield what the models read in each line of an English conversation and its sentences, and its meaning."""
    encoder = readers.encoder if len(lines) <= _MOST_ENCODED else None
    encoded = repeat(None) if encoder is None else encoder.read(lines)
    for line, contexts, read in zip(lines, contexts_of(lines), encoded, strict=False):
        classifier = readers.customer if line.by_customer else readers.service
        marks, sentences = _classified(line, contexts, classifier)
        if read is None:
            yield marks, sentences, None
        else:
            yield _averaged(marks, read.acts, len(line.text)), sentences, read.meaning


def _classified(
    line: Heard, contexts: Sequence[Sequence[str]], classifier: Classifier
) -> tuple[dict[Act, Mark], tuple[SentenceActs, ...]]:
    """Read each act where a sentence shows it best, and those of each sentence."""
    labels = tuple(map(Act, classifier.labels))
    best: dict[Act, Mark] = {}
    sentences = []
    for sentence, context in zip(line.sentences, contexts, strict=True):
        likely = dict(
            zip(labels, map(probability_of, classifier.logits(sentence, context)), strict=True)
        )
        for act, probability in likely.items():
            if act not in best or probability > best[act].probability:
                best[act] = Mark(probability, sentence.start, sentence.end)
        if sentence is line.sentences[0] or sentence.end - sentence.start < len(line.text):
            sentences.append(SentenceActs(sentence.start, sentence.end, likely))
    return best, tuple(sentences)


def _averaged(
    marks: Mapping[Act, Mark], likely: Mapping[Act, float], length: int
) -> dict[Act, Mark]:
    """Average what both models read; the classifier tells the sentence."""
    averaged = {}
    for act, probability in likely.items():
        mark = marks.get(act)
        if mark is None:
            averaged[act] = Mark(probability, 0, length)
        else:
            mean = (mark.probability + probability) / 2
            averaged[act] = mark._replace(probability=mean**BOLDER)
    return averaged


def _with_phrases(line: Line, marks: Mapping[Act, Mark], cues: Sequence[Cue]) -> Mapping[Act, Mark]:
    """Add what phrases of the lexicon show, and leave out what is unlikely."""
    if line.language != ENGLISH:
        marks = {}
    marks = _without_sarcasm(marks)
    found = {act: mark for act, mark in marks.items() if mark.probability >= _LEAST}
    if any(cue.kind == "fallback" for cue in cues) or _CHOICE.match(line.text):
        # Who did not understand refuses nothing, and neither does who leaves the choice.
        found = {act: mark for act, mark in found.items() if act not in _REFUSALS}
    for cue in cues:
        if line.language == ENGLISH and cue.kind not in _SURE_IN_ENGLISH:
            continue
        for act, probability in _BY_CUE[line.side].get(cue.kind, {}).items():
            if act not in found or found[act].probability < probability:
                found[act] = Mark(probability, cue.start, cue.end)
    return found


def _without_sarcasm(marks: Mapping[Act, Mark]) -> Mapping[Act, Mark]:
    """Lower praise and thanks by how likely they mean the opposite."""
    sarcastic = marks.get(Act.SARCASTIC)
    if sarcastic is None:
        return marks
    meant = 1 - sarcastic.probability
    return {
        act: mark._replace(probability=mark.probability * meant) if act in _MEANT else mark
        for act, mark in marks.items()
    }
