"""Numbers that states give to people, and IBANs: known by shape, range and check digits."""

import re
from collections.abc import Iterator

from app.ai.redaction.checksums import mod97, verhoeff
from app.ai.redaction.cues import Cue
from app.ai.redaction.digit_runs import Run
from app.ai.redaction.entities import Entity, Found

# United States: never 000, 666 or 9xx, 00, 0000 (Social Security Administration, 2011 scheme).
_SSN = re.compile(r"(?!000|666|9)\d{3}(?!00)\d{2}(?!0000)\d{4}")
# United Kingdom, HMRC's rules on prefixes; the last letter is A to D.
_MIXED = re.compile(
    r"[A-Za-z][ -]?\d\d|passport|licen[cs]e|identity card|national id", re.IGNORECASE
)
_NINO = re.compile(
    r"\b(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]"
    r"[ -]?\d{2}[ -]?\d{2}[ -]?\d{2}[ -]?[A-D]\b",
    re.IGNORECASE,
)
# India, permanent account number: the fourth letter is the kind of its holder.
_PAN = re.compile(r"\b[A-Z]{3}[ABCFGHJLPT][A-Z]\d{4}[A-Z]\b")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]){11,30}\b", re.IGNORECASE)
_IBAN_LENGTHS = {
    "AD": 24,
    "AE": 23,
    "AL": 28,
    "AT": 20,
    "AZ": 28,
    "BA": 20,
    "BE": 16,
    "BG": 22,
    "BH": 23,
    "BR": 29,
    "BY": 28,
    "CH": 21,
    "CR": 22,
    "CY": 28,
    "CZ": 24,
    "DE": 22,
    "DK": 18,
    "DO": 28,
    "EE": 20,
    "EG": 29,
    "ES": 24,
    "FI": 18,
    "FO": 18,
    "FR": 27,
    "GB": 22,
    "GE": 22,
    "GI": 23,
    "GL": 18,
    "GR": 27,
    "GT": 28,
    "HR": 21,
    "HU": 28,
    "IE": 22,
    "IL": 23,
    "IQ": 23,
    "IS": 26,
    "IT": 27,
    "JO": 30,
    "KW": 30,
    "KZ": 20,
    "LB": 28,
    "LC": 32,
    "LI": 21,
    "LT": 20,
    "LU": 20,
    "LV": 21,
    "LY": 25,
    "MC": 27,
    "MD": 24,
    "ME": 22,
    "MK": 19,
    "MR": 27,
    "MT": 31,
    "MU": 30,
    "NL": 18,
    "NO": 15,
    "PK": 24,
    "PL": 28,
    "PS": 29,
    "PT": 25,
    "QA": 29,
    "RO": 24,
    "RS": 22,
    "SA": 24,
    "SC": 31,
    "SE": 24,
    "SI": 19,
    "SK": 24,
    "SM": 27,
    "ST": 25,
    "SV": 28,
    "TL": 23,
    "TN": 24,
    "TR": 26,
    "UA": 29,
    "VA": 22,
    "VG": 24,
    "XK": 20,
}
# Passports and licences have letters and digits in them, which only the words before them explain.
_CODE = re.compile(
    r"(?:passport|licen[cs]e|national id|identity card)(?: number| no\.?| #)?"
    r"\s{0,4}(?:is|:|,|-|it's)?\s{0,4}(?=[A-Z0-9-]{0,17}\d)([A-Z0-9](?:[A-Z0-9-]){5,17})\b",
    re.IGNORECASE,
)


def find(run: Run, cue: Cue | None) -> Iterator[Found]:
    """Find what consists of digits alone."""
    if run.glued or len(run.digits) not in (9, 12):
        return
    grouped = run.groups
    if grouped == (3, 2, 4) and cue is not Cue.OTHER and _SSN.fullmatch(run.digits):
        yield Found(run.start, run.end, Entity.NATIONAL_ID)
    is_aadhaar = grouped == (4, 4, 4) and run.digits[0] > "1" and verhoeff(run.digits)
    if is_aadhaar and cue in (None, Cue.NATIONAL_ID):
        yield Found(run.start, run.end, Entity.NATIONAL_ID)


def find_codes(text: str) -> Iterator[Found]:
    """Find what has letters and digits."""
    if not _MIXED.search(text):
        return
    for match in _NINO.finditer(text):
        yield Found(match.start(), match.end(), Entity.NATIONAL_ID)
    for match in _PAN.finditer(text):
        yield Found(match.start(), match.end(), Entity.NATIONAL_ID)
    for match in _CODE.finditer(text):
        yield Found(match.start(1), match.end(1), Entity.NATIONAL_ID)
    for match in _IBAN.finditer(text):
        end = _iban_end(match)
        if end is not None:
            yield Found(match.start(), end, Entity.IBAN)


def _iban_end(match: re.Match[str]) -> int | None:
    """Return where an IBAN of its country's length ends; the words after it may have matched."""
    length = _IBAN_LENGTHS.get(match[0][:2].upper())
    if length is None:
        return None
    code = ""
    for offset, sign in enumerate(match[0]):
        code += sign.upper() if sign.isalnum() else ""
        if len(code) == length:
            return match.start() + offset + 1 if code.isascii() and mod97(code) else None
    return None
