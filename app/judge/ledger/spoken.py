"""Lines of a dialogue as the ledger reads them: their acts, their subject and what they ask for."""

import re
from collections.abc import Mapping

from app.judge.acts.catalogue import Act
from app.judge.acts.reading import Acts
from app.judge.dialogue.turns import Side, content_of
from app.judge.ledger.entries import Spoken

_ASKS_FACT = re.compile(
    r"(?:^|[.!?:]\s{1,3})\W*(?:(?:and|but|so|or|hi|hello|hey)\W+){0,3}(?:is|are|was|were|do|does|did|has|have"
    r"|(?:will|would)(?! you (?:please|kindly|mind|be able))|should|(?:can|could) you (?:please )?tell me|what|what's|when|where|where's|which|who|how|why)\b",
    re.IGNORECASE,
)
_ADDS_MATTER = re.compile(
    r"\b(?:also|another|second|besides|one more|further|next thing|while i (?:have|am)|by the way|btw|additionally"
    r"|as well|too)\b",
    re.IGNORECASE,
)


def spoken_lines(acts: Acts) -> list[Spoken]:
    """Return the lines whose acts were read."""
    return [
        spoken_line(
            line.line.position,
            line.line.text,
            by_customer=line.line.side is Side.CUSTOMER,
            acts={act: mark.probability for act, mark in line.marks.items()},
        )
        for line in acts.lines
    ]


def spoken_line(
    position: int, text: str, *, by_customer: bool, acts: Mapping[Act, float]
) -> Spoken:
    """Read the subject of a line, and what it asks for."""
    return Spoken(
        position=position,
        by_customer=by_customer,
        acts=acts,
        content=content_of(text),
        asks_fact=_ASKS_FACT.search(text) is not None,
        adds_matter=_ADDS_MATTER.search(text) is not None,
    )
