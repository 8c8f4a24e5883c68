"""Features of a sentence for the act models: its words and pieces of words, and what came before.

The line before decides what an answer means, so that short answers are also read together with the
last question of the other side. Names and numbers count as one word each.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from app.ai.conduct import marks
from app.ai.conduct.marks import Sentence

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
    """A line as the models read it: its side and its text."""

    by_customer: bool
    text: str

    @cached_property
    def sentences(self) -> list[Sentence]:
        text = self.text[:MOST_CHARS]
        sentences = marks.sentences_of(text)
        # The last one of several may be the whole text.
        whole = len(sentences) > 1 and (sentences[-1].start, sentences[-1].end) == (0, len(text))
        return sentences[:-1] if whole else sentences

    @cached_property
    def subject(self) -> frozenset[str]:
        words = (word for sentence in self.sentences for word in sentence.words)
        return frozenset(word for word in words if len(word) >= _LONG_WORD)


def features_of(lines: Sequence[Heard], index: int) -> list[list[str]]:
    """Return the features of each sentence of a line."""
    line = lines[index]
    here, before = _place(lines, index), _before(lines, index)
    parts = []
    last = len(line.sentences) - 1
    for number, sentence in enumerate(line.sentences):
        features = [*marks.features_of(sentence), *here]
        if number == 0:
            features += before
            if len(sentence.words) <= _ANSWER:
                features += _answers(sentence, before)
        if last:
            features.append("#last" if number == last else "#mid")
        parts.append(features)
    return parts


def _place(lines: Sequence[Heard], index: int) -> list[str]:
    """Tell where a line is in the conversation, and whether it repeats what was said before."""
    line, earlier = lines[index], lines[:index]
    features = []
    if not any(other.by_customer is line.by_customer for other in earlier):
        features.append("#first")
    if not earlier:
        features.append("#start")
    elif earlier[-1].by_customer is line.by_customer:
        features.append("#same")
    if len(line.subject) >= _LEAST_SHARED:
        own = [other for other in earlier if other.by_customer is line.by_customer]
        theirs = [other for other in earlier if other.by_customer is not line.by_customer]
        if _shared(line, own[-_LOOKED_BACK:]) >= _AGAIN:
            features.append("#again")
        if _shared(line, theirs[-_LOOKED_BACK:]) >= _ECHO:
            features.append("#echo")
    return features


def _shared(line: Heard, others: Sequence[Heard]) -> float:
    common = max((len(line.subject & other.subject) for other in others), default=0)
    return common / len(line.subject)


def _before(lines: Sequence[Heard], index: int) -> list[str]:
    """Describe the last question, or else the last sentence, of the other side."""
    side = lines[index].by_customer
    other = next((line for line in reversed(lines[:index]) if line.by_customer is not side), None)
    if other is None or not other.sentences:
        return ["#unasked"]
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


def _answers(sentence: Sentence, before: Sequence[str]) -> Iterator[str]:
    first = sentence.words[0] if sentence.words else ""
    for feature in before:
        if feature.startswith("p"):
            yield f"{first}|{feature}"
