"""Lines of a labelled conversation as the ledger reads them."""

from collections.abc import Mapping, Sequence

from app.judge.acts.catalogue import Act
from app.judge.ledger.spoken import Spoken, spoken_line
from training.acts.labelled import Talk


def spoken_as_labelled(talk: Talk) -> list[Spoken]:
    """Return the lines with the acts that their reader gave."""
    return spoken_with(talk, [dict.fromkeys(acts, 1.0) for acts in talk.acts])


def spoken_with(talk: Talk, acts: Sequence[Mapping[Act, float]]) -> list[Spoken]:
    """Return the lines with acts that were read."""
    return [
        spoken_line(position, line.text, by_customer=line.by_customer, acts=acts[position])
        for position, line in enumerate(talk.lines)
    ]
