"""Clauses of a line: its sentences, and the parts of long ones between which a quote may end.

Speech recognition writes no full stops, so that a whole call line is one sentence. A clause begins
behind a comma, or with a subject that no word before it asks for ("i have moved it | he has 22 c now").
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from app.judge.dialogue.evidence import WORD, sentence_spans

# Sentences of no more words are quoted whole; so many words at least make a clause or stand alone.
_MOST_WORDS, _LEAST_WORDS, _MOST_AT_ONCE = 30, 4, 40
_TEXTS_REMEMBERED = 512
_PAUSES = ",;:\u2014\u2013"
_BEGINS = re.compile(
    rf"(?<=[{_PAUSES}])\s++|(?<!\s)\s++(?=(?:(?:and|but|so|then|or)\s++)?(?:"
    r"i(?:['\u2019]?(?:m|ve)|['\u2019](?:ll|d))?|we(?:['\u2019](?:re|ve|ll|d)|ve)?"
    r"|s?he(?:['\u2019]?s|['\u2019](?:ll|d))?|they(?:['\u2019]?(?:re|ve)|['\u2019](?:ll|d))?"
    r"|you['\u2019]?(?:re|ve|ll)|(?:it|that|there)['\u2019]?(?:s|ll)"
    r"|(?:you|it|this|that|there) (?:is|are|was|has|have|had|will|can|could|would|should|must|may|do|dont|does"
    r"|did|need|get|takes?|goes|comes|just|only)"
    r")\b)",
    re.IGNORECASE,
)
# Behind these words a subject begins no new clause.
_JOINS = re.compile(
    r"\b(?:that|if|when|because|what|where|how|who|which|why|as|than|while|until|till|once|before|after|since"
    r"|whether|unless|though|although|to|for|with|of|on|at|by|from|in|about|under|off|and|but|so|or|then"
    r"|think|thought|know|tell|says?|said|see|hope|believe|guess|sure|afraid|let|make|can|could|do|does|did"
    r"|have|has|is|are|was|were|will|would|shall|should|may|might|must|want|need|give|gave|send|sent"
    r"|ring|call|like|mean|not|the|an?|my|your|all|just|only|even)\Z",
    re.IGNORECASE,
)


@lru_cache(maxsize=_TEXTS_REMEMBERED)
def clause_spans(text: str, *, english: bool) -> tuple[tuple[int, int], ...]:
    """List where the clauses of a text begin and end, without the white space around them.

    A sentence of few words ("Done.") goes together with the next one.
    """
    spans: list[tuple[int, int]] = []
    begin: int | None = None
    for start, end in sentence_spans(text):
        begin = start if begin is None else begin
        words = len(text[begin:end].split())
        if words < _LEAST_WORDS and not text[begin:end].endswith("?"):
            continue
        long = english and words > _MOST_WORDS
        for clause in _clauses(text, begin, end) if long else ((begin, end),):
            spans += _pieces(text, *clause)
        begin = None
    if begin is not None:
        spans += _pieces(text, begin, len(text.rstrip()))
    return tuple(spans)


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut what has far more words than a clause."""
    words = [word.span() for word in WORD.finditer(text, start, end)]
    for first in range(0, len(words), _MOST_AT_ONCE):
        last = min(first + _MOST_AT_ONCE, len(words)) - 1
        yield words[first][0], words[last][1]


def _clauses(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    rest = len(text[start:end].split())
    for gap in _BEGINS.finditer(text, start, end):
        words = len(text[start : gap.start()].split())
        joins = words <= _MOST_AT_ONCE and _JOINS.search(text, start, gap.start())
        if joins or words < _LEAST_WORDS or rest - words < _LEAST_WORDS:
            continue
        yield start, gap.start()
        start, rest = gap.end(), rest - words
    yield start, end
