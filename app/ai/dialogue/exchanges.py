"""Exchanges of a dialogue: repeated requests, repeated answers, open questions."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from app.ai.dialogue.turns import Dialogue, Line, Side

_WORD = re.compile(r"[a-z0-9']{2,30}")
# Words that carry no subject.
_STOP_WORDS = """
the and you for that your have can of my what are this with please yes thank thanks is be we
will would like how was there not don't that's hello need to in at on it an me do does did
so any all but if or as by from up out no hi hey ok okay just get also some one i'm i'd i'll
im us our they them he she his her its it's has had been could should may might about want
looking find help know give tell let see sure great good right
"""
_STOP = frozenset(_STOP_WORDS.split())
_SAME_SHARE = 0.7
_LEAST_WORDS = 3
_RECENT = 8
_SIDES = (Side.SERVICE, Side.CUSTOMER)


@dataclass(frozen=True, slots=True)
class Exchanges:
    """`repeated_requests` and `repeated_answers` pair a line with the earlier one it repeats.

    `open_questions` are the customer's questions that the next turn of the service side, if any,
    takes up with no word and no act of answering. `overlap` is the mean share, 0 to 1, of the words
    of a customer's turn that the answer takes up; None without such a pair of turns.
    """

    repeated_requests: tuple[tuple[Line, Line], ...]
    repeated_answers: tuple[tuple[Line, Line], ...]
    open_questions: tuple[Line, ...]
    overlap: float | None


def exchanges_of(dialogue: Dialogue) -> Exchanges:
    """Work out the exchanges of an attributed dialogue; empty where the sides are unknown."""
    if not dialogue.attributed:
        return Exchanges((), (), (), None)
    content = {line.position: content_of(line.text) for line in dialogue.lines}
    return Exchanges(
        repeated_requests=_repeats(dialogue.customer, content),
        repeated_answers=_repeats(dialogue.service, content),
        open_questions=_open_questions(dialogue),
        overlap=_overlap(dialogue, content),
    )


def content_of(text: str) -> frozenset[str]:
    """Return the words of a text that carry its subject, in lower case."""
    return frozenset(_WORD.findall(text.lower())) - _STOP


def _repeats(
    lines: Sequence[Line], content: dict[int, frozenset[str]]
) -> tuple[tuple[Line, Line], ...]:
    pairs = []
    for index, line in enumerate(lines):
        words = content[line.position]
        if len(words) < _LEAST_WORDS:
            continue
        for earlier in reversed(lines[max(0, index - _RECENT) : index]):
            before = content[earlier.position]
            least_words, most_words = sorted((len(words), len(before)))
            if (
                least_words >= _SAME_SHARE * most_words
                and len(words & before) >= _SAME_SHARE * most_words
            ):
                pairs.append((line, earlier))
                break
    return tuple(pairs)


def _open_questions(dialogue: Dialogue) -> tuple[Line, ...]:
    # Only what is asked in the last turn of the two sides is left open.
    turns = [turn for turn in dialogue.turns if turn.side in _SIDES]
    if not turns or turns[-1].side is not Side.CUSTOMER:
        return ()
    asking = [line for line in turns[-1].lines if line.text.rstrip().endswith("?")]
    return tuple(asking[-1:])


def _overlap(dialogue: Dialogue, content: dict[int, frozenset[str]]) -> float | None:
    shares = []
    turns = [turn for turn in dialogue.turns if turn.side in _SIDES]
    for turn, answer in pairwise(turns):
        if turn.side is not Side.CUSTOMER:
            continue
        asked_words = frozenset[str]().union(*(content[line.position] for line in turn.lines))
        answer_words = frozenset[str]().union(*(content[line.position] for line in answer.lines))
        if asked_words:
            shares.append(len(asked_words & answer_words) / len(asked_words))
    return sum(shares) / len(shares) if shares else None
