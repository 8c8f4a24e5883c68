"""Cues: words that tell the type of a number near them, such as "card" or "order"."""

import re
from enum import StrEnum
from typing import NamedTuple


class NumberCue(StrEnum):
    """The type of a number, as the words near it tell; `OTHER` is no personal data."""

    CARD = "card"
    CVV = "cvv"
    PHONE = "phone"
    NATIONAL_ID = "national_id"
    ACCOUNT = "account"
    PASSCODE = "passcode"
    BIRTH = "birth"
    OTHER = "other"


class CueMatch(NamedTuple):
    """A cue at `[start, end)` of a text."""

    start: int
    end: int
    cue: NumberCue


_PATTERNS = {
    NumberCue.CVV: (
        r"cvv2?|cvc2?|csc|card (?:verification|security)(?: code| value| number)?|security code"
        r"|(?:(?:three|four|3|4)[ -]digits? )?(?:code|number|digits) (?:on|at) the (?:back|front)"
        r"|(?:three|3)[ -]digits?(?: security)? (?:code|number)"
    ),
    NumberCue.OTHER: (
        r"order|reference|booking|confirmation|tickets?|tracking|case|invoice|flight|train|model"
        r"|serial|product|item|sku|zip|post ?code|postal code|policy|claim|member(?:ship)?"
        r"|(?:customer|user|account|employee|agent|badge|device|booking|transaction) id"
        r"|customer (?:number|no)|user ?name|loyalty|reservation|prices?|total|costs?|amount"
        r"|balance|version|extension|ext|quantity|room|gate|seat|expir\w*|valid (?:thru|until)"
        r"|transaction|authori[sz]ation|ref|meter|vin|imei|tax invoice|receipt|coupon|voucher"
        r"|promo(?:tion)?(?: code)?|discount|paid|pay|charged?|refund(?:ed)?|worth|dollars|gift card"
        r"|(?:ending|ends) (?:in|with)|last (?:four|4|three|3|two|2)"
    ),
    NumberCue.NATIONAL_ID: (
        r"social(?: security)?(?: number)?|ssn|national insurance(?: number)?|nino|ni number"
        r"|aadha+r(?: card)?(?: number)?|uidai|pan (?:card|number|no)|passport(?: number| no)?"
        r"|driv(?:er'?s?|ing) licen[cs]e(?: number)?|tax(?:payer)? id(?:entification)?(?: number)?"
        r"|national id(?:entity)?(?: card)?(?: number)?|identity card(?: number)?"
    ),
    NumberCue.ACCOUNT: (
        r"(?:bank )?account (?:number|no|#)|acct|bank account|bank details|sort code"
        r"|routing(?: number)?|bsb|(?:checking|savings|current) account"
    ),
    NumberCue.PASSCODE: (
        r"pin(?: code| number)?|pass ?code|otp|one[ -]time (?:password|pass ?code|code|pin)"
        r"|verification code|security pin|access code|authentication code|password"
        r"|(?:six|four|6|4)[ -]digit (?:code|pin)|code (?:i|we|you|that)(?: have| was| were)?"
        r" (?:just )?(?:sent|texted|received|got)"
    ),
    NumberCue.BIRTH: r"date of birth|birth ?(?:date|day)|d\.?o\.?b\.?|born",
    NumberCue.CARD: (
        r"(?:credit |debit |bank |payment |visa |master ?)?cards?(?: number| no| details)?|visa"
        r"|master ?card|amex|american express|long number|(?:sixteen|16)[ -]digits?(?: number)?"
    ),
    NumberCue.PHONE: (
        r"(?:tele)?phone(?: number| no)?|mobile(?: number| no)?|cell(?: ?phone)?(?: number)?"
        r"|contact (?:number|no|me|us|you)|call ?back(?: number)?|(?:call|ring|reach|text|phone)"
        r" (?:me|us|you|him|her|them)(?: back)?|dial|whats ?app|fax|land ?line|hotline|tel"
        r"|(?:my|your|his|her|our|their|best|good|home|work|office) number|number to (?:reach|call)"
    ),
}
_ANY_CUE = re.compile(
    r"(?<![\w\[])(?:"
    + "|".join(f"(?P<{cue.value}>{pattern})" for cue, pattern in _PATTERNS.items())
    + r")(?!\w)",
    re.IGNORECASE,
)
_LINK = re.compile(
    r"[\s,.]*(?:,? ?(?:that )?(?:is|was|'s|are|as|for))\s+(?:(?:my|the|your|our|his|her|a)\s+)?",
    re.IGNORECASE,
)


def cues_of(text: str) -> list[CueMatch]:
    """Return the cues of a text in their order."""
    return [
        CueMatch(match.start(), match.end(), NumberCue(str(match.lastgroup)))
        for match in _ANY_CUE.finditer(text)
    ]


def cue_after(text: str, end: int) -> NumberCue | None:
    """Return the cue right after a number, as in "4821 is my PIN"."""
    link = _LINK.match(text, end)
    match = _ANY_CUE.match(text, link.end()) if link else None
    return NumberCue(str(match.lastgroup)) if match else None
