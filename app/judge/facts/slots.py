"""Slots of phrases, such as `<amount>`: what may stand in their place, found in a text."""

import re
from collections.abc import Callable, Iterator, Mapping

from app.judge.scorecard.schema import SLOTS
from app.redaction.entities import Entity
from app.redaction.masking import mask_segments
from app.transcript import Transcript

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
_SLOT = rf"<(?:{'|'.join(SLOTS)})>"
SLOT = re.compile(_SLOT)
SLOT_OR_TEXT = re.compile(rf"{_SLOT}|(?:(?!{_SLOT}).)+", re.DOTALL)
# A capital word that somebody is spoken to with, and words that begin so and name nobody.
_SPOKEN_TO = re.compile(
    rf"\b(?i:hello|hi|hey|dear|thanks|thank you|sorry|welcome|morning|afternoon|evening|bye|goodbye),?\s({_CAPITAL})"
    rf"(?=[,.!?]|$)|,\s({_CAPITAL})(?=[,.!?]|$)"
)
_TITLED = re.compile(rf"\b(?:Mr|Mrs|Ms|Miss|Dr)\.?\s{_CAPITAL}")
_NOBODY = re.compile(rf"(?i:{_DAYS}|{_MONTHS}|all|everyone|everybody|team|sir|madam|there|again)")


def names_in(transcript: Transcript) -> frozenset[str]:
    """Return the names of people that a conversation tells, without those of the service side."""
    found = zip(transcript.segments, mask_segments(transcript), strict=True)
    return frozenset(
        segment.text[span.start : span.end]
        for segment, masked in found
        for span in masked.originals
        if span.entity is Entity.NAME
    )


def slot_spans(
    slot: str, text: str, names: Callable[[], frozenset[str]]
) -> Iterator[tuple[int, int]]:
    """Yield where a text has what may stand in a slot.

    Args:
        names: the names that the conversation tells; asked for names only.
    """
    if slot == "<name>":
        yield from _name_spans(text, names())
    else:
        yield from (match.span() for match in _PATTERNS[slot.strip("<>")].finditer(text))


def _name_spans(text: str, names: frozenset[str]) -> Iterator[tuple[int, int]]:
    known = sorted(map(re.escape, {Entity.NAME.placeholder, *names}), key=len, reverse=True)
    spans = [match.span() for match in re.finditer(rf"(?<!\w)(?:{'|'.join(known)})(?!\w)", text)]
    spans += [match.span() for match in _TITLED.finditer(text)]
    for match in _SPOKEN_TO.finditer(text):
        place = match.span(1) if match[1] else match.span(2)
        if not _NOBODY.fullmatch(text[slice(*place)]):
            spans.append(place)
    end = -1
    for span in sorted(spans, key=lambda span: (span[0], -span[1])):
        if span[0] >= end:
            yield span
            end = span[1]
