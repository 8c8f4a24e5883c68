"""Row of the table of attacks."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One attack, next to a control at the same load."""

    attack: str
    figure: str
    control: str
    bound: str
    holds: bool
