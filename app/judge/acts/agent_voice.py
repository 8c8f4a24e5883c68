"""Agent's voice: which of two voices talks for the company, by what all their lines do and say."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

from app.judge.acts.catalogue import Act
from app.judge.acts.reading import acts_of, shipped_readers
from app.judge.dialogue.cues import find_cues
from app.judge.dialogue.turns import Dialogue, Line, Side, dialogue_of
from app.judge.weights import model_document
from app.transcript import Role, Segment, Transcript

# Below this difference of logits no role is given: 1 is 73 %.
MARGIN = 1.0
# The mean of an act counts the more, the longer the conversation is.
_FULL_LENGTH, _USUAL_LENGTH = 40, 10
_LEAST_WORDS = 15
_WORD = re.compile(r"[a-z']+|\?")
# Words of which one side of a service conversation says more than the other.
_TELLING = (
    *("my", "your", "you", "i", "me", "we", "our", "us", "it", "i'm", "i've", "i'll", "sir"),
    *("please", "sorry", "thank", "thanks", "can", "could", "will", "would", "need", "want"),
    *("help", "moment", "?"),
)
_OTHER = {Role.AGENT: Role.CUSTOMER, Role.CUSTOMER: Role.AGENT}


def with_named_agent(transcript: Transcript) -> Transcript:
    """Name the agent and the customer of two voices; unchanged where the words leave a doubt."""
    talking = _two_voices(transcript)
    if talking is None:
        return transcript
    first, second = talking
    lead = lead_of(_as(transcript, {first: Role.AGENT, second: Role.CUSTOMER}))
    if abs(lead) < MARGIN:
        return transcript
    agent, customer = (first, second) if lead > 0 else (second, first)
    return _as(transcript, {agent: Role.AGENT, customer: Role.CUSTOMER})


def lead_of(transcript: Transcript) -> float:
    """Return by how much more the agent sounds like an agent than the customer does, as a logit.

    It is negative where the roles seem to be swapped, and 0 where the words are not English: it is
    fitted to English alone.
    """
    return sum(_weights().get(name, 0.0) * value for name, value in signs_of(transcript).items())


def signs_of(transcript: Transcript) -> Mapping[str, float]:
    """Return what speaks for the roles of a transcript, less what speaks for the opposite ones."""
    swapped = {person.id: _OTHER[person.role] for person in transcript.participants}
    signs: defaultdict[str, float] = defaultdict(float, _signs(transcript))
    for name, value in _signs(_as(transcript, swapped)):
        signs[name] -= value
    return signs


def _signs(transcript: Transcript) -> Iterator[tuple[str, float]]:
    dialogue = dialogue_of(transcript, channel="voice", language=transcript.language)
    if not dialogue.english:
        return
    cues = find_cues(dialogue)
    acts = acts_of(dialogue, cues, shipped_readers(fast=True))
    length = math.sqrt(min(len(dialogue.lines), _FULL_LENGTH) / _USUAL_LENGTH)
    for side, lines in ((Side.SERVICE, acts.service), (Side.CUSTOMER, acts.customer)):
        read: dict[Act, list[float]] = defaultdict(list)
        for line in lines:
            for act, mark in line.marks.items():
                read[act].append(mark.probability)
        for act, probabilities in read.items():
            yield f"{side} {act}", sum(probabilities) / len(lines) * length
            yield f"{side} best {act}", max(probabilities)
    kinds = {(cue.line.side, cue.kind) for line in dialogue.lines for cue in cues.in_line(line)}
    for side, kind in kinds:
        yield f"{side} phrase {kind}", 1.0
    yield from _words(dialogue)


def _words(dialogue: Dialogue) -> Iterator[tuple[str, float]]:
    """Yield how often the service side says each telling word, and how long and many its lines are."""
    lines: Sequence[Line] = dialogue.service
    words = [word for line in lines for word in _WORD.findall(line.text.lower())]
    counts = Counter(words)
    for word in _TELLING:
        yield f"says {word}", counts[word] / max(_LEAST_WORDS, len(words))
    yield "length of lines", min(len(words) / max(1, len(lines)), 60) / 60
    yield "share of lines", len(lines) / max(1, len(dialogue.lines))


def _two_voices(transcript: Transcript) -> tuple[str, str] | None:
    """Return the ids of the participants if exactly two of them speak."""
    talking = dict.fromkeys(
        segment.participant_id for segment in transcript.segments if segment.text.strip()
    )
    if len(talking) != 2 or len(transcript.participants) != 2:
        return None
    first, second = talking
    return first, second


def _as(transcript: Transcript, roles: Mapping[str, Role]) -> Transcript:
    """Give the participants other roles."""
    segments: tuple[Segment, ...] = tuple(
        replace(segment, role=roles[segment.participant_id]) for segment in transcript.segments
    )
    people = tuple(replace(person, role=roles[person.id]) for person in transcript.participants)
    return replace(transcript, segments=segments, participants=people)


@cache
def _weights() -> Mapping[str, float]:
    weights: Mapping[str, float] = model_document("agent-voice")["weights"]
    return weights
