"""Numbers of payment cards: issuer prefix, length and Luhn; beside the word "card" also without."""

from collections.abc import Iterator
from itertools import accumulate

from app.ai.redaction.checksums import luhn
from app.ai.redaction.cues import Cue
from app.ai.redaction.digit_runs import Run
from app.ai.redaction.entities import Entity, Found

# First digits as numbers of a width, inclusive, and the lengths that are issued (ISO/IEC 7812).
_ISSUERS: tuple[tuple[int, int, int, tuple[int, ...]], ...] = (
    (1, 4, 4, (13, 16, 19)),
    (2, 51, 55, (16,)),
    (4, 2221, 2720, (16,)),
    (2, 34, 34, (15,)),
    (2, 37, 37, (15,)),
    (4, 6011, 6011, (16, 17, 18, 19)),
    (3, 644, 649, (16, 17, 18, 19)),
    (2, 65, 65, (16, 17, 18, 19)),
    (3, 300, 305, (14, 16)),
    (2, 36, 36, (14, 16)),
    (2, 38, 39, (14, 16)),
    (4, 3528, 3589, (16, 17, 18, 19)),
    (2, 62, 62, (16, 17, 18, 19)),
    (2, 60, 60, (16,)),
    (2, 81, 82, (16,)),
    (2, 50, 50, (13, 14, 15, 16, 17, 18, 19)),
    (2, 56, 58, (13, 14, 15, 16, 17, 18, 19)),
    (2, 63, 63, (13, 14, 15, 16, 17, 18, 19)),
    (2, 67, 69, (13, 14, 15, 16, 17, 18, 19)),
)
_LONGEST = 19
# With the word "card" before it, a number with a digit misheard or left out is one still.
_HEARD_SHORTEST = 12


# The lengths that are issued, by the first four digits.
_LENGTHS: dict[str, set[int]] = {
    prefix: {
        length
        for width, low, high, lengths in _ISSUERS
        if low <= int(prefix[:width]) <= high
        for length in lengths
    }
    for prefix in map("{:04}".format, range(10_000))
}


def find(run: Run, cue: Cue | None) -> Iterator[Found]:
    """Find card numbers from token to token of a run, also where other digits touch them."""
    if len(run.digits) < _HEARD_SHORTEST:
        return
    digits = run.digits
    ends = list(accumulate(len(token.digits) for token in run.tokens))
    end_of = {place: token.end for place, token in zip(ends, run.tokens, strict=True)}
    for first, token in zip([0, *ends], run.tokens, strict=False):
        for length in _LENGTHS.get(digits[first : first + 4], ()):
            end = end_of.get(first + length)
            if end is not None and luhn(digits[first : first + length]):
                yield Found(token.start, end, Entity.CARD)
    if cue is Cue.CARD and not run.glued:
        for piece in run.fitting(_HEARD_SHORTEST, _LONGEST):
            yield Found(piece.start, piece.end, Entity.CARD)
