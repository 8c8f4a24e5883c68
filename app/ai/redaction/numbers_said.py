"""Numbers that are secret because of what they are said to be, by length and by the nearest cue."""

from collections.abc import Callable, Iterator

from app.ai.redaction.cues import Cue
from app.ai.redaction.digit_runs import Run
from app.ai.redaction.entities import Entity, Found

# What a cue makes of a number, and the least and the most digits that it has.
_SAID: dict[Cue, tuple[Entity, int, int]] = {
    Cue.CVV: (Entity.CVV, 3, 4),
    Cue.PHONE: (Entity.PHONE, 7, 15),
    Cue.ACCOUNT: (Entity.BANK_ACCOUNT, 6, 18),
    Cue.PASSCODE: (Entity.PASSCODE, 4, 8),
    # People are asked for the last four digits alone.
    Cue.NATIONAL_ID: (Entity.NATIONAL_ID, 4, 14),
}
# Signs of a price, a share, a time or a date.
_PRICE_SIGNS = "$€£¥₹"


def find(run: Run, cue: Cue | None, text: str) -> Iterator[Found]:
    """Find what the cue says that a number is; a number that touches a letter is none of these."""
    rule = _SAID.get(cue) if cue is not None else None
    if rule is None or run.glued or _is_price(run, text):
        return
    entity, low, high = rule
    for piece in run.fitting(low, high):
        if _suits(entity, piece):
            yield Found(piece.start, piece.end, entity)


def _is_price(run: Run, text: str) -> bool:
    start, end = run.start, run.end
    if any(token.gap == "," and len(token.digits) == 3 for token in run.tokens):
        return True
    return text[end : end + 1] == "%" or (start > 0 and text[start - 1] in _PRICE_SIGNS)


def _suits(entity: Entity, run: Run) -> bool:
    check = _CHECKS.get(entity)
    return check is None or check(run)


def _no_date(run: Run) -> bool:
    """Whether a number is not a day of the calendar, such as 12/05/2021 or 2021-05-12."""
    return run.groups not in ((2, 2, 4), (1, 2, 4), (2, 1, 4), (1, 1, 4), (4, 2, 2))


def _no_year(run: Run) -> bool:
    is_year = run.groups == (4,) and run.digits[:2] in ("19", "20") and run.tokens[0].written
    return _no_date(run) and not is_year


_CHECKS: dict[Entity, Callable[[Run], bool]] = {
    Entity.PHONE: _no_date,
    Entity.BANK_ACCOUNT: _no_date,
    Entity.PASSCODE: _no_date,
    Entity.NATIONAL_ID: _no_year,
}
