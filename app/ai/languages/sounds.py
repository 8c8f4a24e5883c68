"""Romanised Hindi by its sound: one spelling for the many that people type.

Hindi in Latin letters has no orthography: "nahi", "nahee" and "nhi" are one word, and so are
"dijiye" and "dijie", or "dhanyavaad" and "dhanywad".
"""

import re
from dataclasses import dataclass

_CONSONANT = "[b-df-hj-np-tv-z]"
# The name of a group is the letter that its matches are spelled with.
_SOUNDS = re.compile(
    # A glide is written or not: gayi, gai, gyi; dijiye, dijie.
    r"(?P<none>(?<=[eiou])y+(?=[ei])"
    # So is a short a between consonants: karna, krna.
    rf"|(?<={_CONSONANT})a+(?={_CONSONANT})(?!y+[ei]))"
    rf"|(?P<a>(?<={_CONSONANT})y+(?=[ei])|a+y+(?=[ei])|aa+)"
    r"|(?P<i>ee+)|(?P<u>oo+)|(?P<v>w[vw]*)|(?P<j>z[jz]*)|(?P<f>ph+)|(?P<c>c[ch]+)"
    r"|(?P<letter>[a-z])(?P=letter)+"
)
_IN_PATTERN = re.compile(r"\\.|\[[^\[\]]*\]|([a-z]+)")


@dataclass(frozen=True, slots=True)
class Sounds:
    """A text by its sound; `starts[n]` is where its n-th character was written, or its end."""

    text: str
    starts: tuple[int, ...]


def sounds_of(plain: str) -> Sounds:
    """Spell a lower-case text by its sound."""
    signs: list[str] = []
    starts: list[int] = []
    end = 0
    for match in _SOUNDS.finditer(plain):
        start = match.start()
        letter = _letter(match)
        signs += plain[end:start], letter
        starts += range(end, start + len(letter))
        end = match.end()
    signs.append(plain[end:])
    return Sounds("".join(signs), (*starts, *range(end, len(plain) + 1)))


def by_sound(pattern: str) -> str:
    """Spell the words of a pattern by their sound; escapes and classes of letters stay."""
    return _IN_PATTERN.sub(
        lambda match: _SOUNDS.sub(_letter, match[1]) if match[1] else match[0], pattern
    )


def _letter(match: re.Match[str]) -> str:
    if match.lastgroup == "letter":
        return match["letter"]
    return "" if match.lastgroup == "none" else str(match.lastgroup)
