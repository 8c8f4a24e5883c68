"""Personal numbers: payment cards, national ids, telephone numbers, and secrets that words announce."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import accumulate, chain
from string import ascii_lowercase

from app.redaction.conversation_text import ConversationText, places_of, split_words
from app.redaction.digit_runs import DigitRun, DigitToken, NumberCue
from app.redaction.entities import Entity, EntitySpan

# Ranges of the first digits, inclusive, and the lengths that are issued (ISO/IEC 7812).
_CARD_ISSUERS = (
    ("4", "4", (13, 16, 19)),
    ("51", "55", (16,)),
    ("2221", "2720", (16,)),
    ("34", "34", (15,)),
    ("37", "37", (15,)),
    ("6011", "6011", (16, 17, 18, 19)),
    ("644", "649", (16, 17, 18, 19)),
    ("65", "65", (16, 17, 18, 19)),
    ("300", "305", (14, 16)),
    ("36", "36", (14, 16)),
    ("38", "39", (14, 16)),
    ("3528", "3589", (16, 17, 18, 19)),
    ("62", "62", (16, 17, 18, 19)),
    ("60", "60", (16,)),
    ("81", "82", (16,)),
    ("50", "50", (13, 14, 15, 16, 17, 18, 19)),
    ("56", "58", (13, 14, 15, 16, 17, 18, 19)),
    ("63", "63", (13, 14, 15, 16, 17, 18, 19)),
    ("67", "69", (13, 14, 15, 16, 17, 18, 19)),
)
_MAX_CARD_LENGTH = 19
# After the word "card", a number may have misheard or missing digits.
_MIN_CARD_LENGTH = 12
# United States: the groups are never 000, 666, 9xx, 00 or 0000 (Social Security Administration).
_SSN = re.compile(r"(?!000|666|9)\d{3}(?!00)\d{2}(?!0000)\d{4}")
# The first two digits of an id with letters: of an IBAN, of a British or of an Indian one.
_LETTERS_AND_DIGITS = re.compile(
    r"\d\d(?:(?<=\b[a-z]{2}\d\d)|(?<=\b[a-z]{2}[ -]\d\d)(?=[ -]?\d\d[ -]?\d\d[ -]?[a-d]\b)"
    r"|(?<=\b[a-z]{5}\d\d)(?=\d\d[a-z]\b))"
)
# United Kingdom: HMRC's rules for prefixes; the last letter is A to D.
_NINO = re.compile(
    r"\b(?!bg|gb|kn|nk|nt|tn|zz)[a-ceghj-pr-tw-z][a-ceghj-npr-tw-z]"
    r"[ -]?\d{2}[ -]?\d{2}[ -]?\d{2}[ -]?[a-d]\b"
)
# India, permanent account number: the fourth letter is the type of its holder.
_PAN = re.compile(r"\b[A-Z]{3}[ABCFGHJLPT][A-Z]\d{4}[A-Z]\b")
_IBAN = re.compile(r"\b[a-z]{2}\d{2}(?:[ -]?[a-z0-9]){11,30}\b")
# By country, with the length that is issued there.
_IBANS = {
    entry[:2].lower(): re.compile(rf"(?a:[a-z]{{2}}\d\d(?:[ -]?[a-z0-9]){{{int(entry[2:]) - 4}}})")
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
_WITHOUT_GAPS = str.maketrans("", "", " -")
_IBAN_VALUES = {ord(letter): str(int(letter, 36)) for letter in ascii_lowercase}
# Numbers of passports and licences have no common form, so that the words before them decide.
_DOCUMENT = re.compile(
    r"(?:passport|licen[cs]e|national id|identity card)(?: number| no\.?| #)?"
    r"\s{0,4}(?:is|:|,|-|it's)?\s{0,4}(?=[a-z0-9-]{0,17}\d)([a-z0-9](?:[a-z0-9-]){5,17})\b"
)
_DOCUMENTS = ("passport", "licen", "national id", "identity card")
PASSWORD_WORDS = frozenset({"password", "passcode", "passphrase"})
# A password has a digit or a sign in it, so that it cannot be a word of the sentence.
_PASSWORD = re.compile(
    r"\b(?:password|passcode|passphrase)(?:\s(?:is|was|it's)|\s?[:=])\s*[\"'\u201c]?"
    r"(?=\S*[\d!#$%&*@^_+~])([^\s\"'\u201d,;]{4,64}?)(?=[.?]?(?:[\s\"'\u201d,;]|$))"
)
# The entity of each cue, with the least and the most digits.
_ANNOUNCED: dict[NumberCue, tuple[Entity, int, int]] = {
    NumberCue.CVV: (Entity.CVV, 3, 4),
    NumberCue.PHONE: (Entity.PHONE, 7, 15),
    NumberCue.ACCOUNT: (Entity.BANK_ACCOUNT, 6, 18),
    NumberCue.PASSCODE: (Entity.PASSCODE, 4, 8),
    # Often only the last four digits are asked for.
    NumberCue.NATIONAL_ID: (Entity.NATIONAL_ID, 4, 14),
}
_CURRENCY_SIGNS = "$€£¥₹"
# E.164: at most fifteen digits; with a country code at least eight.
_MIN_PHONE_DIGITS, _MAX_PHONE_DIGITS = 8, 15
# With the "00" before a country code.
_MAX_SHAPED_DIGITS = 17
_PLUS = re.compile(r"\+[ (]{0,2}$")
_SEPARATOR = re.compile(r"[ .\-\u2010-\u2013()/\u00a0]{0,3}")
# Lengths of the groups, and first digits: North America, Britain, India, France, Germany, Spain and
# Portugal, Brazil.
_PHONE_SHAPES: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = (
    (re.compile(r"(?:1,)?3,3,4"), re.compile(r"1?[2-9]")),
    (re.compile(r"(?:1,)?3,7"), re.compile(r"1?[2-9]")),
    (re.compile(r"5,6|5,3,3|4,3,4|4,7|3,4,4|3,8|4,3,3|11|4,6"), re.compile(r"0[1-9]")),
    (re.compile(r"2,2,2,2,2"), re.compile(r"0[1-9]")),
    (re.compile(r"5,5"), re.compile(r"[6-9]")),
    (re.compile(r"[2-6],\d(?:\d?,\d+){0,4}|[2-6],\d+"), re.compile(r"00[1-9]\d{8,14}$")),
    (re.compile(r"[345],[5678]"), re.compile(r"0[1-9]")),
    (re.compile(r"3,3,3|3,2,2,2"), re.compile(r"[6789]\d|2[1-9]")),
    (re.compile(r"2,5,4|2,4,4"), re.compile(r"[1-9]{2}[2-9]")),
)
_VALUES = bytes.maketrans(b"0123456789", bytes(range(10)))
_DOUBLED = bytes.maketrans(bytes(range(10)), bytes((0, 2, 4, 6, 8, 1, 3, 5, 7, 9)))
# Verhoeff's scheme: products in the dihedral group of order ten, and permutations by position.
_VERHOEFF_PRODUCTS = (
    "0123456789",
    "1234067895",
    "2340178956",
    "3401289567",
    "4012395678",
    "5987604321",
    "6598710432",
    "7659821043",
    "8765932104",
    "9876543210",
)
_VERHOEFF_PERMUTATIONS = (
    "0123456789",
    "1576283094",
    "5803796142",
    "8916043527",
    "9453126870",
    "4286573901",
    "2793806415",
    "7046913258",
)


def find(run: DigitRun, cue: NumberCue | None, text: str) -> Iterator[EntitySpan]:
    """Yield the personal numbers of a run of digits in a text; `cue` is that of the run."""
    plus = _plus_position(run, text)
    card_spans = [] if plus is not None else list(_cards(run, cue))
    yield from card_spans
    if any(span.start <= run.start and run.end <= span.end for span in card_spans):
        return
    yield from _digit_ids(run, cue)
    yield from _announced(run, cue, text)
    yield from _phones(run, cue, text, plus)


def find_codes(conversation: ConversationText, turn: int) -> Iterator[EntitySpan]:
    text = conversation.lower_case(turn)
    places = [match.start() for match in _LETTERS_AND_DIGITS.finditer(text)]
    ids = (
        conversation.matches_near(_NINO, text, places),
        conversation.matches_near(_PAN, conversation.turns[turn].text, places),
    )
    for match in chain(*ids):
        yield EntitySpan(match.start(), match.end(), Entity.NATIONAL_ID)
    for match in conversation.matches_near(_DOCUMENT, text, places_of(_DOCUMENTS, text)):
        yield EntitySpan(match.start(1), match.end(1), Entity.NATIONAL_ID)
    for match in conversation.matches_near(_IBAN, text, places):
        end = _iban_end(match)
        if end is not None:
            yield EntitySpan(match.start(), end, Entity.IBAN)


def find_passwords(conversation: ConversationText, turn: int) -> Iterator[EntitySpan]:
    """Yield the written passwords of a turn."""
    text = conversation.lower_case(turn)
    for match in conversation.matches_near(_PASSWORD, text, places_of(PASSWORD_WORDS, text)):
        if not match[1].startswith("["):
            yield EntitySpan(match.start(1), match.end(1), Entity.PASSCODE)


def _cards(run: DigitRun, cue: NumberCue | None) -> Iterator[EntitySpan]:
    """Yield the card numbers of a run, which may have other digits around them."""
    digits = run.digits
    if len(digits) < _MIN_CARD_LENGTH:
        return
    has_check_digit = LuhnSums(digits).has_check_digit
    ends = list(accumulate([len(token.digits) for token in run.tokens]))
    end_by_position = {end: token.end for end, token in zip(ends, run.tokens, strict=True)}
    for first, token in zip([0, *ends], run.tokens, strict=False):
        for length in _card_lengths(digits[first : first + 4]):
            end = end_by_position.get(first + length)
            if end is not None and has_check_digit(first, first + length):
                yield EntitySpan(token.start, end, Entity.CARD)
    if cue is NumberCue.CARD and not run.glued:
        for piece in run.pieces_of_length(_MIN_CARD_LENGTH, _MAX_CARD_LENGTH):
            yield EntitySpan(piece.start, piece.end, Entity.CARD)


@cache
def _card_lengths(prefix: str) -> frozenset[int]:
    """Return the lengths that are issued with these first four digits."""
    return frozenset(
        length
        for low, high, lengths in _CARD_ISSUERS
        if low <= prefix[: len(low)] <= high
        for length in lengths
    )


def _digit_ids(run: DigitRun, cue: NumberCue | None) -> Iterator[EntitySpan]:
    if run.glued or len(run.digits) not in (9, 12):
        return
    if run.groups == (3, 2, 4) and cue is not NumberCue.OTHER and _SSN.fullmatch(run.digits):
        yield EntitySpan(run.start, run.end, Entity.NATIONAL_ID)
    is_aadhaar = run.groups == (4, 4, 4) and run.digits[0] > "1" and _has_verhoeff_digit(run.digits)
    if is_aadhaar and cue in (None, NumberCue.NATIONAL_ID):
        yield EntitySpan(run.start, run.end, Entity.NATIONAL_ID)


def _iban_end(match: re.Match[str]) -> int | None:
    """Return the end of an IBAN by its country's length; the match may include words after it."""
    iban = _IBANS[match[0][:2]].match(match[0]) if match[0][:2] in _IBANS else None
    if iban is None or not _has_iban_digits(iban[0].translate(_WITHOUT_GAPS)):
        return None
    return match.start() + iban.end()


