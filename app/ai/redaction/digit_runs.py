"""Digits in a row, however they are written or said: `4111-1111`, "four one one", "double five"."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

_UNITS = {
    "zero": "0",
    "oh": "0",
    "o": "0",
    "nought": "0",
    "naught": "0",
    "one": "1",
    "two": "2",
    "three": "3",
    "four": "4",
    "five": "5",
    "six": "6",
    "seven": "7",
    "eight": "8",
    "nine": "9",
}
_TEENS = {
    "ten": "10",
    "eleven": "11",
    "twelve": "12",
    "thirteen": "13",
    "fourteen": "14",
    "fifteen": "15",
    "sixteen": "16",
    "seventeen": "17",
    "eighteen": "18",
    "nineteen": "19",
}
_TENS = {
    "twenty": "2",
    "thirty": "3",
    "forty": "4",
    "fourty": "4",
    "fifty": "5",
    "sixty": "6",
    "seventy": "7",
    "eighty": "8",
    "ninety": "9",
}
_TIMES = {"double": 2, "triple": 3, "treble": 3, "quadruple": 4}

# Without any of these, or a digit, a text holds no run.
WORDS = frozenset({*_UNITS, *_TEENS, *_TENS, *_TIMES} - {"o"})

_UNIT = "|".join(_UNITS)
_TOKEN = re.compile(
    rf"(?P<written>\d+)"
    rf"|(?<![\w'])(?:(?P<times>{'|'.join(_TIMES)})[ -](?P<repeated>{_UNIT}|\d)"
    rf"|(?P<tens>{'|'.join(_TENS)})(?:[ -](?P<unit>{'|'.join(list(_UNITS)[5:])}))?"
    rf"|(?P<teen>{'|'.join(_TEENS)})|(?P<single>{_UNIT}))(?![\w'])",
    re.IGNORECASE,
)
# What may stand between two tokens of a run: a few signs, or what people say while they read.
_SAID_BETWEEN = (
    r"(?:and|then|uh|um|er|erm|okay|ok|yeah|so|space|dash|hyphen|comma|pause|hundred(?= and))"
)
_GAP = re.compile(
    rf"[\W_]{{0,4}}(?:{_SAID_BETWEEN}[\W_]{{1,4}}){{0,2}}|[\W_]{{0,8}}", re.IGNORECASE
)
_BREAK = re.compile(r"\n|[.!?;]\s|,\s")
# Ends what one speaker says where the next words are not its continuation.
CUT = "\f"


class Token(NamedTuple):
    """Some digits, where they stand, and what stands between them and the ones before."""

    digits: str
    start: int
    end: int
    gap: str
    written: bool


@dataclass(frozen=True, slots=True)
class Run:
    """Tokens that belong together; `glued` when a letter touches them, as in `TR4512`."""

    tokens: tuple[Token, ...]
    glued: bool

    @property
    def start(self) -> int:
        return self.tokens[0].start

    @property
    def end(self) -> int:
        return self.tokens[-1].end

    @property
    def digits(self) -> str:
        return "".join(token.digits for token in self.tokens)

    @property
    def groups(self) -> tuple[int, ...]:
        """The lengths of the tokens."""
        return tuple(len(token.digits) for token in self.tokens)

    def pieces(self) -> Iterator["Run"]:
        """Divide at ends of sentences and lines, and at commas."""
        first = 0
        for place, token in enumerate(self.tokens):
            if place > first and _BREAK.search(token.gap):
                yield Run(self.tokens[first:place], self.glued)
                first = place
        yield Run(self.tokens[first:], self.glued)

    def fitting(self, low: int, high: int) -> Iterator["Run"]:
        """Yield the pieces of `low` to `high` digits, or else the whole where it has so many."""
        pieces = [each for each in self.pieces() if low <= len(each.digits) <= high]
        if not pieces and low <= len(self.digits) <= high:
            pieces = [self]
        yield from pieces


def runs(text: str) -> list[Run]:
    """Read the digits of a text; a lone word such as "one" is no run."""
    found: list[Run] = []
    row: list[Token] = []
    for match in _TOKEN.finditer(text):
        gap = text[row[-1].end : match.start()] if row else ""
        if row and (CUT in gap or not _GAP.fullmatch(gap)):
            found += _run(text, row)
            row, gap = [], ""
        row.append(_token(match, gap))
    if row:
        found += _run(text, row)
    return found


def _token(match: re.Match[str], gap: str) -> Token:
    written = match["written"]
    if written:
        digits = "".join(str(int(sign)) for sign in written)
    else:
        digits = _spoken({name: (said or "").lower() for name, said in match.groupdict().items()})
    return Token(digits, match.start(), match.end(), gap, bool(written))


def _spoken(said: dict[str, str]) -> str:
    if said["times"]:
        return _UNITS.get(said["repeated"], said["repeated"]) * _TIMES[said["times"]]
    if said["tens"]:
        return _TENS[said["tens"]] + _UNITS.get(said["unit"], "0")
    return _TEENS.get(said["teen"]) or _UNITS[said["single"]]


def _run(text: str, row: list[Token]) -> list[Run]:
    # "o" and "oh" are noughts beside digits only.
    while row and text[row[0].start : row[0].end].lower() in ("o", "oh") and len(row) < 3:
        row = row[1:]
    if not row or (len(row) == 1 and not row[0].written):
        return []
    start, end = row[0].start, row[-1].end
    before, after = text[start - 1 : start], text[end : end + 1]
    return [Run(tuple(row), before.isalpha() or after.isalpha())]
