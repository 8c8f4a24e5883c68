"""Words of German, Spanish, French and Portuguese: numbers, and what announces a name."""

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from unicodedata import combining, normalize

# Units from 0, numbers from 10, tens from 20, and the word between tens and units.
_NUMBERS = {
    "de": (
        "null eins zwei drei vier fünf sechs sieben acht neun",
        "zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn",
        "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
        "",
    ),
    "es": (
        "cero uno dos tres cuatro cinco seis siete ocho nueve",
        "diez once doce trece catorce quince dieciséis diecisiete dieciocho diecinueve",
        "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
        " y ",
    ),
    "fr": (
        "zéro un deux trois quatre cinq six sept huit neuf",
        "dix onze douze treize quatorze quinze seize dix-sept dix-huit dix-neuf",
        "vingt trente quarante cinquante soixante",
        "-",
    ),
    "pt": (
        "zero um dois três quatro cinco seis sete oito nove",
        "dez onze doze treze catorze quinze dezesseis dezessete dezoito dezenove",
        "vinte trinta quarenta cinquenta sessenta setenta oitenta noventa",
        " e ",
    ),
}
_ALSO = {
    "de": {"zwo": "2"},
    "fr": {"soixante et onze": "71"},
    "pt": {"meia": "6", "dezasseis": "16", "dezassete": "17", "dezanove": "19"},
}
_SPANISH_TWENTIES = "veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete veintiocho veintinueve"
_WORD = re.compile(r"[^\W\d_]+")
# Words of English, too; a text needs two others to be read in one of these languages.
_ENGLISH = frozenset(["six", "once", "seize", "elf", "dos", "un", "sept", "um", "null", "zero"])
_LEAST_WORDS = 2


def _numbers(language: str) -> Mapping[str, str]:
    units, teens, tens, between = (
        words if index == 3 else words.split() for index, words in enumerate(_NUMBERS[language])
    )
    numbers = {word: str(number) for number, word in enumerate(chain(units, teens))}
    for first, ten in enumerate(tens, 2):
        numbers[ten] = f"{first}0"
        for unit, word in enumerate(units[1:], 1):
            joined = f"{word.removesuffix('s') if unit == 1 else word}und{ten}"
            numbers[f"{ten}{between}{word}" if between else joined] = f"{first}{unit}"
        if language == "fr":
            numbers[f"{ten} et un"] = f"{first}1"
    if language == "es":
        numbers |= {word: str(n) for n, word in enumerate(_SPANISH_TWENTIES.split(), 21)}
    if language == "fr":
        for number, word in enumerate(chain(teens, ["vingt"]), 10):
            numbers |= {
                f"soixante-{word}": str(60 + number),
                f"quatre-vingt-{word}": str(80 + number),
            }
        numbers |= {f"quatre-vingt-{word}": f"8{unit}" for unit, word in enumerate(units[1:], 1)}
        numbers |= {"quatre-vingts": "80", "quatre-vingt": "80"}
        del numbers["soixante-vingt"], numbers["quatre-vingt-vingt"]
    numbers |= _ALSO.get(language, {})
    # Accents are left out as often as they are typed.
    return {typed: digits for word, digits in numbers.items() for typed in _spellings(word)}


def _spellings(word: str) -> tuple[str, ...]:
    without_sharp = word.replace("ß", "ss")
    bare = "".join(letter for letter in normalize("NFD", without_sharp) if not combining(letter))
    return word, without_sharp, without_sharp.replace("ü", "ue").replace("ö", "oe"), bare


NUMBERS = {language: _numbers(language) for language in _NUMBERS}
_SINGLE = {
    language: frozenset(word for word in numbers if _WORD.fullmatch(word))
    for language, numbers in NUMBERS.items()
}
NUMBER_WORDS = frozenset(chain.from_iterable(_SINGLE.values()))