def _announced(run: DigitRun, cue: NumberCue | None, text: str) -> Iterator[EntitySpan]:
    """Yield the number that the cue announces; skip a number that touches a letter."""
    rule = _ANNOUNCED.get(cue) if cue is not None else None
    if rule is None or run.glued or _is_price(run, text):
        return
    entity, low, high = rule
    check = _CHECKS.get(entity)
    for piece in run.pieces_of_length(low, high):
        if check is None or check(piece):
            yield EntitySpan(piece.start, piece.end, entity)


def _is_price(run: DigitRun, text: str) -> bool:
    start, end = run.start, run.end
    if any(token.gap == "," and len(token.digits) == 3 for token in run.tokens):
        return True
    return text[end : end + 1] == "%" or (start > 0 and text[start - 1] in _CURRENCY_SIGNS)


def _cannot_be_date(run: DigitRun) -> bool:
    """Return whether a number is not grouped like a date, such as 12/05/2021 or 2021-05-12."""
    return run.groups not in ((2, 2, 4), (1, 2, 4), (2, 1, 4), (1, 1, 4), (4, 2, 2))


def _cannot_be_date_or_year(run: DigitRun) -> bool:
    is_year = run.groups == (4,) and run.digits[:2] in ("19", "20") and run.tokens[0].written
    return _cannot_be_date(run) and not is_year


