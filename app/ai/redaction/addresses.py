"""Postal addresses of people, where the words around them say whose they are."""

import re
from collections.abc import Iterator

from app.ai.redaction.entities import Entity, Found
from app.ai.redaction.talk import Talk
from app.ai.redaction.word_lists import split_words

# Without one of these, a conversation tells nobody's address.
_ANNOUNCED_BY = split_words(
    """
    address addresses live lives living reside resides residing stay stays staying moved ship
    shipped shipping deliver delivered send sent mail mailed post posted
    """
)
_STREET = (
    r"(?:street|st|road|rd|avenue|ave|av|lane|ln|drive|dr|boulevard|blvd|court|ct|way|place|pl"
    r"|terrace|close|square|sq|parkway|pkwy|highway|hwy|crescent|circle|cir|trail|row|gardens"
    r"|grove|hill|mews|walk|nagar|marg)\b\.?"
)
_NUMBER = r"(?:(?:flat|apartment|apt\.?|unit|house|plot)\s?(?:number )?#?\w{1,5},?\s)?\d{1,5}[a-z]?"
_NAME = r"(?:(?:[nsew]|north|south|east|west)\.?\s)?(?:[\w'.-]+\s){0,4}?"
# What may follow the street: a flat, the place, the state and its code.
_UNIT = r"(?:,?\s(?:apt|apartment|unit|suite|flat|floor|#)\.?\s?#?\w{1,6})?"
_PLACE = r"(?:,\s?[A-Z][^\W\d_'.-]+(?:\s[A-Z][^\W\d_'.-]+){0,2}){0,3}"
_CODE = (
    r"(?:,?\s[A-Z]{2}\b)?(?:,?\s(?:\d{5}(?:-\d{4})?\b|\d{6}\b|[A-Z]{1,2}\d[A-Z\d]?\s?\d[A-Z]{2}\b"
    r"|[A-Z]\d[A-Z]\s?\d[A-Z]\d\b))?"
)
_ADDRESS = re.compile(rf"(?<![\w$.])(?i:{_NUMBER}[,\s]\s?{_NAME}{_STREET}{_UNIT}){_PLACE}{_CODE}")
_TYPED_ONLY = re.compile(
    r"(?<![\w$])\d{1,5}[a-z]?\s[A-Z][\w'.-]+(?:\s[A-Z][\w'.-]+){0,3}"
    r"(?:,\s?[A-Z][\w'.-]+(?:\s[A-Z][\w'.-]+){0,2}){1,3}(?:,?\s[A-Z]{2}\b)?(?:,?\s\d{5}(?:-\d{4})?\b)?"
)
_WHOSE = re.compile(
    r"(?:\b(?:my|his|her|your)\s(?:\w+\s){0,3}?address(?:es)?\b"
    r"|\b(?:home|billing|shipping|mailing|delivery|residential)\saddress"
    r"|\b(?:i|we|she|he|they)(?:'m| am|'re| are|'s| is)?\s(?:now\s)?(?:live|lives|living|residing"
    r"|reside|stay|moved|staying)\s(?:at|on|in|to)\b"
    r"|\b(?:ship|deliver|send|mail|post|shipped|delivered|sent|mailed|shipping)\s"
    r"(?:\w+\s){0,4}?to\b|^\s*(?:full\s)?address\s*:)",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"\b(?:your|billing|shipping|home|mailing|delivery|full|current)\s(?:\w+\s){0,4}?address\b"
    r"|\bwhere do you live\b",
    re.IGNORECASE,
)
_NOT_POSTAL = re.compile(r"\b(?:e-?mail|ip|web|mac)\s(?:\w+\s)?address", re.IGNORECASE)
_REACH = 80


def find(talk: Talk, turn: int) -> Iterator[Found]:
    """Find the addresses of a turn; that of a shop or a hotel is nobody's."""
    if not talk.has_any(_ANNOUNCED_BY):
        return
    text = talk.turns[turn].text
    matches = [*_ADDRESS.finditer(text), *_TYPED_ONLY.finditer(text)]
    for match in matches:
        if _is_whose(talk, turn, match.start()):
            yield Found(match.start(), len(match[0].rstrip(" ,.")) + match.start(), Entity.ADDRESS)


def _is_whose(talk: Talk, turn: int, start: int) -> bool:
    text = talk.turns[turn].text
    said = _WHOSE.search(text, max(0, start - _REACH), start)
    if said is not None:
        return _NOT_POSTAL.search(said[0]) is None
    asked = talk.before(turn)
    found = None if asked is None else _ASKED.search(talk.turns[asked].text)
    return found is not None and _NOT_POSTAL.search(found[0]) is None
