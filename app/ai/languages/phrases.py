"""Phrases of an event in a language: patterns as data, compiled for searching."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from unicodedata import normalize

from app.ai.languages.sounds import by_sound

# One character for one, so that offsets into the plain text hold in the text as written. A nasal
# sign has two spellings, and letters with a nukta one of their own.
PLAIN = str.maketrans(
    "\u2019\u2018`\u0901\u0958\u0959\u095a\u095b\u095c\u095d\u095e\u095f",
    "'''\u0902\u0915\u0916\u0917\u091c\u0921\u0922\u092b\u092f",
)
_STEM = re.compile(r"[a-z]+[0-9]?")
_DEVANAGARI = r"\u0900-\u0963\u0966-\u097f"
_STEM_OF_ALL = re.compile(rf"[a-z]+[0-9]?|[{_DEVANAGARI}]+")
# Where a word begins or ends: \b would see an edge before each vowel sign.
_EDGE = (
    rf"(?:(?<![\w{_DEVANAGARI}])(?=[\w{_DEVANAGARI}])|(?<=[\w{_DEVANAGARI}])(?![\w{_DEVANAGARI}]))"
)
_FRAGMENT = re.compile(r"<([a-z_]+)>")
_UP_TO_WORDS = re.compile(r"<(\d)>")
# A nukta is written or left out as the writer likes.
NUKTA = "\u093c"
_TAKES_NUKTA = re.compile("([\u0915\u0916\u0917\u091c\u0921\u0922\u092b\u092f])")


class Speaker(StrEnum):
    SERVICE = "agent"
    CUSTOMER = "customer"
    ANYONE = "anyone"


@dataclass(frozen=True, slots=True)
class Phrase:
    """One kind of event in one language: by whom it is said, and the pattern that finds it.

    A `cased` pattern is matched against the text as written, since a name is known by its capital,
    and a `sounded` one against the text by its sound.
    `unless` drops a match when it fits the words of the same sentence up to the match's end.
    """

    kind: str
    speaker: Speaker
    triggers: frozenset[str]
    pattern: re.Pattern[str]
    unless: re.Pattern[str] | None
    cased: bool
    sounded: bool


def phrase_from(
    kind: str, entry: Mapping[str, Any], fragments: Mapping[str, str], *, sounded: bool
) -> Phrase:
    """Read a phrase from a lexicon's document, with the fragments that its patterns name.

    In a pattern a space stands for one to three characters that don't end a sentence, `<n>` for up
    to n words, and `<name>` for a fragment. Each pattern is tried only where one of its triggers
    stands, and repeats nothing without a bound, so that finding is linear in the length of the
    text.
    """
    cased = entry.get("cased", False)
    spelled = by_sound if sounded and not cased else str
    unless = spelled(_plain(entry.get("unless", ""), fragments))
    return Phrase(
        kind=kind,
        speaker=Speaker(entry["speaker"]),
        triggers=frozenset(stems_in(spelled(entry["triggers"].translate(PLAIN)))),
        pattern=_compiled(spelled(_plain("|".join(entry["patterns"]), fragments))),
        unless=re.compile(_whole_words(unless)) if unless else None,
        cased=cased,
        sounded=sounded and not cased,
    )


def plain_of(text: str) -> str:
    """Spell quotes and signs in one way, a character for a character."""
    return text if text.isascii() and "`" not in text else text.translate(PLAIN)


def stems_in(plain: str) -> set[str]:
    """List the words of a lower-case text, Latin or Devanagari, as triggers are spelled."""
    if plain.isascii():
        return set(_STEM.findall(plain))
    return {word.replace(NUKTA, "") for word in _STEM_OF_ALL.findall(plain)}


def folded(text: str) -> str:
    """Spell a text so that the same words are equal, in any case, with or without a nukta.

    A letter with an accent is one sign or two, as the writer's keyboard has it: both become one.
    """
    plain = plain_of(text).casefold()
    return plain if plain.isascii() else normalize("NFC", plain).replace(NUKTA, "")


def _plain(pattern: str, fragments: Mapping[str, str]) -> str:
    while _FRAGMENT.search(pattern):
        pattern = _FRAGMENT.sub(lambda match: f"(?:{fragments[match[1]]})", pattern)
    return pattern.translate(PLAIN).replace(NUKTA, "")


def _compiled(pattern: str) -> re.Pattern[str]:
    marks = "" if pattern.isascii() else _DEVANAGARI
    separator = rf"[^\w{marks}.!?\u0964\n]{{1,3}}"
    # A word is taken whole (the plus): an apostrophe or a dash could end it or part it from the next,
    # and trying out every way to read a row of dashes takes hours.
    words = rf"(?:[\w{marks}'$-]{{1,20}}+{separator}){{0,%s}}"
    spelled = _UP_TO_WORDS.sub(lambda match: words % match[1], pattern)
    edge = _EDGE if marks else r"\b"
    return re.compile(f"{edge}(?:{_whole_words(spelled.replace(' ', separator))})")


def _whole_words(pattern: str) -> str:
    if pattern.isascii():
        return pattern
    return _TAKES_NUKTA.sub(rf"\1{NUKTA}?", pattern.replace(r"\b", _EDGE))
