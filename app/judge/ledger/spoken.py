"""Lines of a dialogue as the ledger reads them: their acts, their subject and what they ask for."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from app.judge.acts.catalogue import Act
from app.judge.acts.reading import SHOWN, Acts
from app.judge.dialogue.turns import Side, content_of

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
# Who mends something later, and what is arranged for them.
_COMES = r"(engineer|technician|mechanic|plumber|electrician|surveyor|inspector|callback)"
_ARRANGED = r"(?:booked|arranged|scheduled|dispatched|organi[sz]ed|requested)"
_BOOKED = re.compile(
    rf"\b{_ARRANGED}\b[^.!?]{{0,40}}?\b{_COMES}\b|\b{_COMES}\b[^.!?]{{0,20}}?\b(?:is|was|been) {_ARRANGED}\b",
    re.IGNORECASE,
)
# Asks for the rest of what was asked for: "and the remote?"
_TURNS_TO = re.compile(
    r"(?:^|[.!?,:]\s)\W*(?:(?:ok|okay|good|great|fine|thanks|thank you|right|perfect|lovely)\W+){0,3}and"
    r"(?: what about| how about| for)? (?:the|my|our)\b([^.?!,]{1,60})",
    re.IGNORECASE,
)
# Somebody else has taken a matter over.
_TAKEN_OVER = re.compile(
    r"\b(?:has|have) (?:taken (?:it|this|over)|picked (?:it |this )?up)\b|\b(?:is taking|takes) (?:it |this )?over\b"
    r"(?! the\b)|\bin (?:her|his|their) hands\b|\b(?:crew|colleague|engineer|technician|team)\b[^.!?]{0,15} has it\b",
    re.IGNORECASE,
)
# What is taken back is denied, or was a mistake: it is rare, so the models need this second sign.
_TAKES_BACK = re.compile(
    r"\b(?:not|cannot|\w{2,6}n\W?t|no longer|after all|turns out|wrong|mistake|mistaken|misread|mixed up|error)\b",
    re.IGNORECASE,
)
# Who has found the customer names the customer.
_FOUND = re.compile(r"\b(?:have|see|got|found) you\b", re.IGNORECASE)
_PASSED_ON = re.compile(
    r"\b(?:passed|forwarded|escalated|referred)\b[^.!?]{0,40}?\bto (?:a|an|my|our|the)\b[^.!?]{0,30}?"
    r"\b(team|department|specialists?|supervisor|manager|colleagues?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Spoken:
    """A line as the ledger reads it: whose it is, its acts with their probabilities, its subject.

    `content` are the words that carry the subject. `asks_fact` says that what it asks for is a fact,
    `adds_matter` that it brings up a further matter ("also", "another thing"). `later` names who is to
    see to it later ("engineer"), and `passed_on` says that they took it over. `turns_to` are the words of
    what the customer comes back to ("and the remote?"). `taken_over` says that somebody else has the matter,
    `names_customer` that a name in the line is the customer's, and `takes_back` that words of it deny or correct.
    """

    position: int
    by_customer: bool
    acts: Mapping[Act, float]
    content: frozenset[str] = frozenset()
    asks_fact: bool = False
    adds_matter: bool = False
    later: str = ""
    passed_on: bool = False
    turns_to: frozenset[str] = frozenset()
    taken_over: bool = False
    names_customer: bool = False
    takes_back: bool = False

    def shows(self, *acts: Act) -> bool:
        """Tell whether the line is taken to perform one of the acts."""
        return self.most(*acts) >= SHOWN

    def most(self, *acts: Act) -> float:
        """Return how likely the line performs the likeliest of the acts."""
        return max((self.acts.get(act, 0.0) for act in acts), default=0.0)


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
    passed_on = _PASSED_ON.search(text)
    turn = _TURNS_TO.search(text)
    booked = passed_on or _BOOKED.search(text)
    return Spoken(
        position=position,
        by_customer=by_customer,
        acts=acts,
        content=content_of(text),
        asks_fact=_ASKS_FACT.search(text) is not None,
        adds_matter=_ADDS_MATTER.search(text) is not None,
        later=booked[booked.lastindex or 0].lower() if booked else "",
        passed_on=passed_on is not None,
        turns_to=content_of(turn[1]) if turn else frozenset(),
        taken_over=_TAKEN_OVER.search(text) is not None,
        names_customer=_FOUND.search(text) is not None,
        takes_back=_TAKES_BACK.search(text) is not None,
    )
