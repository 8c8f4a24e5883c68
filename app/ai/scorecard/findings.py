"""Findings about a scorecard document, and the checks of its fields."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from app.ai.languages.words import words_in
from app.ai.scorecard.metric_names import KNOWN_METRICS
from app.ai.scorecard.schema import (
    BOUNDS,
    MOST_CHARS,
    MOST_NAMED,
    MOST_PHRASE_CHARS,
    MOST_PHRASE_WORDS,
    MOST_PHRASES,
    WORDS,
    Shape,
)

_KEY = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)*")
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")

_KINDS = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """`field` is a path such as `criteria[2].weight`, `code` one of the codes in `error.details`.

    `message` is a sentence for the author.
    """

    field: str
    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"

    def as_json(self) -> dict[str, str]:
        return {"field": self.field, "message": self.message}


def shaped(where: str, item: Any, shape: Shape, optional: Shape | None = None) -> list[Finding]:
    """Find what is missing, unknown or of the wrong type in an object; "" is the document."""
    if not isinstance(item, dict):
        return [Finding(where or "scorecard", "TYPE", "This must be an object.")]
    known = {**shape, **(optional or {})}
    found = [
        Finding(path(where, name), "REQUIRED", "This field is required.")
        for name in shape
        if name not in item
    ]
    for name, value in item.items():
        if name not in known:
            found.append(Finding(path(where, name), "UNKNOWN", "There is no such field."))
        elif not is_a(value, known[name]):
            message = f"This must be {_named(known[name])}."
            found.append(Finding(path(where, name), "TYPE", message))
    return found


def list_of(
    where: str, items: Iterable[Any], shape: Shape, optional: Shape | None = None
) -> list[Finding]:
    """Find the same in each object of a list."""
    return [
        finding
        for index, item in enumerate(items)
        for finding in shaped(f"{where}[{index}]", item, shape, optional)
    ]


def sized(where: str, items: list[Any], *, high: int, low: int = 0) -> list[Finding]:
    """Find a list that is too short or too long."""
    if low <= len(items) <= high:
        return []
    return [Finding(where, "LENGTH", f"This must have {low} to {high} members.")]


def between(where: str, value: float, low: float, high: float) -> list[Finding]:
    """Find a number that is out of its range."""
    if low <= value <= high:
        return []
    return [Finding(where, "RANGE", f"This must be from {low:g} to {high:g}.")]


def one_of(where: str, value: Any, kind: str) -> list[Finding]:
    """Find a word that is not in a closed list."""
    if value in WORDS[kind]:
        return []
    return [Finding(where, "ENUM", f"{value!r} is not one of {', '.join(WORDS[kind])}.")]


def repeated(where: str, items: Iterable[Mapping[str, Any]], name: str = "key") -> list[Finding]:
    """Find keys that stand twice in a list of objects."""
    seen: set[Any] = set()
    found = []
    for index, item in enumerate(items):
        if item[name] in seen:
            message = f"{item[name]} is there twice."
            found.append(Finding(f"{where}[{index}].{name}", "FORMAT", message))
        seen.add(item[name])
    return found


def texts(where: str, item: Mapping[str, Any], *names: str, needed: bool = True) -> list[Finding]:
    """Find texts that are too long, or empty though needed, and keys of another form."""
    found = []
    for name in names:
        value, most = item.get(name), MOST_CHARS[name]
        if value is None:
            continue
        if len(value) > most or (needed and not value.strip() and name != "description"):
            message = f"This must have 1 to {most} characters."
            found.append(Finding(path(where, name), "LENGTH", message))
        elif name in ("key", "section") and not _KEY.fullmatch(value):
            message = "This must be words of a-z, 0-9 and _, parted by dots."
            found.append(Finding(path(where, name), "FORMAT", message))
    return found


def phrases(where: str, items: list[Any]) -> list[Finding]:
    """Find what is no phrase: a text with a letter or a digit, and not too long."""
    found = sized(where, items, low=1, high=MOST_PHRASES)
    for index, phrase in enumerate(items[:MOST_PHRASES]):
        is_one = isinstance(phrase, str) and any(char.isalnum() for char in phrase)
        if not is_one or len(phrase) > MOST_PHRASE_CHARS:
            message = f"This must be a phrase of 1 to {MOST_PHRASE_CHARS} characters."
            found.append(Finding(f"{where}[{index}]", "FORMAT", message))
        elif len(words_in(phrase)) > MOST_PHRASE_WORDS:
            message = f"This must have at most {MOST_PHRASE_WORDS} words."
            found.append(Finding(f"{where}[{index}]", "LENGTH", message))
    return found


def languages(where: str, items: list[Any]) -> list[Finding]:
    """Find what is no language tag."""
    return sized(where, items, high=MOST_NAMED) + [
        Finding(f"{where}[{index}]", "FORMAT", "This must be a language tag such as en or hi-IN.")
        for index, item in enumerate(items)
        if not isinstance(item, str) or not _LANGUAGE.fullmatch(item)
    ]


def bounds(where: str, given: Mapping[str, Any]) -> list[Finding]:
    """Find what is no range: at least, at most, or both, and not the wrong way round."""
    found = shaped(where, given, {}, BOUNDS)
    if found:
        return found
    if not given:
        return [Finding(where, "REQUIRED", "This must name atLeast, atMost or both.")]
    if given.get("atLeast", -math.inf) > given.get("atMost", math.inf):
        return [Finding(f"{where}.atMost", "RANGE", "atMost may not be below atLeast.")]
    return []


def metric(where: str, name: str) -> list[Finding]:
    """Find what is measured on no channel."""
    if name in KNOWN_METRICS:
        return []
    return [Finding(where, "ENUM", f"{name!r} is not one of {', '.join(sorted(KNOWN_METRICS))}.")]


def is_a(value: Any, kind: type | tuple[type, ...]) -> bool:
    """Tell whether a value is of a kind; a bool is an int to Python, and no number to an author."""
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def path(where: str, name: str) -> str:
    """Name a field of an object."""
    return f"{where}.{name}" if where else name


def _named(kind: type | tuple[type, ...]) -> str:
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if set(kinds) == {int, float}:
        return "a number"
    return " or ".join(_KINDS[kind] for kind in kinds if kind is not type(None))
