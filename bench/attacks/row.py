"""Row of the table: one attack, beside a control at the same load."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One attack, beside a control at the same load."""

    attack: str
    figure: str
    control: str
    bound: str
    holds: bool
