"""Payment card numbers: known by issuer prefix, length and check digit, or by the word "card"."""

from collections.abc import Iterator
from functools import cache
from itertools import accumulate

from app.ai.redaction.check_digits import has_luhn_digit
from app.ai.redaction.digit_runs import DigitRun
from app.ai.redaction.entities import Entity, EntitySpan
from app.ai.redaction.number_cues import NumberCue

# Ranges of the first digits, inclusive, and the lengths that are issued (ISO/IEC 7812).
_ISSUERS = (
    ("4", "4", (13, 16, 19)),
    ("51", "55", (16,)),
    ("2221", "2720", (16,)),
    ("34", "34", (15,)),
    ("37", "37", (15,)),
    ("6011", "6011", (16, 17, 18, 19)),
    ("644", "649", (16, 17, 18, 19)),
    ("65", "65", (16, 17, 18, 19)),
    ("300", "305", (14, 16)),
    ("36", "36", (14, 16)),
    ("38", "39", (14, 16)),
    ("3528", "3589", (16, 17, 18, 19)),
    ("62", "62", (16, 17, 18, 19)),
    ("60", "60", (16,)),
    ("81", "82", (16,)),
    ("50", "50", (13, 14, 15, 16, 17, 18, 19)),
    ("56", "58", (13, 14, 15, 16, 17, 18, 19)),
    ("63", "63", (13, 14, 15, 16, 17, 18, 19)),
    ("67", "69", (13, 14, 15, 16, 17, 18, 19)),
)
_MAX_LENGTH = 19
# After the word "card", a number may have misheard or missing digits.
_MIN_ANNOUNCED_LENGTH = 12


def find(run: DigitRun, cue: NumberCue | None) -> Iterator[EntitySpan]:
    """Yield the card numbers of a run, which may have other digits around them."""
    digits = run.digits
    if len(digits) < _MIN_ANNOUNCED_LENGTH:
        return
    ends = list(accumulate(len(token.digits) for token in run.tokens))
    end_by_position = {end: token.end for end, token in zip(ends, run.tokens, strict=True)}
    for first, token in zip([0, *ends], run.tokens, strict=False):
        for length in _lengths(digits[first : first + 4]):
            end = end_by_position.get(first + length)
            if end is not None and has_luhn_digit(digits[first : first + length]):
                yield EntitySpan(token.start, end, Entity.CARD)
    if cue is NumberCue.CARD and not run.glued:
        for piece in run.pieces_of_length(_MIN_ANNOUNCED_LENGTH, _MAX_LENGTH):
            yield EntitySpan(piece.start, piece.end, Entity.CARD)


@cache
def _lengths(prefix: str) -> frozenset[int]:
    """Return the lengths that are issued with these first four digits."""
    return frozenset(
        length
        for low, high, lengths in _ISSUERS
        if low <= prefix[: len(low)] <= high
        for length in lengths
    )
