"""Postal addresses of people, where the words around them or a question call for one."""

import re
from collections.abc import Iterator
from itertools import chain

from app.redaction.conversation_text import ConversationText, places_of, split_words
from app.redaction.entities import Entity, EntitySpan

# A conversation without these words contains no personal address, and a turn only as an answer.
_ADDRESS_WORDS = split_words(
    """
    address addresses live lives living reside resides residing stay stays staying moved ship
    shipped shipping deliver delivered send sent mail mailed post posted postcode zip postal
    """
)
_STREET = (
    r"(?=[a-dghl-npr-tw])(?:street|st|road|rd|avenue|ave|av|lane|ln|drive|dr|boulevard|blvd|court|ct|way|place|pl"
    r"|terrace|close|square|sq|parkway|pkwy|highway|hwy|crescent|circle|cir|trail|row|gardens"
    r"|grove|hill|mews|walk|nagar|marg)\b\.?"
)
_SPELLED = (
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen"
    r"|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)"
)
_FLAT = r"(?:(?:flat|apartment|apt\.?|unit|house|plot)\s?(?:number )?#?\w{1,5},?\s)?"
_NUMBER = rf"{_FLAT}\d{{1,5}}[a-z]?"
_NAME = r"(?:(?:[nsew]|north|south|east|west)\.?\s)?(?:[\w'-]{1,20}\.?\s){0,4}?"
# After the street: a flat, the town, the state and its code.
_UNIT = r"(?:,?\s(?:apt|apartment|unit|suite|flat|floor|#)\.?\s?#?\w{1,6})?"
_TOWN = r"[A-Z][^\W\d_]{1,20}(?:['-][^\W\d_]{1,20}){0,2}(?!\w)"
_PLACE = rf"(?:,\s?{_TOWN}(?:\s{_TOWN}){{0,2}}){{0,3}}"
_POSTCODE = (
    r"(?:\d{5}(?:-\d{4})?|\d{6}|[A-Za-z]{1,2}\d[A-Za-z\d]?\s?\d[A-Za-z]{2}"
    r"|[A-Za-z]\d[A-Za-z]\s?\d[A-Za-z]\d)(?!\w)"
)
_CODE = rf"(?:,?\s[A-Z]{{2}}\b)?(?:,?\s{_POSTCODE})?"
_ADDRESS = re.compile(rf"(?<![\w$.])(?i:{_NUMBER}[,\s]\s?{_NAME}{_STREET}{_UNIT}){_PLACE}{_CODE}")
_SPOKEN = re.compile(rf"\b{_SPELLED}(?:[\s-]{_SPELLED})?\s(?:[\w'-]{{1,20}}\s){{1,2}}{_STREET}")
# German: the number follows the street, and the code precedes the town.
_NUMBER_LAST = re.compile(
    r"\b[A-Z\u00c4\u00d6\u00dc][\w-]{1,25}(?:strasse|stra\u00dfe|str\.|weg|platz|allee|gasse|damm|ufer)"
    rf"\s\d{{1,4}}[a-z]?(?:,?\s\d{{4,5}}\s{_TOWN})?"
)
_WITHOUT_STREET_WORD = re.compile(
    rf"(?<![\w$])\d{{1,5}}[a-z]?\s{_TOWN}(?:\s{_TOWN}){{0,3}}(?:,\s?{_TOWN}(?:\s{_TOWN}){{0,2}}){{1,3}}"
    r"(?:,?\s[A-Z]{2}\b)?(?:,?\s\d{5}(?:-\d{4})?\b)?"
)
_PATTERNS = (_ADDRESS, _NUMBER_LAST, _WITHOUT_STREET_WORD)
# In an answer, the town and the code may follow without comma and capitals.
_REST = re.compile(
    rf"[\s,]{{1,2}}(?:[^\W\d_]{{2,20}}[\s,]{{1,2}}){{0,3}}{_POSTCODE}"
    r"|[\s,]{1,2}(?!(?:please|thanks|thank|okay|ok|yes|right|and|but|is)\b)[^\W\d_]{3,20}(?=[.!]?$)"
)
_CODE_ALONE = re.compile(rf"(?<![\w$.]){_POSTCODE}")
_WHOSE = re.compile(
    r"(?:\b(?:my|his|her|your)\s(?:\w+\s){0,3}?address(?:es)?\b"
    r"|\b(?:home|billing|shipping|mailing|delivery|residential)\saddress"
    r"|\b(?:i|we|she|he|they)(?:'m| am|'re| are|'s| is)?\s(?:now\s)?(?:live|lives|living|residing"
    r"|reside|stay|moved|staying)\s(?:at|on|in|to)\b"
    r"|\b(?:ship|deliver|send|mail|post|shipped|delivered|sent|mailed|shipping)\s"
    r"(?:\w+\s){0,4}?to\b|^\s*(?:full\s)?address\s*:)"
)
# Each of the announcements above has one of these in it.
_ANNOUNCING = (
    *("address", "live", "living", "resid", "stay", "moved"),
    *("ship", "deliver", "send", "sent", "mail", "post"),
)
_ASKED = re.compile(
    r"\b(?:your|my|the|billing|shipping|home|mailing|delivery|full|current|new)\s(?:\w{1,20}\s){0,4}?"
    r"address\b(?! (?:of|for) (?:the|our|a) (?:shop|store|branch|office|hotel|station))"
    r"|\bwhere (?:do you live|(?:should|shall|do|can|may) (?:it|we|i|they) (?:go|send|deliver|ship))\b"
)
_ASKING = ("address", "where ")
_CODES = ("postcode", "post code", "postal code", "zip")
_CODE_ASKED = re.compile(rf"\byour\s(?:\w{{1,20}}\s){{0,2}}?(?:{'|'.join(_CODES)})\b")
_NOT_POSTAL = re.compile(r"\b(?:e-?mail|ip|web|mac)\s(?:\w+\s)?address")
# After an address was asked for, a question with these words asks for a part of it, or again.
_SAME_QUESTION = split_words(
    """
    address street road house flat apartment unit building city town village county state province
    country zip postcode postal again repeat say said that sorry pardon spell catch
    """
)
_QUESTION_WORDS = split_words("which what what's when who who's how why where")
_PLACES = split_words(
    """
    store shop branch office hotel restaurant station airport clinic hospital pharmacy market
    """
)
# The most characters between the announcing words and the address.
_DISTANCE = 80
# The most turns between a question and its answer.
_TURNS_BACK = 3


