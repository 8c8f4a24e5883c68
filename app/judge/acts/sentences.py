"""Sentences of a line and their features, as the classifiers read them.

Speech recognition writes no full stops, so that long sentences are read in overlapping windows. Names
and numbers count as one word each. The features of a sentence are its words, the pieces of four and
five letters of its longer words, its pairs and triples of words and its punctuation.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

_SENTENCE = re.compile(r"\S(?:[^.!?\n]++|[.!?](?!\s|$))*(?:[.!?]+(?=\s|$))?")
# A mask of personal data, a word, or what ends a sentence.
_TOKEN = re.compile(r"\[[A-Z_]{2,20}\]|[A-Za-z0-9']+|[.!?\n]")
_WRITTEN = re.compile(r"\S+")
_ENDS = frozenset(".!?\n")
_NAME, _NUMBER = "@", "0"
_NAME_MASKS = frozenset({"[NAME]", "[ADDRESS]", "[EMAIL]"})
_MOST_WORDS = 20
_WINDOW, _STEP = 16, 8
# Far more words than the training texts have would add up to certainty.
_MOST_WORDS_AT_ONCE = 40
_LEAST_SHOUTED, _LEAST_LETTERS = 2, 3
_START, _END = "<", ">"
MARK = "#"
_LEAST_DIVIDED = 5
_PIECES = (4, 5)
_SHORT_SENTENCE = 3


class Sentence(NamedTuple):
    """A sentence, or a window of a long one, at `text[start:end]` of its line.

    `words` are in lower case, with 0 for a number and @ for a name that is known by its capital.
    `questions` and `exclamations` count marks; `shouted` says that most of its longer words are in
    capitals.
    """

    start: int
    end: int
    words: tuple[str, ...]
    questions: int
    exclamations: int
    shouted: bool


# A word or a piece of one by itself; a pair or triple of words, or a mark, as a tuple.
Feature: TypeAlias = str | tuple[str, ...]


def features_of(sentence: Sentence) -> Iterator[str]:
    """Yield the features of a sentence as texts; a piece of two words comes twice."""
    for word in dict.fromkeys(sentence.words):
        yield from word_features(word)
    yield from map(" ".join, sentence_features(sentence))


def word_features(word: str) -> Iterator[str]:
    """Yield a word and the pieces of its letters."""
    yield word
    if len(word) >= _LEAST_DIVIDED:
        framed = f"{_START}{word}{_END}"
        pieces = (
            f"~{framed[start : start + length]}"
            for length in _PIECES
            for start in range(len(framed) - length + 1)
        )
        yield from dict.fromkeys(pieces)


def sentence_features(sentence: Sentence) -> set[tuple[str, ...]]:
    framed = (_START, *sentence.words, _END)
    triples = zip(framed, framed[1:], framed[2:], strict=False)
    features: set[tuple[str, ...]] = {*pairwise(framed), *triples}
    if sentence.questions:
        features.add(("#?",))
    if sentence.exclamations:
        features.add(("#!",))
        if sentence.exclamations > 1:
            features.add(("#!!",))
    if sentence.shouted:
        features.add(("#caps",))
    if len(sentence.words) <= _SHORT_SENTENCE:
        features.add(("#short",))
    return features


def sentences_of(text: str) -> list[Sentence]:
    """List the sentences of a text and at the end the whole text, where it is several and short."""
    sentences: list[Sentence] = []
    tokens: list[str] = []
    for match in _SENTENCE.finditer(text):
        start, end = match.span()
        of_sentence = _tokens(match.group())
        tokens += of_sentence
        words = match.group().split()
        if len(words) <= _MOST_WORDS:
            sentences.append(_sentence(start, end, of_sentence))
        else:
            sentences += _windows(text, start, end)
    if len(sentences) > 1:
        whole = _sentence(0, len(text), tokens)
        if len(whole.words) <= _MOST_WORDS_AT_ONCE:
            sentences.append(whole)
    return sentences


def _windows(text: str, start: int, end: int) -> Iterator[Sentence]:
    words = [match.span() for match in _WRITTEN.finditer(text, start, end)]
    for first in range(0, len(words) - _STEP, _STEP):
        last = min(first + _WINDOW, len(words)) - 1
        begins, ends = words[first][0], words[last][1]
        yield _sentence(begins, ends, _tokens(text[begins:ends]))


def _tokens(text: str) -> list[str]:
    tokens: list[str] = _TOKEN.findall(text.replace("\u2019", "'"))
    return tokens


def _sentence(start: int, end: int, tokens: Sequence[str]) -> Sentence:
    return Sentence(
        start=start,
        end=end,
        words=tuple(_words(tokens)),
        questions=tokens.count("?"),
        exclamations=tokens.count("!"),
        shouted=_is_shouted(tokens),
    )


def _words(tokens: Sequence[str]) -> list[str]:
    words = []
    begins = True
    for token in tokens:
        if token.islower():
            words.append(token)
        elif token in _ENDS:
            begins = True
            continue
        elif token[0].isdigit():
            words.append(_NUMBER)
        elif token[0] == "[":
            words.append(_NAME if token in _NAME_MASKS else _NUMBER)
        else:
            words.append(token.lower() if begins or not _is_name(token) else _NAME)
        begins = False
    return words


def _is_name(token: str) -> bool:
    # I, I'm and shouting are none.
    return len(token) > 1 and token[0].isupper() and token[1].islower()


def _is_shouted(tokens: Sequence[str]) -> bool:
    longer = [token for token in tokens if len(token) >= _LEAST_LETTERS]
    shouted = sum(map(str.isupper, longer))
    return shouted >= _LEAST_SHOUTED and 2 * shouted >= len(longer)