_CHECKS: dict[Entity, Callable[[DigitRun], bool]] = {
    Entity.PHONE: _cannot_be_date,
    Entity.BANK_ACCOUNT: _cannot_be_date,
    Entity.PASSCODE: _cannot_be_date,
    Entity.NATIONAL_ID: _cannot_be_date_or_year,
}


def _phones(
    run: DigitRun, cue: NumberCue | None, text: str, plus: int | None
) -> Iterator[EntitySpan]:
    """Yield numbers by their form, unless the nearest cue tells another type."""
    if len(run.digits) < _MIN_PHONE_DIGITS or run.glued:
        return
    if plus is not None:
        end = _international_end(run)
        if end is not None:
            yield EntitySpan(plus, end, Entity.PHONE)
        return
    if cue is not None and cue is not NumberCue.PHONE:
        return
    for tokens in _token_groups(run):
        digits = "".join([token.digits for token in tokens])
        if not _MIN_PHONE_DIGITS <= len(digits) <= _MAX_SHAPED_DIGITS:
            continue
        groups = ",".join([str(len(token.digits)) for token in tokens])
        if any(shape.fullmatch(groups) and start.match(digits) for shape, start in _PHONE_SHAPES):
            yield EntitySpan(_with_bracket(text, tokens[0].start), tokens[-1].end, Entity.PHONE)


