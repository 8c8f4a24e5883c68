"""Names of agents, bots and their company, which are not masked."""

import re
from collections.abc import Iterable, Iterator

from app.ai.redaction.conversation_text import SpeakerTurn
from app.ai.redaction.entities import EntitySpan

_WORD = r"[^\W\d_]{2,20}"
_CAPITAL = r"[A-Z\u00c0-\u00de][^\W\d_]{1,20}"
# Two capitalised words, or any single word.
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


def service_name_words(turns: Iterable[SpeakerTurn]) -> frozenset[str]:
    """Return the words of the names with which agents and bots introduce themselves, in lower case."""
    return frozenset(
        word.lower() for turn in turns if turn.is_service for word in _introduced_words(turn)
    )


def is_service_name(text: str, span: EntitySpan, service_words: frozenset[str]) -> bool:
    """Tell whether a name consists only of such words."""
    words = _PART.findall(text[span.start : span.end].lower())
    return bool(words) and service_words.issuperset(words)


def _introduced_words(turn: SpeakerTurn) -> Iterator[str]:
    yield from _PART.findall(turn.name or "")
    for pattern in (_OWN, _COMPANY):
        for match in pattern.finditer(turn.text):
            yield from _PART.findall(match[1] or match[2])
