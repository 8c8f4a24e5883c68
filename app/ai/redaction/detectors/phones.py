"""Telephone numbers, known by their form: international, or grouped as in some countries."""

import re
from collections.abc import Iterator

from app.ai.redaction.digit_runs import DigitRun, DigitToken
from app.ai.redaction.entities import Entity, EntitySpan
from app.ai.redaction.number_cues import NumberCue

# E.164: at most fifteen digits; with a country code at least eight.
_MIN_DIGITS, _MAX_DIGITS = 8, 15
_PLUS = re.compile(r"\+[ (]{0,2}$")
_SEPARATOR = re.compile(r"[ .\-\u2010-\u2013()/\u00a0]{0,3}")
# Lengths of the groups, and first digits: North America, Britain, India, France, Germany.
_SHAPES: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = (
    (re.compile(r"(?:1,)?3,3,4"), re.compile(r"1?[2-9]")),
    (re.compile(r"(?:1,)?3,7"), re.compile(r"1?[2-9]")),
    (re.compile(r"5,6|5,3,3|4,3,4|4,7|3,4,4|3,8|4,3,3|11|4,6"), re.compile(r"0[1-9]")),
    (re.compile(r"2,2,2,2,2"), re.compile(r"0[1-9]")),
    (re.compile(r"5,5"), re.compile(r"[6-9]")),
    (re.compile(r"[2-6],\d(?:\d?,\d+){0,4}|[2-6],\d+"), re.compile(r"00[1-9]\d{8,14}$")),
    (re.compile(r"[345],[5678]"), re.compile(r"0[1-9]")),
)


def find(run: DigitRun, cue: NumberCue | None, text: str) -> Iterator[EntitySpan]:
    """Yield numbers by their form, unless the nearest cue tells another type."""
    if len(run.digits) < _MIN_DIGITS or run.glued:
        return
    plus = plus_position(run, text)
    if plus is not None:
        end = _international_end(run)
        if end is not None:
            yield EntitySpan(plus, end, Entity.PHONE)
        return
    if cue is not None and cue is not NumberCue.PHONE:
        return
    for tokens in _token_groups(run):
        groups = ",".join(str(len(token.digits)) for token in tokens)
        digits = "".join(token.digits for token in tokens)
        if any(shape.fullmatch(groups) and start.match(digits) for shape, start in _SHAPES):
            yield EntitySpan(_with_bracket(text, tokens[0].start), tokens[-1].end, Entity.PHONE)


def plus_position(run: DigitRun, text: str) -> int | None:
    """Return the position of the plus before a run, which makes it an international number."""
    plus = _PLUS.search(text, max(0, run.start - 4), run.start)
    return plus.start() if plus else None


def _international_end(run: DigitRun) -> int | None:
    digits, end = 0, None
    for index, token in enumerate(run.tokens):
        digits += len(token.digits)
        if digits > _MAX_DIGITS or (index and not _SEPARATOR.fullmatch(token.gap)):
            break
        if digits >= _MIN_DIGITS:
            end = token.end
    return end


def _token_groups(run: DigitRun) -> Iterator[tuple[DigitToken, ...]]:
    """Split a run into tokens that only the separators of a telephone number connect."""
    first = 0
    for index, token in enumerate(run.tokens):
        if index > first and not _is_connected(token):
            yield run.tokens[first:index]
            first = index
    yield run.tokens[first:]


def _is_connected(token: DigitToken) -> bool:
    return token.written and _SEPARATOR.fullmatch(token.gap) is not None


def _with_bracket(text: str, start: int) -> int:
    """Include the opening bracket of an area code."""
    return start - 1 if text[start - 1 : start] == "(" else start
