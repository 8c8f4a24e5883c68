"""Features of a sentence besides its words: the phrases of the lexicon in it, and what came before.

What was said before decides what an answer means: short ones are read together with the last question
of the other side.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from app.judge.acts.catalogue import Act
from app.judge.acts.sentences import Sentence, sentences_of

# Longer lines are read up to here.
MOST_CHARS = 1_500
_ANSWER = 4
_BEFORE_WORDS = 14
_LONG_WORD = 4
_LEAST_SHARED = 2
_AGAIN, _ECHO = 0.6, 0.5
_LOOKED_BACK = 6


@dataclass(frozen=True)
class Heard:
    """A line as the models read it; `phrases` are kinds of the lexicon and where they begin."""

    by_customer: bool
    text: str
    phrases: tuple[tuple[str, int], ...] = ()

    @cached_property
    def sentences(self) -> list[Sentence]:
        text = self.text[:MOST_CHARS]
        sentences = sentences_of(text)
        # The last one of several may be the whole text.
        whole = len(sentences) > 1 and (sentences[-1].start, sentences[-1].end) == (0, len(text))
        return sentences[:-1] if whole else sentences

    @cached_property
    def subject(self) -> frozenset[str]:
        words = (word for sentence in self.sentences for word in sentence.words)
        return frozenset(word for word in words if len(word) >= _LONG_WORD)


class EncodedLine(NamedTuple):
    """Acts of a line with how likely each is, and its meaning as a vector of length 1."""

    acts: dict[Act, float]
    meaning: Any


def contexts_of(lines: Sequence[Heard]) -> Iterator[list[list[str]]]:
    """Yield for each line of a conversation the context features of each of its sentences."""
    said: dict[bool, list[Heard]] = {True: [], False: []}
    last: Heard | None = None
    for line in lines:
        own, theirs = said[line.by_customer], said[not line.by_customer]
        here, before = _place(line, last, own, theirs), _before(theirs)
        yield [
            [*here, *_of_sentence(line, number, before)] for number in range(len(line.sentences))
        ]
        own.append(line)
        last = line


def _of_sentence(line: Heard, number: int, before: Sequence[str]) -> Iterator[str]:
    sentence, last = line.sentences[number], len(line.sentences) - 1
    for kind, start in line.phrases:
        if sentence.start <= start < sentence.end:
            yield f"k:{kind}"
    if number == 0:
        yield from before
        words = sentence.words
        if len(words) <= _ANSWER:
            first = words[0] if words else ""
            yield from (f"{first}|{feature}" for feature in before if feature.startswith("p"))
    if last:
        yield "#last" if number == last else "#mid"


def _place(
    line: Heard, last: Heard | None, own: Sequence[Heard], theirs: Sequence[Heard]
) -> list[str]:
    """Tell where a line is in the conversation, and whether it repeats what was said before."""
    features = []
    if not own:
        features.append("#first")
    if last is None:
        features.append("#start")
    elif last.by_customer is line.by_customer:
        features.append("#same")
    if len(line.subject) >= _LEAST_SHARED:
        if _shared(line, own[-_LOOKED_BACK:]) >= _AGAIN:
            features.append("#again")
        if _shared(line, theirs[-_LOOKED_BACK:]) >= _ECHO:
            features.append("#echo")
    return features


def _shared(line: Heard, others: Sequence[Heard]) -> float:
    common = max((len(line.subject & other.subject) for other in others), default=0)
    return common / len(line.subject)


def _before(theirs: Sequence[Heard]) -> list[str]:
    """Describe the last question, or else the last sentence, of the other side."""
    if not theirs or not theirs[-1].sentences:
        return ["#unasked"]
    other = theirs[-1]
    questions = [sentence for sentence in other.sentences if sentence.questions]
    said = (questions or other.sentences)[-1]
    words = said.words[-_BEFORE_WORDS:]
    features = [f"p:{word}" for word in dict.fromkeys(words)]
    features += dict.fromkeys(f"p:{first} {second}" for first, second in pairwise(words))
    if questions:
        features.append("p#?")
    if any(sentence.shouted for sentence in other.sentences):
        features.append("p#caps")
    return features
