"""Lines of a labelled conversation as the ledger reads them."""

import re
from collections.abc import Mapping, Sequence

from app.ai.dialogue.turns import content_of
from training.acts.catalogue import Act
from training.acts.classifier import ActClassifier
from training.acts.features import features_of
from training.acts.labelled import Talk
from training.acts.ledger import Spoken

_ASKS_FACT = re.compile(
    r"(?:^|[.!?:]\s{1,3})\W*(?:(?:and|but|so|or|hi|hello|hey)\W+){0,3}(?:is|are|was|were|do|does|did|has|have|will"
    r"|would|should|what|what's|when|where|where's|which|who|how|why)\b",
    re.IGNORECASE,
)
_ADDS_MATTER = re.compile(
    r"\b(?:also|another|second|besides|one more|further|next thing|while i (?:have|am)|by the way|btw|additionally"
    r"|as well|too)\b",
    re.IGNORECASE,
)


def spoken_as_labelled(talk: Talk) -> list[Spoken]:
    """Return the lines with the acts that their reader gave."""
    return _spoken(talk, [dict.fromkeys(acts, 1.0) for acts in talk.acts])


def spoken_as_read(talk: Talk, classifiers: Mapping[bool, ActClassifier]) -> list[Spoken]:
    """Return the lines with the acts that the classifiers of the two sides read."""
    return _spoken(
        talk,
        [
            classifiers[line.by_customer].probabilities(features_of(talk.lines, index))
            for index, line in enumerate(talk.lines)
        ],
    )


def _spoken(talk: Talk, acts: Sequence[Mapping[Act, float]]) -> list[Spoken]:
    return [
        Spoken(
            position=position,
            by_customer=line.by_customer,
            acts=acts[position],
            content=content_of(line.text),
            asks_fact=_ASKS_FACT.search(line.text) is not None,
            adds_matter=_ADDS_MATTER.search(line.text) is not None,
        )
        for position, line in enumerate(talk.lines)
    ]
