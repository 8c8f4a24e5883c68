"""National ids and IBANs: known by shape, range and check digits."""

import re
from collections.abc import Iterator

from app.ai.redaction.check_digits import has_iban_digits, has_verhoeff_digit
from app.ai.redaction.digit_runs import DigitRun
from app.ai.redaction.entities import Entity, EntitySpan
from app.ai.redaction.number_cues import NumberCue
from app.ai.redaction.words import split_words

# United States: the groups are never 000, 666, 9xx, 00 or 0000 (Social Security Administration).
_SSN = re.compile(r"(?!000|666|9)\d{3}(?!00)\d{2}(?!0000)\d{4}")
# A text without any of these has no id with letters.
_LETTERS_AND_DIGITS = re.compile(
    r"[A-Za-z][ -]?\d\d|passport|licen[cs]e|identity card|national id", re.IGNORECASE
)
# United Kingdom: HMRC's rules for prefixes; the last letter is A to D.
_NINO = re.compile(
    r"\b(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]"
    r"[ -]?\d{2}[ -]?\d{2}[ -]?\d{2}[ -]?[A-D]\b",
    re.IGNORECASE,
)
# India, permanent account number: the fourth letter is the type of its holder.
_PAN = re.compile(r"\b[A-Z]{3}[ABCFGHJLPT][A-Z]\d{4}[A-Z]\b")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]){11,30}\b", re.IGNORECASE)
_IBAN_LENGTHS = {
    entry[:2]: int(entry[2:])
    for entry in split_words(
        """
        AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH23 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28
        EE20 EG29 ES24 FI18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26
        IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30
        NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SE24 SI19 SK24 SM27 ST25 SV28 TL23
        TN24 TR26 UA29 VA22 VG24 XK20
        """
    )
}
# Numbers of passports and licences have no common form, so that the words before them decide.
_DOCUMENT = re.compile(
    r"(?:passport|licen[cs]e|national id|identity card)(?: number| no\.?| #)?"
    r"\s{0,4}(?:is|:|,|-|it's)?\s{0,4}(?=[A-Z0-9-]{0,17}\d)([A-Z0-9](?:[A-Z0-9-]){5,17})\b",
    re.IGNORECASE,
)


def find(run: DigitRun, cue: NumberCue | None) -> Iterator[EntitySpan]:
    """Yield the ids that have only digits."""
    if run.glued or len(run.digits) not in (9, 12):
        return
    if run.groups == (3, 2, 4) and cue is not NumberCue.OTHER and _SSN.fullmatch(run.digits):
        yield EntitySpan(run.start, run.end, Entity.NATIONAL_ID)
    is_aadhaar = run.groups == (4, 4, 4) and run.digits[0] > "1" and has_verhoeff_digit(run.digits)
    if is_aadhaar and cue in (None, NumberCue.NATIONAL_ID):
        yield EntitySpan(run.start, run.end, Entity.NATIONAL_ID)


def find_codes(text: str) -> Iterator[EntitySpan]:
    """Yield the ids that have letters and digits."""
    if not _LETTERS_AND_DIGITS.search(text):
        return
    for pattern in (_NINO, _PAN):
        for match in pattern.finditer(text):
            yield EntitySpan(match.start(), match.end(), Entity.NATIONAL_ID)
    for match in _DOCUMENT.finditer(text):
        yield EntitySpan(match.start(1), match.end(1), Entity.NATIONAL_ID)
    for match in _IBAN.finditer(text):
        end = _iban_end(match)
        if end is not None:
            yield EntitySpan(match.start(), end, Entity.IBAN)


def _iban_end(match: re.Match[str]) -> int | None:
    """Return the end of an IBAN by its country's length; the match may include words after it."""
    length = _IBAN_LENGTHS.get(match[0][:2].upper())
    if length is None:
        return None
    code = ""
    for offset, character in enumerate(match[0]):
        code += character.upper() if character.isalnum() else ""
        if len(code) == length:
            return match.start() + offset + 1 if code.isascii() and has_iban_digits(code) else None
    return None
