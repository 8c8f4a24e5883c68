"""Slots of phrases, such as `<amount>` or `{customerName}`: what may stand in their place, found in a text."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from app.judge.scorecard.schema import KNOWN_VALUES, SLOTS
from app.redaction.entities import Entity
from app.redaction.masking import SERVICE_ROLES, mask_segments
from app.transcript import Role, Transcript

_UNITS = (
    "zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen"
    "|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million"
)
# Longer than any number that is meant, and short enough to be looked for from each of its digits.
_IN_WORDS = rf"(?:(?:{_UNITS})(?:[\s-]{{1,2}}(?:and\s)?(?:{_UNITS})){{0,8}})"
_DIGITS = r"\d{1,15}(?:[.,]\d{1,9}){0,4}"
_NUMBER = rf"(?:{_DIGITS}|{_IN_WORDS})"
_MASKED_NUMBERS = "|".join(
    re.escape(entity.placeholder)
    for entity in Entity
    if entity not in (Entity.NAME, Entity.EMAIL, Entity.ADDRESS, Entity.DATE_OF_BIRTH)
)
_CODES = r"usd|eur|gbp|inr|chf|rs\.?"
_MONEY = rf"(?:{_CODES}|dollars?|bucks|euros?|pounds?|quid|pence|cents?|rupees?|rupaye|francs?|yen|crowns?)"
_MONTHS = (
    "(?:january|february|march|april|may|june|july|august|september|october|november|december"
    "|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
)
_DAYS = "(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_SPANS = r"(?:days?|weeks?|months?)"
_CAPITAL = r"[A-Z\u00c0-\u00de][^\W\d_]{1,40}"
_PATTERNS: Mapping[str, re.Pattern[str]] = {
    "number": re.compile(rf"\b{_NUMBER}\b|{_MASKED_NUMBERS}", re.IGNORECASE),
    "amount": re.compile(
        rf"[$€£¥₹]\s?{_DIGITS}|\b(?:{_CODES})\s?{_DIGITS}|\b{_NUMBER}\s?(?:[$€£¥₹]|{_MONEY}\b)",
        re.IGNORECASE,
    ),
    "date": re.compile(
        rf"\b(?:\d{{4}}-\d\d-\d\d|\d{{1,2}}[./]\d{{1,2}}(?:[./]\d{{2,4}})?"
        rf"|(?:the\s)?{_DAY}\s(?:of\s)?{_MONTHS}(?:,?\s\d{{4}})?|{_MONTHS}\s{_DAY}(?:,?\s\d{{4}})?"
        rf"|(?:(?:next|this|on)\s)?{_DAYS}|today|tomorrow|the day after tomorrow|(?:next|this)\s(?:week|month)"
        rf"|(?:in|within)\s{_NUMBER}\s(?:(?:working|business)\s)?{_SPANS})\b"
        rf"|{re.escape(Entity.DATE_OF_BIRTH.placeholder)}",
        re.IGNORECASE,
    ),
    "time": re.compile(
        rf"\b(?:\d{{1,2}}[:.]\d\d(?:\s?[ap]\.?m\b)?|\d{{1,2}}\s?(?:[ap]\.?m\b|o'clock)|noon|midnight"
        rf"|(?:half|quarter)\s(?:past|to)\s{_NUMBER}|{_IN_WORDS}\s(?:o'clock|[ap]\.?m\b)"
        rf"|{_NUMBER}\s(?:minutes?|hours?))\b",
        re.IGNORECASE,
    ),
    "letters": re.compile(
        r"\b(?:[A-Za-z]\b[-.,]\s?){2,20}[A-Za-z]\b|\b(?:[A-Za-z]\s){3,20}[A-Za-z]\b"
        r"|\b[A-Za-z]\s(?:for|as in|like)\s[A-Za-z]{1,30}"
    ),
    "letter": re.compile(r"\b[A-Za-z]\b"),
}
# Any other word in such brackets is an ordinary word of a phrase.
_SLOT = rf"(?:<(?:{'|'.join(SLOTS)})>|\{{(?:{'|'.join(KNOWN_VALUES)})\}})"
SLOT = re.compile(_SLOT)
SLOT_OR_TEXT = re.compile(rf"{_SLOT}|(?:(?!{_SLOT}).)+", re.DOTALL)
# A capital word that somebody is spoken to with, and words that begin so and name nobody.
_SPOKEN_TO = re.compile(
    rf"\b(?i:hello|hi|hey|dear|thanks|thank you|sorry|welcome|morning|afternoon|evening|bye|goodbye),?\s({_CAPITAL})"
    rf"(?=[,.!?]|$)|,\s({_CAPITAL})(?=[,.!?]|$)"
)
_TITLE_BEFORE = re.compile(r"\b(?:mr|mrs|ms|miss|mister|dr|doctor)\.?\s\Z", re.IGNORECASE)
_TITLED = re.compile(rf"\b(?:Mr|Mrs|Ms|Miss|Dr)\.?\s{_CAPITAL}")
_NOBODY = re.compile(rf"(?i:{_DAYS}|{_MONTHS}|all|everyone|everybody|team|sir|madam|there|again)")


class KnownNames:
    """Names that a conversation tells or that are known of it."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript

    @cached_property
    def told(self) -> frozenset[str]:
        """Return the names of people that are told, without those of the service side."""
        return frozenset(name for _, name in self._told())

    @cached_property
    def values(self) -> Mapping[str, frozenset[str]]:
        """Return the names that may stand for each known value, whole and word by word."""
        people: dict[bool, set[str]] = {True: set(), False: set()}
        for person in self._transcript.participants:
            people[person.role in SERVICE_ROLES].add(person.display_name or "")
        people[False] |= {name for role, name in self._told() if role not in SERVICE_ROLES and name}
        return {
            "{customerName}": _with_words(people[False]),
            "{agentName}": _with_words(people[True]),
        }

    def _told(self) -> Iterator[tuple[Role, str]]:
        segments = self._transcript.segments
        for segment, masked in zip(segments, mask_segments(self._transcript), strict=True):
            for span in masked.originals:
                if span.entity is Entity.NAME:
                    # Who is spoken of with a title is somebody else.
                    titled = _TITLE_BEFORE.search(segment.text[: span.start])
                    name = segment.text[span.start : span.end]
                    yield segment.role, "" if titled or _TITLED.match(name) else name


