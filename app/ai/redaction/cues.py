"""Words that say what a number beside them is: the nearest one decides, and most say: no secret."""

import re
from enum import StrEnum
from typing import NamedTuple


class Cue(StrEnum):
    """What a number is said to be."""

    CARD = "card"
    CVV = "cvv"
    PHONE = "phone"
    NATIONAL_ID = "national_id"
    ACCOUNT = "account"
    PASSCODE = "passcode"
    BIRTH = "birth"
    OTHER = "other"


class Said(NamedTuple):
    """A cue at `[start, end)` of a text."""

    start: int
    end: int
    cue: Cue


_PATTERNS = {
    Cue.CVV: (
        r"cvv2?|cvc2?|csc|card (?:verification|security)(?: code| value| number)?|security code"
        r"|(?:(?:three|four|3|4)[ -]digits? )?(?:code|number|digits) (?:on|at) the (?:back|front)"
        r"|(?:three|3)[ -]digits?(?: security)? (?:code|number)"
    ),
    Cue.OTHER: (
        r"order|reference|booking|confirmation|tickets?|tracking|case|invoice|flight|train|model"
        r"|serial|product|item|sku|zip|post ?code|postal code|policy|claim|member(?:ship)?"
        r"|(?:customer|user|account|employee|agent|badge|device|booking|transaction) id"
        r"|customer (?:number|no)|user ?name|loyalty|reservation|prices?|total|costs?|amount"
        r"|balance|version|extension|ext|quantity|room|gate|seat|expir\w*|valid (?:thru|until)"
        r"|transaction|authori[sz]ation|ref|meter|vin|imei|tax invoice|receipt|coupon|voucher"
        r"|promo(?:tion)?(?: code)?|discount|paid|pay|charged?|refund(?:ed)?|worth|dollars|gift card"
        r"|(?:ending|ends) (?:in|with)|last (?:four|4|three|3|two|2)"
    ),
    Cue.NATIONAL_ID: (
        r"social(?: security)?(?: number)?|ssn|national insurance(?: number)?|nino|ni number"
        r"|aadha+r(?: card)?(?: number)?|uidai|pan (?:card|number|no)|passport(?: number| no)?"
        r"|driv(?:er'?s?|ing) licen[cs]e(?: number)?|tax(?:payer)? id(?:entification)?(?: number)?"
        r"|national id(?:entity)?(?: card)?(?: number)?|identity card(?: number)?"
    ),
    Cue.ACCOUNT: (
        r"(?:bank )?account (?:number|no|#)|acct|bank account|bank details|sort code"
        r"|routing(?: number)?|bsb|(?:checking|savings|current) account"
    ),
    Cue.PASSCODE: (
        r"pin(?: code| number)?|pass ?code|otp|one[ -]time (?:password|pass ?code|code|pin)"
        r"|verification code|security pin|access code|authentication code|password"
        r"|(?:six|four|6|4)[ -]digit (?:code|pin)|code (?:i|we|you|that)(?: have| was| were)?"
        r" (?:just )?(?:sent|texted|received|got)"
    ),
    Cue.BIRTH: r"date of birth|birth ?(?:date|day)|d\.?o\.?b\.?|born",
    Cue.CARD: (
        r"(?:credit |debit |bank |payment |visa |master ?)?cards?(?: number| no| details)?|visa"
        r"|master ?card|amex|american express|long number|(?:sixteen|16)[ -]digits?(?: number)?"
    ),
    Cue.PHONE: (
        r"(?:tele)?phone(?: number| no)?|mobile(?: number| no)?|cell(?: ?phone)?(?: number)?"
        r"|contact (?:number|no|me|us|you)|call ?back(?: number)?|(?:call|ring|reach|text|phone)"
        r" (?:me|us|you|him|her|them)(?: back)?|dial|whats ?app|fax|land ?line|hotline|tel"
        r"|(?:my|your|his|her|our|their|best|good|home|work|office) number|number to (?:reach|call)"
    ),
}
_CUE = re.compile(
    r"(?<![\w\[])(?:"
    + "|".join(f"(?P<{cue.value}>{pattern})" for cue, pattern in _PATTERNS.items())
    + r")(?!\w)",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"[\s,.]*(?:,? ?(?:that )?(?:is|was|'s|are|as|for))\s+(?:(?:my|the|your|our|his|her|a)\s+)?",
    re.IGNORECASE,
)


def cues_of(text: str) -> list[Said]:
    """List the cues of a text in their order."""
    return [
        Said(match.start(), match.end(), Cue(str(match.lastgroup))) for match in _CUE.finditer(text)
    ]


def named_after(text: str, end: int) -> Cue | None:
    """Tell what a number is said to be right after it, as in "4821 is my PIN"."""
    link = _AFTER.match(text, end)
    match = _CUE.match(text, link.end()) if link else None
    return Cue(str(match.lastgroup)) if match else None
