"""Sentences within a text, and stretches of it short enough to be quoted."""

import re
from functools import lru_cache

MOST_WORDS = 30
_LEAST_WORDS = 5
_BEFORE = 10
# Most lines of a conversation are quoted for several criteria.
_TEXTS_REMEMBERED = 512
# A dot within a number or an address ends nothing.
_SENTENCE = re.compile(
    r"(?:[^.!?\u0964\u3002\uff01\uff1f\n]++|\.(?=\w))+[.!?\u0964\u3002\uff01\uff1f]*"
)
# Scripts without spaces have no words to count; 24 signs count as one.
_WORD = re.compile(r"\S{1,24}")


@lru_cache(maxsize=_TEXTS_REMEMBERED)
def sentence_spans(text: str) -> tuple[tuple[int, int], ...]:
    """List where the sentences of a text begin and end, without the white space around them."""
    spans = []
    for match in _SENTENCE.finditer(text):
        sentence = match[0].lstrip()
        if sentence:
            start = match.end() - len(sentence)
            spans.append((start, start + len(sentence.rstrip())))
    return tuple(spans)


@lru_cache(maxsize=_TEXTS_REMEMBERED)
def quotable_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Widen a stretch to its whole sentence, and a very short one to the sentences next to it.

    More than 30 words are cut to 30 around the stretch.
    """
    sentences = sentence_spans(text)
    covered = [index for index, span in enumerate(sentences) if span[0] < end and start < span[1]]
    if not covered:
        return _within_words(text, (start, end), start)
    first, last = covered[0], covered[-1]
    while _words(text, sentences[first][0], sentences[last][1]) < _LEAST_WORDS:
        if last + 1 < len(sentences):
            last += 1
        elif first > 0:
            first -= 1
        else:
            break
    return _within_words(text, (sentences[first][0], sentences[last][1]), start)


@lru_cache(maxsize=_TEXTS_REMEMBERED)
def opening_span(text: str) -> tuple[int, int]:
    """Return the first sentences of a text, as many as stay within 30 words, or its first 30 words."""
    sentences = sentence_spans(text) or ((0, len(text)),)
    start, end = sentences[0]
    for _, sentence_end in sentences[1:]:
        if _words(text, start, sentence_end) > MOST_WORDS:
            break
        end = sentence_end
    return _within_words(text, (start, end), start)


def _words(text: str, start: int, end: int) -> int:
    return len(_WORD.findall(text, start, end))


def _within_words(text: str, span: tuple[int, int], position: int) -> tuple[int, int]:
    if _words(text, *span) <= MOST_WORDS:
        return span
    words = [match.span() for match in _WORD.finditer(text, *span)]
    at = next((index for index, (_, end) in enumerate(words) if end > position), 0)
    first = max(0, min(at - _BEFORE, len(words) - MOST_WORDS))
    return words[first][0], words[first + MOST_WORDS - 1][1]
