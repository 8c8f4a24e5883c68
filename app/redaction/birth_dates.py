"""Dates of birth: dates that the words around them, or a question, call so."""

import re
from collections.abc import Iterator

from app.redaction.conversation_text import ConversationText, places_of, split_words
from app.redaction.digit_runs import NumberCue
from app.redaction.entities import Entity, EntitySpan

# A text without digits and without these words has no date.
MONTHS = split_words(
    """
    january february march april may june july august september october november december jan
    feb mar apr jun jul aug sep sept oct nov dec born
    januar februar märz mai juni juli oktober dezember enero febrero marzo abril mayo junio julio
    agosto septiembre octubre noviembre diciembre janvier février mars avril juin juillet août
    septembre octobre novembre décembre janeiro fevereiro março maio junho julho setembro outubro
    novembro dezembro
    """
)
# A conversation without these words has no date of birth, and a turn without them only at its start.
_BIRTH_WORDS = split_words(
    """
    birth born birthday birthdate dob b geburtsdatum geburtstag geboren nacimiento nací naissance
    né née nascimento nascido nascida nasci
    """
)
# One of these is near a date of birth, or in the question before it.
_CUES = (
    *("birth", "born", "dob", "d.ob", "do.b", "d.o.b"),
    *("geburts", "geboren", "nacimiento", "nací"),
    *("naissance", "né ", "née ", "nascimento", "nasci"),
)
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
    r"|januar|februar|märz|mai|juni|juli|oktober|dezember|enero|febrero|marzo|abril|mayo|junio|julio"
    r"|agosto|septiembre|octubre|noviembre|diciembre|janvier|février|mars|avril|juin|juillet|août"
    r"|septembre|octobre|novembre|décembre|janeiro|fevereiro|março|maio|junho|julho|setembro"
    r"|outubro|novembro|dezembro)\.?"
)
_ORDINAL = (
    r"(?:(?:twenty|thirty)[ -])?(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)"
    r"|tenth|eleventh|twelfth|thirteenth|fourteenth|fifteenth|sixteenth|seventeenth|eighteenth"
    r"|nineteenth|twentieth|thirtieth"
)
_UNIT = r"(?:one|two|three|four|five|six|seven|eight|nine)"
_TENS = r"(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)"
_NUMBER = (
    rf"(?:{_TENS}(?:[ -]{_UNIT})?|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen"
    rf"|eighteen|nineteen|(?:oh )?{_UNIT})"
)
_DAY = rf"(?:\d{{1,2}}(?:st|nd|rd|th|er|\.)?|{_ORDINAL}|{_NUMBER})"
_YEAR = (
    rf"(?:(?:19|20)\d\d|'?\d\d|nineteen[ -](?:hundred(?: and)? )?{_NUMBER}"
    rf"|two thousand(?:(?: and)? {_NUMBER})?|twenty[ -]{_NUMBER})"
)
_DATE = re.compile(
    rf"(?<![\w/.-])(?:"
    rf"\d{{1,2}}\s?[/.-]\s?\d{{1,2}}\s?[/.-]\s?(?:\d{{4}}|\d{{2}})"
    rf"|(?:19|20)\d\d\s?[/.-]\s?\d{{1,2}}\s?[/.-]\s?\d{{1,2}}"
    rf"|(?:the )?{_DAY}(?: of| de)?[ -]{_MONTH}(?:(?: of| de| del)?,?[ -]{_YEAR})?"
    rf"|{_MONTH}[ -](?:the )?{_DAY}(?:,?[ -]{_YEAR})?"
    rf"|\d{{1,2}} \d{{1,2}} (?:19|20)\d\d"
    rf")(?![\w/-])"
)
_BIRTH_YEAR = re.compile(rf"\bborn (?:in|back in) ({_YEAR})\b")
_CALLED_SO_AFTER = re.compile(
    r"[\s,.]*(?:that )?(?:is|was|'s)\s+(?:my|her|his|the|your)\s+(?:date of birth|birth ?(?:day|date)|dob)"
)


def find(conversation: ConversationText, turn: int) -> Iterator[EntitySpan]:
    if not conversation.has_any(_BIRTH_WORDS):
        return
    text = conversation.lower_case(turn)
    # The cue of a question announces a date at the start of its answer.
    for match in conversation.matches_near(_DATE, text, [0, *places_of(_CUES, text)]):
        is_announced = conversation.cue_at(turn, match.start()) is NumberCue.BIRTH
        if is_announced or _CALLED_SO_AFTER.match(text, match.end()):
            yield EntitySpan(match.start(), match.end(), Entity.DATE_OF_BIRTH)
    for match in conversation.matches_near(_BIRTH_YEAR, text, places_of(["born"], text)):
        yield EntitySpan(match.start(1), match.end(1), Entity.DATE_OF_BIRTH)
