"""Texts that make a regular expression work hard, derived from the expression itself."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from re import _parser as parser
from typing import Any

# What is repeated whatever the pattern says: letters, blanks, signs that begin or join tokens.
GENERAL = (
    *("a", "A", "1", " ", "\n", "-", ".", "@", ":", "<", "&", '"', "\u0915", "\u093c"),
    *("a ", "1 ", "A ", "Ab ", "1-", "a-", "a'", "a.", "a,", "a:", "a@", "@ a", "aa@", "a\n"),
    *(" \n", "::", '"a', "<v ", "[a", "e: ", "at com @ 1-1-1-", "a dot a at "),
)
# Long enough to look like a repetition without a bound.
_LONG_LOOP = 20
# As many as the longest choice within an alternative has.
_CHOICES = 12
_TAILS = ("\0", "a", "1")
_OF_CATEGORY = {
    "CATEGORY_DIGIT": ("1", r"\d"),
    "CATEGORY_WORD": ("a", r"\w"),
    "CATEGORY_SPACE": (" ", r"\s"),
    "CATEGORY_NOT_DIGIT": ("a", r"\D"),
    "CATEGORY_NOT_WORD": ("-", r"\W"),
    "CATEGORY_NOT_SPACE": ("a", r"\S"),
}
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_ASSERTIONS = ("ASSERT", "ASSERT_NOT")
Tree = Sequence[tuple[Any, Any]]


def makers(pattern: re.Pattern[str]) -> list[Callable[[int], str]]:
    """Return functions that make a hostile text of a given length for this pattern."""
    tree = parser.parse(pattern.pattern, pattern.flags)
    units = {*GENERAL, *_units(tree)}
    pumped = {(before, loop, tail) for before, loop in _loops(tree) for tail in _TAILS}
    return [
        *(_repeated("", unit, "\0") for unit in sorted(units)),
        *(_repeated(*each) for each in sorted(pumped) if each[1]),
    ]


def phrases(pattern: str) -> set[str]:
    """Return texts that a pattern matches, of each of its alternatives several."""
    alternatives = next(
        branch[1] for name, branch in parser.parse(pattern) if str(name) == "BRANCH"
    )
    choices = product(alternatives, range(_CHOICES), (0, 1))
    return {_sample(alternative, choice, times) for alternative, choice, times in choices}


def _repeated(before: str, unit: str, tail: str) -> Callable[[int], str]:
    def make(length: int) -> str:
        return before + (unit * (length // len(unit) + 1))[:length] + tail

    return make


def _units(tree: Tree) -> Iterator[str]:
    """Yield texts that match, and the same cut short, with each loop taken 0, 1 and 2 times."""
    for choice in range(6):
        for times in range(3):
            text = _sample(tree, choice, times)[:200]
            for unit in (text, text[:-1]):
                if unit:
                    yield from (unit, unit + " ")


def _loops(tree: Tree, before: str = "") -> Iterator[tuple[str, str]]:
    """Yield each long repetition: what leads to it, and what it repeats."""
    for place, (operation, value) in enumerate(tree):
        lead, name = before + _sample(tree[:place], 0, 1), str(operation)
        if name in _REPEATS:
            _, most, body = value
            if int(most) > _LONG_LOOP:
                yield from ((lead, _sample(body, choice, 1)) for choice in range(3))
        for inner in _inner(name, value):
            yield from _loops(inner, lead)


def _inner(name: str, value: Any) -> Iterable[Tree]:
    if name == "BRANCH":
        branches: Iterable[Tree] = value[1]
        return branches
    if name in _REPEATS:
        return [value[2]]
    if name == "SUBPATTERN":
        return [value[3]]
    if name == "ATOMIC_GROUP":
        return [value]
    return [value[1]] if name in _ASSERTIONS else []


def _sample(tree: Tree, choice: int, times: int) -> str:
    """Build a text that the tree matches; `choice` selects branches and characters."""
    return "".join(_piece(str(operation), value, choice, times) for operation, value in tree)


def _piece(name: str, value: Any, choice: int, times: int) -> str:
    if name == "LITERAL":
        return chr(value)
    if name == "IN":
        return _character(value, choice)
    if name in ("ANY", "NOT_LITERAL"):
        return "a" if value != ord("a") else "b"
    if name == "BRANCH":
        return _sample(value[1][choice % len(value[1])], choice, times)
    if name in _REPEATS:
        least, most, body = value
        return _sample(body, choice, times) * max(least, min(int(most), times))
    if name in _ASSERTIONS:
        return ""
    return "".join(_sample(each, choice, times) for each in _inner(name, value))


def _character(members: Sequence[tuple[Any, Any]], choice: int) -> str:
    if str(members[0][0]) == "NEGATE":
        others = (
            sign for sign in "a1 -.Z\u00e9:\n" if not any(_holds(each, sign) for each in members)
        )
        return next(others, "a")
    operation, value = members[choice % len(members)]
    if str(operation) == "CATEGORY":
        return _OF_CATEGORY[str(value)][0]
    return chr(value[0] if str(operation) == "RANGE" else value)


def _holds(member: tuple[Any, Any], sign: str) -> bool:
    name, value = str(member[0]), member[1]
    if name == "LITERAL":
        return ord(sign) == value
    if name == "RANGE":
        return bool(value[0] <= ord(sign) <= value[1])
    return name == "CATEGORY" and bool(re.match(_OF_CATEGORY[str(value)][1], sign))
