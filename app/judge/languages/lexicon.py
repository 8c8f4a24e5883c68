"""Lexicons: for each language that is read, the phrases that mark the events of a conversation.

They are data, `lexicons/<language>.json`, all of one structure, whose patterns are compiled for
searching. Precise rather than many: a phrase that is as often something else is left out.

Romanised Hindi has no orthography ("nahi", "nahee" and "nhi" are one word, and so are "dijiye" and
"dijie"), so its words are known by their sound: one spelling for the many that people type.
"""

import json
import re
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any
from unicodedata import normalize

_CONSONANT = "[b-df-hj-np-tv-z]"
# The name of a group is the letter that its matches are spelled with.
_SOUNDS = re.compile(
    # A glide is written or not: gayi, gai, gyi; dijiye, dijie.
    r"(?P<none>(?<=[eiou])y+(?=[ei])"
    # So is a short a between consonants: karna, krna.
    rf"|(?<={_CONSONANT})a+(?={_CONSONANT})(?!y+[ei]))"
    rf"|(?P<a>(?<={_CONSONANT})y+(?=[ei])|a+y+(?=[ei])|aa+)"
    r"|(?P<i>ee+)|(?P<u>oo+)|(?P<v>w[vw]*)|(?P<j>z[jz]*)|(?P<f>ph+)|(?P<c>c[ch]+)"
    r"|(?P<letter>[a-z])(?P=letter)+"
)
_IN_PATTERN = re.compile(r"\\.|\[[^\[\]]*\]|([a-z]+)")
# One character for one, so that offsets into the plain text hold in the text as written. A nasal
# sign has two spellings, and letters with a nukta one of their own.
_SIGNS = str.maketrans(
    "\u2019\u2018`\u0901\u0958\u0959\u095a\u095b\u095c\u095d\u095e\u095f",
    "'''\u0902\u0915\u0916\u0917\u091c\u0921\u0922\u092b\u092f",
)
# Accents are left out as often as they are typed.
_ACCENTS = {
    code: letter
    for code in range(0xC0, 0x180)
    if (letter := normalize("NFD", chr(code))[0]).isascii()
}
PLAIN: Mapping[int, int | str] = {**_SIGNS, **_ACCENTS, **str.maketrans("ßøØœŒæÆ", "soOoOaA")}
# In German a keyboard without these letters writes two for each.
_TWO_LETTERS = {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"}
_ONE_OR_TWO = re.compile("[äöüß]")
_STEM = re.compile(r"[a-z]+[0-9]?")
# Who types in haste leaves the apostrophe out: "dont", "thats", "im", "ive". Where that makes another
# word ("were", "well", "id", "want"), it stays.
_NEGATED = "ca do does did is are was were has have had wo would could should"
_CONTRACTION = re.compile(
    # A verb, or the end of a group of verbs.
    rf"((?:\b(?:{_NEGATED.replace(' ', '|')})|\)(?:\(\?:)?)n(?='t\b)"
    r"|\b(?:that|it|what)(?='s\b)|\b(?:that|it\))\(\?:(?='s\b)|\bi(?='(?:m|ve)\b))'"
)
# Where a pattern names no verb, but only what negates it.
_ANY_NEGATED = re.compile(r"(?<=\|)n't")
_CONTRACTED = {
    **{f"{verb}nt": f"{verb}n" for verb in _NEGATED.split()},
    "thats": "that",
    "its": "it",
    "whats": "what",
    "im": "m",
    "ive": "ve",
}
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
_FOLDER = Path(__file__).parent / "lexicons"
LANGUAGES = frozenset(path.stem for path in _FOLDER.glob("*.json"))


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


@dataclass(frozen=True, slots=True)
class Feelings:
    """The words of a sentiment lexicon; `negations` reverse the words near them."""

    words: Mapping[str, float]
    negations: frozenset[str]
    boosters: frozenset[str]


@dataclass(frozen=True)
class Lexicon:
    """The phrases of one language; those of the language that it builds on come after its own.

    `unmeasured` marks a lexicon that has not been measured on conversations of others. `feelings` is
    None where the sentiment is scored in another way. `back_channels` say no more than "go on".
    The phrases of a `sounded` lexicon are known by their sound, those that it builds on are not.
    """

    language: str
    name: str
    unmeasured: bool
    sounded: bool
    builds_on: str | None
    phrases: tuple[Phrase, ...]
    of_trigger: Mapping[str, tuple[int, ...]]
    feelings: Feelings | None
    back_channels: frozenset[str]

    @property
    def kinds(self) -> frozenset[str]:
        return frozenset(phrase.kind for phrase in self.phrases)


@cache
def lexicon_of(language: str) -> Lexicon | None:
    """Return the lexicon of a language (`en`, `hi`, `hi-Latn`), or None."""
    if language not in LANGUAGES:
        return None
    document = json.loads((_FOLDER / f"{language}.json").read_text("utf-8"))
    fragments = document["fragments"]
    sounded = document.get("sounded", False)
    phrases = [
        # A kind that several speakers say in different words is there once for each: kind.speaker.
        phrase_from(key.partition(".")[0], entry, fragments, sounded=sounded)
        for key, entry in document["kinds"].items()
    ]
    base = document.get("buildsOn", {"language": "", "without": []})
    built_on = lexicon_of(base["language"])
    if built_on is not None:
        phrases += [phrase for phrase in built_on.phrases if phrase.kind not in base["without"]]
    of_trigger = defaultdict(list)
    for index, phrase in enumerate(phrases):
        for word in phrase.triggers:
            of_trigger[word].append(index)
    return Lexicon(
        language=language,
        name=document["name"],
        unmeasured=document["first"],
        sounded=sounded,
        builds_on=base["language"] or None,
        phrases=tuple(phrases),
        of_trigger={word: tuple(indexes) for word, indexes in of_trigger.items()},
        feelings=_feelings(document.get("feelings")),
        back_channels=frozenset(_words(document.get("backChannels", ""))),
    )


@cache
def breach_phrases() -> tuple[Phrase, ...]:
    """Return the phrases of breaches of good conduct and privacy, which are known in English."""
    document = tomllib.loads((_FOLDER.parent / "breaches.toml").read_text("utf-8"))
    return tuple(
        phrase_from(kind, {"speaker": "agent", "triggers": "", **entry}, {}, sounded=False)
        for kind, entry in document.items()
    )


def _feelings(document: Mapping[str, str] | None) -> Feelings | None:
    if document is None:
        return None
    weights = {"delight": 3.0, "good": 2.0, "bad": -2.0, "anger": -3.0}
    return Feelings(
        words={word: weight for key, weight in weights.items() for word in _words(document[key])},
        negations=frozenset(_words(document["negations"])),
        boosters=frozenset(_words(document["boosters"])),
    )


def _words(text: str) -> list[str]:
    return _without_marks(_spellings(text)).split()


def phrase_from(
    kind: str, entry: Mapping[str, Any], fragments: Mapping[str, str], *, sounded: bool
) -> Phrase:
    """Read a phrase from a lexicon's document, with the fragments that its patterns name.

    In a pattern a space stands for one to three characters that don't end a sentence, `<n>` for up
    to n words, and `<name>` for a fragment. Each pattern is tried only where one of its triggers
    occurs, and repeats nothing without a bound, so that finding is linear in the length of the
    text.
    """
    cased = entry.get("cased", False)
    spelled = by_sound if sounded and not cased else str
    unless = spelled(_with_fragments(entry.get("unless", ""), fragments))
    return Phrase(
        kind=kind,
        speaker=Speaker(entry["speaker"]),
        triggers=frozenset(stems_in(spelled(_spellings(entry["triggers"])))),
        pattern=_compiled(spelled(_with_fragments("|".join(entry["patterns"]), fragments))),
        unless=re.compile(_whole_words(unless)) if unless else None,
        cased=cased,
        sounded=sounded and not cased,
    )


def _with_fragments(pattern: str, fragments: Mapping[str, str]) -> str:
    while _FRAGMENT.search(pattern):
        pattern = _FRAGMENT.sub(lambda match: f"(?:{fragments[match[1]]})", pattern)
    pattern = _ONE_OR_TWO.sub(lambda match: f"{_TWO_LETTERS[match[0]]}?", pattern)
    pattern = _ANY_NEGATED.sub(rf"(?:n't|\\b(?:{_NEGATED.replace(' ', '|')})nt)", pattern)
    return _CONTRACTION.sub(r"\1'?", _without_marks(pattern))


def _spellings(words: str) -> str:
    two_letters = _ONE_OR_TWO.sub(lambda match: _TWO_LETTERS[match[0]], words)
    return f"{words} {two_letters}".translate(PLAIN)


def _without_marks(text: str) -> str:
    return text.translate(PLAIN).replace(NUKTA, "")


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


def plain_of(text: str) -> str:
    """Spell quotes and signs in one way, and no accents, a character for a character."""
    return text if text.isascii() and "`" not in text else text.translate(PLAIN)


def stems_in(plain: str) -> set[str]:
    """List the words of a lower-case text, Latin or Devanagari, as triggers are spelled."""
    if plain.isascii():
        words = set(_STEM.findall(plain))
        return words | {_CONTRACTED[word] for word in _CONTRACTED.keys() & words}
    return {word.replace(NUKTA, "") for word in _STEM_OF_ALL.findall(plain)}


def folded(text: str) -> str:
    """Spell a text so that the same words are equal, in any case, with or without a nukta.

    A letter with an accent is one sign or two, as the writer's keyboard has it: both become one.
    """
    plain = text.translate(_SIGNS).casefold()
    return plain if plain.isascii() else normalize("NFC", plain).replace(NUKTA, "")


@dataclass(frozen=True, slots=True)
class Sounds:
    """A text by its sound; `starts[n]` is where its n-th character was written, or its end."""

    text: str
    starts: tuple[int, ...]


def sounds_of(plain: str) -> Sounds:
    """Spell a lower-case text by its sound."""
    signs: list[str] = []
    starts: list[int] = []
    end = 0
    for match in _SOUNDS.finditer(plain):
        start = match.start()
        letter = _letter(match)
        signs += plain[end:start], letter
        starts += range(end, start + len(letter))
        end = match.end()
    signs.append(plain[end:])
    return Sounds("".join(signs), (*starts, *range(end, len(plain) + 1)))


def by_sound(pattern: str) -> str:
    """Spell the words of a pattern by their sound; escapes and classes of letters stay."""
    return _IN_PATTERN.sub(
        lambda match: _SOUNDS.sub(_letter, match[1]) if match[1] else match[0], pattern
    )


def _letter(match: re.Match[str]) -> str:
    if match.lastgroup == "letter":
        return match["letter"]
    return "" if match.lastgroup == "none" else str(match.lastgroup)
