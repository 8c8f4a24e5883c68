"""Passwords that somebody gives away."""

import re
from collections.abc import Iterator

from app.ai.redaction.entities import Entity, Found

TRIGGERS = frozenset({"password", "passcode", "passphrase"})
# Something that nobody says as a word: it has a digit or a sign in it, and no space.
_GIVEN = re.compile(
    r"\b(?:password|passcode|passphrase)(?:\s(?:is|was|it's)|\s?[:=])\s*[\"'\u201c]?"
    r"(?=\S*[\d!#$%&*@^_+~])([^\s\"'\u201d,;]{4,64}?)(?=[.?]?(?:[\s\"'\u201d,;]|$))",
    re.IGNORECASE,
)


def find(text: str) -> Iterator[Found]:
    """Find passwords that are told in writing."""
    for match in _GIVEN.finditer(text):
        if not match[1].startswith("["):
            yield Found(match.start(1), match.end(1), Entity.PASSCODE)
