"""Names of the service side, which are kept: those of its people and of its company."""

import re
from collections.abc import Iterable, Iterator

from app.ai.redaction.entities import Found
from app.ai.redaction.talk import Turn

_WORD = r"[^\W\d_]{2,20}"
_CAPITAL = r"[A-Z\u00c0-\u00de][^\W\d_]{1,20}"
# Two words with capitals, or one of any kind.
_NAME = rf"({_CAPITAL}\s{_CAPITAL}|{_WORD})\b"
_OWN = re.compile(
    rf"\b(?i:my name(?: is|'s|\u2019s)|this is|i'm|i\u2019m|i am|you(?:'re|\u2019re| are) (?:now )?"
    rf"(?:speaking|talking|chatting|connected) (?:with|to)|(?<!am i )speaking (?:with|to)"
    rf"|you can call me)\s{_NAME}"
    rf"|\b{_NAME}\s(?i:speaking|here)\b"
)
_COMPANY = re.compile(
    rf"\b(?i:welcome to|for (?:calling|contacting|choosing|chatting with|ringing))\s"
    rf"({_CAPITAL}(?:\s{_CAPITAL}){{0,2}}|{_WORD})"
    rf"|\b(?i:this is|i'm|i am|my name is)\s{_WORD}(?:\s{_WORD})?,?\s(?i:from|at|with)\s"
    rf"({_CAPITAL}(?:\s{_CAPITAL}){{0,2}}|{_WORD})"
)
_PART = re.compile(_WORD)


def kept_words(turns: Iterable[Turn]) -> frozenset[str]:
    """Collect the words of the names by which the service side introduces itself, in lower case."""
    return frozenset(
        word.lower() for turn in turns if turn.is_service for word in _introduced_in(turn)
    )


def is_kept(text: str, found: Found, kept: frozenset[str]) -> bool:
    """Tell whether a found name consists of nothing but the names of the service side."""
    words = _PART.findall(text[found.start : found.end].lower())
    return bool(words) and kept.issuperset(words)


def _introduced_in(turn: Turn) -> Iterator[str]:
    yield from _PART.findall(turn.name or "")
    for pattern in (_OWN, _COMPANY):
        for match in pattern.finditer(turn.text):
            yield from _PART.findall(match[1] or match[2])