def find(conversation: ConversationText, turn: int) -> Iterator[EntitySpan]:
    """Yield the addresses of a turn, except those of shops and other public places."""
    if not conversation.has_any(_ADDRESS_WORDS):
        return
    text = conversation.turns[turn].text
    if _is_answer(conversation, turn):
        yield from _answered(text, conversation.lower_case(turn))
    elif not conversation.words(turn).isdisjoint(_ADDRESS_WORDS):
        yield from _announced(conversation, turn)
    before = conversation.before(turn)
    if before is not None and _asks_for_code(conversation, before):
        for match in _CODE_ALONE.finditer(text):
            yield EntitySpan(match.start(), match.end(), Entity.ADDRESS)


def _asks_for_code(conversation: ConversationText, turn: int) -> bool:
    text = conversation.lower_case(turn)
    return any(conversation.matches_near(_CODE_ASKED, text, places_of(_CODES, text)))


def _answered(text: str, lower_case_text: str) -> Iterator[EntitySpan]:
    written = (pattern.finditer(text) for pattern in _PATTERNS)
    for match in chain(*written, _SPOKEN.finditer(lower_case_text)):
        rest = _REST.match(text, _end_of(match))
        yield EntitySpan(match.start(), rest.end() if rest else _end_of(match), Entity.ADDRESS)


def _announced(conversation: ConversationText, turn: int) -> Iterator[EntitySpan]:
    lower_case_text = conversation.lower_case(turn)
    places = places_of(_ANNOUNCING, lower_case_text)
    for pattern in _PATTERNS:
        for match in conversation.matches_near(pattern, conversation.turns[turn].text, places):
            if _is_announced(lower_case_text, match.start()):
                yield EntitySpan(match.start(), _end_of(match), Entity.ADDRESS)


def _end_of(match: re.Match[str]) -> int:
    return match.start() + len(match[0].rstrip(" ,."))


def _is_answer(conversation: ConversationText, turn: int) -> bool:
    """Return whether a turn answers a question for somebody's address."""
    for back in range(turn - 1, max(-1, turn - 1 - _TURNS_BACK), -1):
        before = conversation.lower_case(back)
        question = next(conversation.matches_near(_ASKED, before, places_of(_ASKING, before)), None)
        if question is not None:
            return _NOT_POSTAL.search(question[0]) is None
        if "address" in conversation.words(back) or _asks_otherwise(conversation, back, turn):
            return False
    return False


def _asks_otherwise(conversation: ConversationText, turn: int, answer: int) -> bool:
    """Return whether another speaker asks for something else, such as the place of a shop."""
    if conversation.turns[turn].speaker == conversation.turns[answer].speaker:
        return False
    words = conversation.words(turn)
    is_question = "?" in conversation.turns[turn].text or not words.isdisjoint(_PLACES)
    return (
        is_question and not words.isdisjoint(_QUESTION_WORDS) and words.isdisjoint(_SAME_QUESTION)
    )


def _is_announced(lower_case_text: str, start: int) -> bool:
    """Return whether the words before a position of a text in lower case announce somebody's address."""
    announced = _WHOSE.search(lower_case_text, max(0, start - _DISTANCE), start)
    return announced is not None and _NOT_POSTAL.search(announced[0]) is None