def _with_words(names: Iterable[str]) -> frozenset[str]:
    names = list(names)
    words = (word for name in names for word in name.split() if len(word) > 1)
    written = {*filter(None, names), *words}
    return frozenset(written | {name.title() for name in written})


def slot_spans(slot: str, text: str, names: KnownNames) -> Iterator[tuple[int, int]]:
    """Yield where a text has what may stand in a slot."""
    if slot == "<name>":
        yield from _name_spans(text, names.told)
    elif slot == "{customerName}":
        known = names.values[slot] | {Entity.NAME.placeholder}
        yield from _distinct([*_known_spans(text, known), *_addressed_spans(text)])
    elif slot.startswith("{"):
        yield from _known_spans(text, names.values[slot])
    else:
        yield from (match.span() for match in _PATTERNS[slot.strip("<>")].finditer(text))


def _known_spans(text: str, names: Iterable[str]) -> list[tuple[int, int]]:
    known = sorted(map(re.escape, filter(None, names)), key=len, reverse=True)
    if not known:
        return []
    pattern = rf"(?<!\w)(?:{'|'.join(known)})(?!\w)"
    return [match.span() for match in re.finditer(pattern, text)]


def _addressed_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the names that somebody is spoken to with."""
    for match in _SPOKEN_TO.finditer(text):
        place = match.span(1) if match[1] else match.span(2)
        if not _NOBODY.fullmatch(text[slice(*place)]):
            yield place


def _name_spans(text: str, names: frozenset[str]) -> Iterator[tuple[int, int]]:
    titled = (match.span() for match in _TITLED.finditer(text))
    known = _known_spans(text, {Entity.NAME.placeholder, *names})
    return _distinct([*known, *titled, *_addressed_spans(text)])


def _distinct(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    end = -1
    for span in sorted(spans, key=lambda span: (span[0], -span[1])):
        if span[0] >= end:
            yield span
            end = span[1]
