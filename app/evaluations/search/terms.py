"""Terms of the search: the words of a text as they are indexed, and of what is searched for."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from unicodedata import normalize

from app.judge.languages.words import UNSPACED, WORD

# Ends a turn, so that no phrase spans two; no word contains it.
END_OF_TURN = "_"
# PostgreSQL stores 16,383 positions, and a megabyte for each text.
MOST_WORDS, _MOST_BYTES, _LONGEST_WORD = 16_000, 700_000, 60
# A shorter word is searched as it is written: too many words begin like it.
_SHORTEST_BEGINNING = 3
_ASKED = re.compile(r'"([^"]*)"?|([^\s"]+)')
# Accents, and the joiners of letters.
_UNWRITTEN = re.compile("[\u0300-\u036f\u200c\u200d]")


@dataclass(frozen=True, slots=True)
class Token:
    """A word as it is indexed, and its place in the text."""

    word: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Term:
    """Words that follow each other; `is_beginning`: the only one may go on, as `refund` in `refunded`."""

    words: tuple[str, ...]
    is_beginning: bool

    def places(self, tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
        length = len(self.words)
        for first in range(len(tokens) - length + 1):
            some = tokens[first : first + length]
            if self._fits([token.word for token in some]):
                yield some[0].start, some[-1].end

    def _fits(self, words: Sequence[str]) -> bool:
        if self.is_beginning:
            return words[0].startswith(self.words[0])
        return tuple(words) == self.words


def tokens_of(text: str) -> list[Token]:
    """List the words of a text, whatever its script; without spaces, each letter is one."""
    return [
        Token(folded, start, end)
        for match in WORD.finditer(text)
        for start, end in _pieces(match)
        if (folded := _folded(text[start:end]))
    ]


def terms_of(asked: str) -> list[Term]:
    """Parse what is searched for: words, which may go on, and phrases in quotes."""
    terms = []
    for phrase, word in _ASKED.findall(asked):
        words = tuple(token.word for token in tokens_of(phrase or word))
        if words:
            may_go_on = bool(word) and len(words) == 1 and len(words[0]) >= _SHORTEST_BEGINNING
            terms.append(Term(words, may_go_on))
    return list(dict.fromkeys(terms))


def indexed_words(turns: Sequence[str]) -> list[str]:
    """List the words of turns for the index, with the ends of turns; a very long text is cut."""
    words: list[str] = []
    size_bytes = 0
    for turn in turns:
        for word in (*(token.word for token in tokens_of(turn)), END_OF_TURN):
            size_bytes += len(word.encode()) + 1
            if len(words) == MOST_WORDS or size_bytes > _MOST_BYTES:
                return words
            words.append(word)
    return words


def _pieces(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    word, start = match[0], match.start()
    if word.isascii() or not UNSPACED.search(word):
        yield match.span()
        return
    begin = 0
    for place, letter in enumerate(word):
        if UNSPACED.match(letter):
            if begin < place:
                yield start + begin, start + place
            yield start + place, start + place + 1
            begin = place + 1
    if begin < len(word):
        yield start + begin, start + len(word)


def _folded(word: str) -> str:
    """Return a word without case and accents."""
    if word.isascii():
        return word.lower()[:_LONGEST_WORD]
    plain = _UNWRITTEN.sub("", normalize("NFKD", word.casefold()))
    letters = "".join(WORD.findall(normalize("NFC", plain)))
    return letters[:_LONGEST_WORD]