def language_of_numbers(text: str) -> str | None:
    """Return the language in which a text in lower case speaks numbers, if it is one of these."""
    words = NUMBER_WORDS.intersection(_WORD.findall(text)) - _ENGLISH
    if len(words) < _LEAST_WORDS:
        return None
    return max(_SINGLE, key=lambda language: len(_SINGLE[language] & words))


def as_pattern(language: str) -> str:
    """Return a pattern for the number words of a language, the longest first."""
    words = sorted(NUMBERS[language], key=len, reverse=True)
    return "|".join(re.sub("[ -]", "[ -]", word) for word in words)


def digits_of(language: str, words: str) -> str:
    """Return the digits of number words, however their parts are joined."""
    numbers = NUMBERS[language]
    return (
        numbers.get(words)
        or numbers.get(words.replace(" ", "-"))
        or numbers[words.replace("-", " ")]
    )


def _names() -> Iterator[str]:
    yield r"mein name (?:ist|lautet)|ich hei(?:ß|ss)e|auf den namen|der name ist"
    yield r"mi nombre es|me llamo|se llama|a nombre de|el nombre es"
    yield r"je m['\u2019]appelle|mon nom est|au nom de|c['\u2019]est au nom de"
    yield r"(?:o )?meu nome é|me chamo|chamo[- ]me|em nome de"
    yield r"herrn?|frau|señora?|sra?\.|doña|monsieur|madame|mme|senhora?|dona"


# A capitalised name follows; like the others below, it reads texts in lower case.
NAMED = re.compile(rf"\b(?:{'|'.join(_names())})\s")
NAMED_BY = frozenset(
    (
        *("mein", "der", "heiße", "heisse", "namen", "herr", "herrn", "frau"),
        *("nombre", "llamo", "llama", "señor", "señora", "sr", "sra", "doña"),
        *("appelle", "m'appelle", "nom", "monsieur", "madame", "mme"),
        *("nome", "chamo", "senhor", "senhora", "dona"),
    )
)
# So agents introduce themselves.
OWN = re.compile(
    r"\b(?:mein name ist|ich hei(?:ß|ss)e|ich bin|sie sprechen mit|du sprichst mit|hier ist|hier spricht"
    r"|mi nombre es|me llamo|soy|(?:le|te) (?:atiende|saluda|habla)|habla|je m['\u2019]appelle|je suis"
    r"|mon nom est|en ligne avec|(?:o )?meu nome é|me chamo|aqui é|sou|fala|quem fala é)"
    r"\s"
)
OWN_CUES = (
    *("mein name", "ich ", "sprechen", "sprichst", "hier ", "nombre", "llamo", "soy", "atiende"),
    *("saluda", "habla", "appelle", "je suis", "mon nom", "en ligne", "meu nome", "chamo", "aqui"),
    *("sou", "fala"),
)
ASKED = (
    r"\bwie (?:ist|lautet|war|hei(?:ß|ss)en)\b.{0,20}(?:name|sie)\b|\bihren? (?:\w+ )?namen?\b"
    r"|\bmit wem (?:spreche|habe)\b|\b(?:su|tu) nombre\b|\bnombre completo\b|\ba nombre de quién"
    r"|\bcon quién (?:hablo|tengo)\b|\bvotre nom\b|\bquel nom\b|\bà qui ai[- ]je\b"
    r"|\b(?:seu|teu) nome\b|\bnome completo\b|\bcom quem (?:falo|estou)\b"
)
# Each of these questions has one of these in it.
ASKING = ("nom", "sie", "wem", "qui", "quem")
ASKED_BY = frozenset(
    ["name", "namen", "nombre", "nom", "nome", "wem", "quién", "quem", "qui", "heißen", "heissen"]
)
ANSWERED = (
    r"ja|gerne|sí|si|claro|oui|bien sûr|sim|ich hei(?:ß|ss)e|mein name ist|me llamo|mi nombre es|soy"
    r"|es|je m['\u2019]appelle|c['\u2019]est|meu nome é|me chamo|sou|é|das ist|ich bin"
)
