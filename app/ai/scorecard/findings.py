"""Findings about a scorecard document, and the checks of its fields."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from app.ai.languages.words import words_in
from app.ai.scorecard.schema import (
    BOUNDS,
    KNOWN_METRICS,
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
    """Find missing and unknown fields and wrong types in an object; "" is the document."""
    if not isinstance(item, dict):
        return [Finding(where or "scorecard", "TYPE", "This must be an object.")]
    fields = {**shape, **(optional or {})}
    findings = [
        Finding(path(where, name), "REQUIRED", "This field is required.")
        for name in shape
        if name not in item
    ]
    for name, value in item.items():
        if name not in fields:
            findings.append(Finding(path(where, name), "UNKNOWN", "There is no such field."))
        elif not is_a(value, fields[name]):
            message = f"This must be {_named(fields[name])}."
            findings.append(Finding(path(where, name), "TYPE", message))
    return findings


def list_of(
    where: str, items: Iterable[Any], shape: Shape, optional: Shape | None = None
) -> list[Finding]:
    """Find the same problems in each object of a list."""
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
    return [Finding(where, "RANGE", f"This must be between {low:g} and {high:g}.")]


def one_of(where: str, value: Any, kind: str) -> list[Finding]:
    """Find a word that is not in a closed list."""
    if value in WORDS[kind]:
        return []
    return [Finding(where, "ENUM", f"{value!r} is not one of {', '.join(WORDS[kind])}.")]


def repeated(where: str, items: Iterable[Mapping[str, Any]], name: str = "key") -> list[Finding]:
    """Find keys that occur twice in a list of objects."""
    keys: set[Any] = set()
    findings = []
    for index, item in enumerate(items):
        if item[name] in keys:
            message = f"{item[name]} occurs twice."
            findings.append(Finding(f"{where}[{index}].{name}", "FORMAT", message))
        keys.add(item[name])
    return findings


def texts(where: str, item: Mapping[str, Any], *names: str, needed: bool = True) -> list[Finding]:
    """Find texts that are too long, or empty though needed, and keys of another form."""
    findings = []
    for name in names:
        value, most = item.get(name), MOST_CHARS[name]
        if value is None:
            continue
        if len(value) > most or (needed and not value.strip() and name != "description"):
            message = f"This must have 1 to {most} characters."
            findings.append(Finding(path(where, name), "LENGTH", message))
        elif name in ("key", "section") and not _KEY.fullmatch(value):
            message = "This must be words of a-z, 0-9 and _, separated by dots."
            findings.append(Finding(path(where, name), "FORMAT", message))
    return findings


def phrases(where: str, items: list[Any]) -> list[Finding]:
    """Find items that are no phrases: texts with a letter or a digit, within the length limit."""
    findings = sized(where, items, low=1, high=MOST_PHRASES)
    for index, phrase in enumerate(items[:MOST_PHRASES]):
        is_one = isinstance(phrase, str) and any(char.isalnum() for char in phrase)
        if not is_one or len(phrase) > MOST_PHRASE_CHARS:
            message = f"This must be a phrase of 1 to {MOST_PHRASE_CHARS} characters."
            findings.append(Finding(f"{where}[{index}]", "FORMAT", message))
        elif len(words_in(phrase)) > MOST_PHRASE_WORDS:
            message = f"This must have at most {MOST_PHRASE_WORDS} words."
            findings.append(Finding(f"{where}[{index}]", "LENGTH", message))
    return findings


def languages(where: str, items: list[Any]) -> list[Finding]:
    """Find items that are no language tags."""
    return sized(where, items, high=MOST_NAMED) + [
        Finding(f"{where}[{index}]", "FORMAT", "This must be a language tag such as en or hi-IN.")
        for index, item in enumerate(items)
        if not isinstance(item, str) or not _LANGUAGE.fullmatch(item)
    ]


def bounds(where: str, limits: Mapping[str, Any]) -> list[Finding]:
    """Find an invalid range: it has a lower limit, an upper limit or both, in this order."""
    findings = shaped(where, limits, {}, BOUNDS)
    if findings:
        return findings
    if not limits:
        return [Finding(where, "REQUIRED", "This must name atLeast, atMost or both.")]
    if limits.get("atLeast", -math.inf) > limits.get("atMost", math.inf):
        return [Finding(f"{where}.atMost", "RANGE", "atMost must not be below atLeast.")]
    return []


def metric(where: str, name: str) -> list[Finding]:
    """Find a metric that is measured on no channel."""
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
