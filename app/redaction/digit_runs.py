"""Runs of digits, written or spoken, and the words that tell their type.

A run is `4111-1111`, "four one one" or "double five"; a cue is a word such as "card" or "order".
The patterns are in lower case and read texts that `lower_case` has put into lower case: comparing without
regard to case takes two to three times as long.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple, Self

from app.redaction import other_languages

_TIMES = {"double": 2, "triple": 3, "treble": 3, "quadruple": 4}
# Between two tokens of a run: a few signs, or what people say while they read a number out.
_FILLERS = (
    r"(?:and|then|uh|um|er|erm|okay|ok|yeah|so|space|dash|hyphen|comma|pause|hundred(?= and))"
)
_GAP = re.compile(rf"[\W_]{{0,4}}(?:{_FILLERS}[\W_]{{1,4}}){{0,2}}|[\W_]{{0,8}}")
_USUAL_GAPS = frozenset({"", " ", "-", ".", ",", ", ", "\n"})
_BREAK = re.compile(r"\n|[.!?;]\s|,\s")
# Separates turns whose numbers do not continue each other.
CUT = "\f"
# A run with more tokens is not a number; it is cut, so that its length is bounded.
_MAX_TOKENS = 1000
# The most characters between two numbers of one answer: some misheard words.
_NEAR = 25


def _numbered(words: str, *, first: int) -> dict[str, str]:
    return {word: str(number) for number, word in enumerate(words.split(), first)}


_UNITS = {
    **dict.fromkeys(("zero", "oh", "o", "nought", "naught"), "0"),
    **_numbered("one two three four five six seven eight nine", first=1),
}

_TEENS = _numbered(
    "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen", first=10
)

_TENS = {
    **_numbered("twenty thirty forty fifty sixty seventy eighty ninety", first=2),
    "fourty": "4",
}

# A text without digits and without these words has no run.
NUMBER_WORDS = frozenset({*_UNITS, *_TEENS, *_TENS, *_TIMES} - {"o"}) | other_languages.NUMBER_WORDS

_UNIT = "|".join(_UNITS)

_TOKEN = re.compile(
    rf"(?P<written>\d+)"
    rf"|(?<![\w'])(?:(?P<times>{'|'.join(_TIMES)})[ -](?P<repeated>{_UNIT}|\d)"
    rf"|(?P<tens>{'|'.join(_TENS)})(?:[ -](?P<unit>{'|'.join(list(_UNITS)[5:])}))?"
    rf"|(?P<teen>{'|'.join(_TEENS)})|(?P<single>{_UNIT}))(?![\w'])"
)
_TOKENS = {
    language: re.compile(
        rf"(?P<written>\d+)|(?<![\w'])(?P<other>{other_languages.as_pattern(language)})(?![\w'])"
    )
    for language in other_languages.NUMBERS
}
# The letters beyond ASCII that patterns without regard to case take for letters of ASCII.
_LIKE_ASCII = str.maketrans("\u0130\u0131\u017f", "iis")


class DigitToken(NamedTuple):
    """Some digits, their place, and the text between them and the token before."""

    digits: str
    start: int
    end: int
    gap: str
    written: bool


@dataclass(frozen=True, slots=True)
class DigitRun:
    """Adjacent tokens; `glued` if a letter touches them, as in `TR4512`."""

    tokens: tuple[DigitToken, ...]
    glued: bool
    digits: str

    @classmethod
    def of(cls, tokens: Sequence[DigitToken], *, glued: bool) -> Self:
        return cls(tuple(tokens), glued, "".join([token.digits for token in tokens]))

    @property
    def start(self) -> int:
        return self.tokens[0].start

    @property
    def end(self) -> int:
        return self.tokens[-1].end

    @property
    def groups(self) -> tuple[int, ...]:
        return tuple(len(token.digits) for token in self.tokens)

    def pieces(self) -> Iterator["DigitRun"]:
        """Split the run at the ends of sentences and lines, and at commas."""
        first = 0
        for index, token in enumerate(self.tokens):
            if index > first and token.gap != " " and _BREAK.search(token.gap):
                yield DigitRun.of(self.tokens[first:index], glued=self.glued)
                first = index
        yield DigitRun.of(self.tokens[first:], glued=self.glued) if first else self

    def pieces_of_length(self, low: int, high: int) -> Iterator["DigitRun"]:
        """Yield the pieces of `low` to `high` digits; without any, the whole run if it fits."""
        pieces = [piece for piece in self.pieces() if low <= len(piece.digits) <= high]
        if not pieces and low <= len(self.digits) <= high:
            pieces = [self]
        yield from pieces


def lower_case(text: str) -> str:
    """Return a text in lower case, of the same length."""
    return (text if text.isascii() else text.translate(_LIKE_ASCII)).lower()


def digit_runs(text: str, end: int | None = None) -> Iterator[DigitRun]:
    """Yield the runs of a text in lower case up to `end`; a lone word such as "one" is no run."""
    language, pattern = _language_and_pattern(text)
    for matches in _adjacent(text, pattern.finditer(text, 0, len(text) if end is None else end)):
        if len(matches) > 1 or matches[0]["written"]:
            yield from _run_of(text, list(_tokens(text, language, matches)))


def _adjacent(text: str, matches: Iterator[re.Match[str]]) -> Iterator[list[re.Match[str]]]:
    """Yield the matches between which there are only gaps, together."""
    adjacent: list[re.Match[str]] = []
    last_end = 0
    for match in matches:
        start, end = match.span()
        if adjacent:
            gap = text[last_end:start]
            is_gap = gap in _USUAL_GAPS or _GAP.fullmatch(gap)
            if not is_gap or len(adjacent) == _MAX_TOKENS:
                yield adjacent
                adjacent = []
        adjacent.append(match)
        last_end = end
    if adjacent:
        yield adjacent


def _tokens(
    text: str, language: str | None, matches: Sequence[re.Match[str]]
) -> Iterator[DigitToken]:
    last_end = matches[0].start()
    for match in matches:
        start, end = match.span()
        written = match["written"]
        if written:
            digits = _written_digits(written)
        elif language:
            digits = other_languages.digits_of(language, match[0])
        else:
            digits = _spoken_digits(match[0])
        yield DigitToken(digits, start, end, text[last_end:start], bool(written))
        last_end = end


def with_near_numbers(text: str, start: int, end: int, stop: int) -> tuple[int, int]:
    """Widen a span of a text in lower case by the lone numbers near to it, before `stop`."""
    _, pattern = _language_and_pattern(text)
    places = [match.span() for match in pattern.finditer(text, 0, stop)]
    for first, last in reversed(places):
        if last <= start <= last + _NEAR:
            start = first
    for first, last in places:
        if end <= first <= end + _NEAR:
            end = last
    return start, end


def _language_and_pattern(text: str) -> tuple[str | None, re.Pattern[str]]:
    language = other_languages.language_of_numbers(text)
    return language, _TOKENS[language] if language else _TOKEN


def _written_digits(token: str) -> str:
    return token if token.isascii() else "".join(str(int(character)) for character in token)


@cache
def _spoken_digits(token: str) -> str:
    """Return the digits of a spoken token; there are some hundred such tokens."""
    match = _TOKEN.fullmatch(token)
    words = {name: word or "" for name, word in match.groupdict().items()} if match else {}
    if words["times"]:
        return _UNITS.get(words["repeated"], words["repeated"]) * _TIMES[words["times"]]
    if words["tens"]:
        return _TENS[words["tens"]] + _UNITS.get(words["unit"], "0")
    return _TEENS.get(words["teen"]) or _UNITS[words["single"]]


def _run_of(text: str, tokens: list[DigitToken]) -> list[DigitRun]:
    # "o" and "oh" are zeros only among other digits.
    while tokens and len(tokens) < 3 and text[tokens[0].start : tokens[0].end] in ("o", "oh"):
        tokens = tokens[1:]
    if not tokens or (len(tokens) == 1 and not tokens[0].written):
        return []
    start, end = tokens[0].start, tokens[-1].end
    before, after = text[start - 1 : start], text[end : end + 1]
    return [DigitRun.of(tokens, glued=before.isalpha() or after.isalpha())]


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
        r"cvv2?|cvc2?|csc|card (?:verification|security)(?: code| value| number)?|security codes?"
        r"|(?:(?:three|four|3|4)[ -]digits? )?(?:codes?|numbers?|digits) (?:on|at) the (?:back|front)"
        r"|(?:three|3)[ -]digits?(?: security)? (?:code|number)|kartenprüfnummer|prüf(?:ziffer|nummer)"
        r"|sicherheitscodes?|(?:drei|3) (?:ziffern|zahlen)|código de segur\w+|(?:tres|3) (?:dígitos|números)"
        r"|cryptogramme|code de sécurité|(?:trois|3) chiffres|(?:três|3) dígitos"
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
        r"|(?:bestell|auftrags|kunden|rechnungs|vertrags|sendungs|buchungs|vorgangs)nummer|bestellung"
        r"|postleitzahl|euros?|pedido|reserva|referencia|factura|contrato|seguimiento|importe|valor"
        r"|commande|référence|dossier|facture|contrat|réservation|colis|suivi|montant|código postal"
        r"|encomenda|fatura|protocolo|referência|cep|boleto|letzten vier|últimos cuatro|últimos quatro"
    ),
    NumberCue.NATIONAL_ID: (
        r"social(?: security)?(?: number)?|ssn|national insurance(?: number)?|nino|ni number"
        r"|aadha+r(?: card)?(?: number)?|uidai|pan (?:card|number|no)|passport(?: number| no)?"
        r"|driv(?:er'?s?|ing) licen[cs]e(?: number)?|tax(?:payer)? id(?:entification)?(?: number)?"
        r"|national id(?:entity)?(?: card)?(?: number)?|identity card(?: number)?|(?:personal)?ausweis"
        r"(?:nummer)?|steuer(?:nummer|-id)|sozialversicherungsnummer|reisepass|dni|pasaporte|cédula|nif"
        r"|numéro de sécurité sociale|carte d'identité|passeport|cpf|cartão de cidadão|passaporte"
    ),
    NumberCue.ACCOUNT: (
        r"(?:bank )?account (?:number|no|#)|acct|bank account|bank details|sort code"
        r"|routing(?: number)?|bsb|(?:checking|savings|current) account|kontonummer|bankverbindung"
        r"|(?:número|numero|numéro) d[ea] (?:cuenta|compte|conta)|cuenta bancaria|conta bancária"
    ),
    NumberCue.PASSCODE: (
        r"pin(?: code| number)?|pass ?code|otp|one[ -]time (?:password|pass ?code|code|pin)"
        r"|verification code|security pin|access code|authentication code|password"
        r"|(?:six|four|6|4)[ -]digit (?:code|pin)|code (?:i|we|you|that)(?: have| was| were)?"
        r" (?:just )?(?:sent|texted|received|got)|geheimzahl|passwort|kennwort|(?:die|ihre|meine) tan"
        r"|bestätigungscode|contraseña|clave|código de verifica\w+|mot de passe|senha|palavra-passe"
        r"|code (?:secret|confidentiel|de validation)"
    ),
    NumberCue.BIRTH: (
        r"date of birth|birth ?(?:date|day)|d\.?o\.?b\.?|born|geburtsdatum|geburtstag|geboren"
        r"|fecha de nacimiento|nací|date de naissance|née?|data de nascimento|nasci(?:do|da)?"
    ),
    NumberCue.CARD: (
        r"(?:credit |debit |bank |payment |visa |master ?)?cards?(?: number| no| details)?|visa"
        r"|master ?card|amex|american express|long number|(?:sixteen|16)[ -]digits?(?: number)?"
        r"|(?:kredit|ec-|giro|bank)?karten?(?:nummer|daten)?|tarjeta|carte(?: bancaire| bleue)?|cartão|cartao"
    ),
    NumberCue.PHONE: (
        r"(?:tele)?phone(?: number| no)?|mobile(?: number| no)?|cell(?: ?phone)?(?: number)?"
        r"|contact (?:number|no|me|us|you)|call ?back(?: number)?|(?:call|ring|reach|text|phone)"
        r" (?:me|us|you|him|her|them)(?: back)?|dial|whats ?app|fax|land ?line|hotline|tel"
        r"|(?:my|your|his|her|our|their|best|good|home|work|office) number|number to (?:reach|call)"
        r"|(?:telefon|handy|mobil|ruf|rückruf)nummer|mein(?:em|e)? (?:handy|nummer|telefon)|erreichen"
        r"|teléfono|telefono|móvil|celular|llám\w+|téléphone|(?:mon|votre) portable|joindre"
        r"|telefone|telemóvel|mi número|mon numéro|meu número"
    ),
}


def _ahead(phrases: str, *others: str) -> str:
    """Return a lookahead for what these phrases begin with, so that most words are passed over at once.

    These are two letters after each sign of a pattern that a phrase may follow, some too many. `others`
    are the beginnings that have a sign or a choice within these two letters.
    """
    starts = set(re.findall(r"(?:^|(?<=[|:?)]))\w[\w ]", phrases))
    by_letter = groupby(sorted(starts), key=itemgetter(0))
    pairs = [f"{first}[{''.join(start[1] for start in same)}]" for first, same in by_letter]
    return f"(?={'|'.join([*pairs, *others])})"


_ANY_CUE = re.compile(
    rf"(?<![\w\[]){_ahead('|'.join(_PATTERNS.values()), '[346][ -][cdnz]', 'd[o.]')}(?:"
    + "|".join(f"(?P<{cue.value}>{pattern})" for cue, pattern in _PATTERNS.items())
    + r")(?!\w)"
)
_CUES = {cue.value: cue for cue in NumberCue}

_LINK = re.compile(
    r"[\s,.]*(?:,? ?(?:that )?(?:is|was|'s|are|as|for))\s+(?:(?:my|the|your|our|his|her|a)\s+)?"
)


def cues_of(text: str) -> list[CueMatch]:
    """Return the cues of a text in lower case in their order."""
    return [
        CueMatch(match.start(), match.end(), _CUES[str(match.lastgroup)])
        for match in _ANY_CUE.finditer(text)
    ]


def cue_after(text: str, end: int) -> NumberCue | None:
    """Return the cue right after a number of a text in lower case, as in "4821 is my PIN"."""
    link = _LINK.match(text, end)
    match = _ANY_CUE.match(text, link.end()) if link else None
    return _CUES[str(match.lastgroup)] if match else None
