"""Secrets that the words before them announce: numbers by their cue and length, and passwords."""

import re
from collections.abc import Callable, Iterator

from app.ai.redaction.digit_runs import DigitRun
from app.ai.redaction.entities import Entity, EntitySpan
from app.ai.redaction.number_cues import NumberCue

PASSWORD_WORDS = frozenset({"password", "passcode", "passphrase"})
# A password has a digit or a sign in it, so that it cannot be a word of the sentence.
_PASSWORD = re.compile(
    r"\b(?:password|passcode|passphrase)(?:\s(?:is|was|it's)|\s?[:=])\s*[\"'\u201c]?"
    r"(?=\S*[\d!#$%&*@^_+~])([^\s\"'\u201d,;]{4,64}?)(?=[.?]?(?:[\s\"'\u201d,;]|$))",
    re.IGNORECASE,
)
# The entity of each cue, with the least and the most digits.
_ANNOUNCED: dict[NumberCue, tuple[Entity, int, int]] = {
    NumberCue.CVV: (Entity.CVV, 3, 4),
    NumberCue.PHONE: (Entity.PHONE, 7, 15),
    NumberCue.ACCOUNT: (Entity.BANK_ACCOUNT, 6, 18),
    NumberCue.PASSCODE: (Entity.PASSCODE, 4, 8),
    # Often only the last four digits are asked for.
    NumberCue.NATIONAL_ID: (Entity.NATIONAL_ID, 4, 14),
}
_CURRENCY_SIGNS = "$€£¥₹"


def find(run: DigitRun, cue: NumberCue | None, text: str) -> Iterator[EntitySpan]:
    """Yield the number that the cue announces; a number that touches a letter is none."""
    rule = _ANNOUNCED.get(cue) if cue is not None else None
    if rule is None or run.glued or _is_price(run, text):
        return
    entity, low, high = rule
    check = _CHECKS.get(entity)
    for piece in run.pieces_of_length(low, high):
        if check is None or check(piece):
            yield EntitySpan(piece.start, piece.end, entity)


def find_passwords(text: str) -> Iterator[EntitySpan]:
    """Yield written passwords."""
    for match in _PASSWORD.finditer(text):
        if not match[1].startswith("["):
            yield EntitySpan(match.start(1), match.end(1), Entity.PASSCODE)


def _is_price(run: DigitRun, text: str) -> bool:
    start, end = run.start, run.end
    if any(token.gap == "," and len(token.digits) == 3 for token in run.tokens):
        return True
    return text[end : end + 1] == "%" or (start > 0 and text[start - 1] in _CURRENCY_SIGNS)


def _is_no_date(run: DigitRun) -> bool:
    """Tell whether a number is not grouped like a date, such as 12/05/2021 or 2021-05-12."""
    return run.groups not in ((2, 2, 4), (1, 2, 4), (2, 1, 4), (1, 1, 4), (4, 2, 2))


def _is_no_date_or_year(run: DigitRun) -> bool:
    is_year = run.groups == (4,) and run.digits[:2] in ("19", "20") and run.tokens[0].written
    return _is_no_date(run) and not is_year


_CHECKS: dict[Entity, Callable[[DigitRun], bool]] = {
    Entity.PHONE: _is_no_date,
    Entity.BANK_ACCOUNT: _is_no_date,
    Entity.PASSCODE: _is_no_date,
    Entity.NATIONAL_ID: _is_no_date_or_year,
}
