"""Manner in which something is said: as a statement or a question, and whether it is denied."""

import re
from dataclasses import dataclass

from app.judge.dialogue.evidence import sentence_spans
from app.judge.dialogue.turns import Line
from app.judge.languages.lexicon import lexicon_of, plain_of
from app.judge.languages.words import words_in

EITHER = "either"
_ENDS = re.compile(r"[.?!\u061f\u0964\u3002\uff01\uff1f]\W*$")
_ASKS = re.compile(r"[?\u061f\uff1f]\W*$")
# Speech recognition writes no question marks: these words begin a question.
_BEGINS_QUESTION = re.compile(
    r"\W*(?:(?:and|so|okay|ok|well|now|but)\W+)*(?:do|does|did|is|are|was|were|can|could|would|will|shall|should|may"
    r"|have|has|what|when|where|which|who|whose|why|how|any(?:thing)? (?:else|other))\b",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(
    r"[,;:.!?\u0964]|\b(?:but|however|because|although|though|then)\b", re.IGNORECASE
)
_DENIES = frozenset(
    [
        "no",
        "not",
        "never",
        "none",
        "nobody",
        "nothing",
        "neither",
        "nor",
        "without",
        "cannot",
        "cant",
        "dont",
        "doesnt",
        "didnt",
        "wont",
        "wouldnt",
        "isnt",
        "arent",
        "wasnt",
        "werent",
        "hasnt",
        "havent",
        "hadnt",
        "shouldnt",
        "couldnt",
    ]
)
# Words that deny nothing of what comes after them.
_DENIES_NOTHING = re.compile(
    r"\b(?:no (?:problem|worries|doubt|wonder)|not only|not to worry|why not"
    r"|(?:do not|do ?n[o']?t) (?:worry|hesitate|forget))\b",
    re.IGNORECASE,
)
_REACH = 6


@dataclass(frozen=True, slots=True)
class Manner:
    """`said` is statement, question or either; `negated` is never, only or either."""

    said: str = EITHER
    negated: str = EITHER

    @property
    def is_any(self) -> bool:
        return self.said == self.negated == EITHER

    def allows(self, line: Line, start: int, end: int) -> bool:
        """Tell whether a stretch of a line is said so."""
        asks = self.said == "question"
        if self.said != EITHER and is_question(line.text, start, end) != asks:
            return False
        return self.negated == EITHER or is_negated(line, start) == (self.negated == "only")


def is_question(text: str, start: int, end: int) -> bool:
    """Tell whether a sentence asks in which a stretch of a text is."""
    return any(
        _asks(text[first:last])
        for first, last in sentence_spans(text)
        if first < end and start < last
    )


def _asks(sentence: str) -> bool:
    if _ENDS.search(sentence):
        return _ASKS.search(sentence) is not None
    return _BEGINS_QUESTION.match(sentence) is not None


def is_negated(line: Line, place: int) -> bool:
    """Tell whether a negation reaches a place: few words before it, in its clause."""
    clause = _CLAUSE_END.split(plain_of(line.text[:place]))[-1]
    words = words_in(_DENIES_NOTHING.sub(" ", clause).replace("n't", "nt").lower())[-_REACH:]
    lexicon = lexicon_of(line.language)
    feelings = None if lexicon is None else lexicon.feelings
    denies = _DENIES if feelings is None else _DENIES | feelings.negations
    return not denies.isdisjoint(words)