def _plus_position(run: DigitRun, text: str) -> int | None:
    """Return the position of the plus before a run, which makes it an international number."""
    plus = _PLUS.search(text, max(0, run.start - 4), run.start)
    return plus.start() if plus else None


def _international_end(run: DigitRun) -> int | None:
    digits, end = 0, None
    for index, token in enumerate(run.tokens):
        digits += len(token.digits)
        if digits > _MAX_PHONE_DIGITS or (index and not _SEPARATOR.fullmatch(token.gap)):
            break
        if digits >= _MIN_PHONE_DIGITS:
            end = token.end
    return end


def _token_groups(run: DigitRun) -> Iterator[tuple[DigitToken, ...]]:
    """Split a run into tokens that only the separators of a telephone number connect."""
    first = 0
    for index, token in enumerate(run.tokens):
        if index > first and not _is_connected(token):
            yield run.tokens[first:index]
            first = index
    yield run.tokens[first:]


def _is_connected(token: DigitToken) -> bool:
    return token.written and _SEPARATOR.fullmatch(token.gap) is not None


def _with_bracket(text: str, start: int) -> int:
    """Include the opening bracket of an area code."""
    return start - 1 if text[start - 1 : start] == "(" else start


class LuhnSums:
    """Running Luhn sums of a run of digits, which check any part of it at the same cost."""

    def __init__(self, digits: str) -> None:
        plain = digits.encode().translate(_VALUES)
        doubled = plain.translate(_DOUBLED)
        # By whether the digits at even or at odd positions are doubled.
        self._sums = tuple(
            list(accumulate(_alternated(plain, doubled, first), initial=0)) for first in (0, 1)
        )

    def has_check_digit(self, start: int, end: int) -> bool:
        """Return whether the last digit of `[start, end)` is the Luhn check digit of the others."""
        sums = self._sums[end % 2]
        return (sums[end] - sums[start]) % 10 == 0


def _alternated(plain: bytes, doubled: bytes, first: int) -> bytearray:
    values = bytearray(plain)
    values[first::2] = doubled[first::2]
    return values


def _has_verhoeff_digit(digits: str) -> bool:
    """Return whether the last digit is the Verhoeff check digit of the others."""
    check = "0"
    for position, digit in enumerate(reversed(digits)):
        check = _VERHOEFF_PRODUCTS[int(check)][
            int(_VERHOEFF_PERMUTATIONS[position % 8][int(digit)])
        ]
    return check == "0"


def _has_iban_digits(code: str) -> bool:
    """Return whether the check digits of an IBAN are right; `code` is lower-case without spaces."""
    return int((code[4:] + code[:4]).translate(_IBAN_VALUES)) % 97 == 1
