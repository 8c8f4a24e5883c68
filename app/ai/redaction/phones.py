"""Telephone numbers that their shape gives away: international, or grouped as some nation does."""

import re
from collections.abc import Iterator

from app.ai.redaction.cues import Cue
from app.ai.redaction.digit_runs import Run, Token
from app.ai.redaction.entities import Entity, Found

# E.164: at most fifteen digits; no country has numbers of fewer than eight with its code.
_SHORTEST, _LONGEST = 8, 15
_PLUS = re.compile(r"\+[ (]{0,2}$")
_TIGHT = re.compile(r"[ .\-\u2010-\u2013()/\u00a0]{0,3}")
# Groups of digits, and what the number begins with: North America, Britain, India, France, Germany.
_SHAPES: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = (
    (re.compile(r"(?:1,)?3,3,4"), re.compile(r"1?[2-9]")),
    (re.compile(r"(?:1,)?3,7"), re.compile(r"1?[2-9]")),
    (re.compile(r"5,6|5,3,3|4,3,4|4,7|3,4,4|3,8|4,3,3|11|4,6"), re.compile(r"0[1-9]")),
    (re.compile(r"2,2,2,2,2"), re.compile(r"0[1-9]")),
    (re.compile(r"5,5"), re.compile(r"[6-9]")),
    (re.compile(r"[2-6],\d(?:\d?,\d+){0,4}|[2-6],\d+"), re.compile(r"00[1-9]\d{8,14}$")),
    (re.compile(r"[345],[5678]"), re.compile(r"0[1-9]")),
)


def find(run: Run, cue: Cue | None, text: str) -> Iterator[Found]:
    """Find numbers by their shape, unless the nearest cue says that it is something else."""
    if len(run.digits) < _SHORTEST or run.glued:
        return
    lead = plus_before(run, text)
    if lead is not None:
        end = _international(run)
        if end is not None:
            yield Found(lead, end, Entity.PHONE)
        return
    if cue is not None and cue is not Cue.PHONE:
        return
    for first, last in _tight(run):
        tokens = run.tokens[first:last]
        groups = ",".join(str(len(token.digits)) for token in tokens)
        digits = "".join(token.digits for token in tokens)
        if any(shape.fullmatch(groups) and begin.match(digits) for shape, begin in _SHAPES):
            yield Found(_opened(text, tokens[0].start), tokens[-1].end, Entity.PHONE)


def plus_before(run: Run, text: str) -> int | None:
    """Return where the plus stands that makes a run a telephone number, whatever else it is."""
    lead = _PLUS.search(text, max(0, run.start - 4), run.start)
    return lead.start() if lead else None


def _international(run: Run) -> int | None:
    digits, end = 0, None
    for place, token in enumerate(run.tokens):
        digits += len(token.digits)
        if digits > _LONGEST or (place and not _TIGHT.fullmatch(token.gap)):
            break
        if digits >= _SHORTEST:
            end = token.end
    return end


def _tight(run: Run) -> Iterator[tuple[int, int]]:
    """Divide a run into stretches whose tokens are held together as in a number."""
    first = 0
    for place, token in enumerate(run.tokens):
        if place > first and not _holds(token):
            yield first, place
            first = place
    yield first, len(run.tokens)


def _holds(token: Token) -> bool:
    return token.written and _TIGHT.fullmatch(token.gap) is not None


def _opened(text: str, start: int) -> int:
    """Take the bracket along that opens before an area code."""
    return start - 1 if text[start - 1 : start] == "(" else start
