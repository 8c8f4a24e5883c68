"""How hard a conversation is for the customer: obstacles counted by hand-set weights."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from app.ai.cues import Cue, Cues
from app.ai.dialogue import Dialogue, Side

# An obstacle counts once a line. What fails weighs most; what is merely not there, least. By these
# weights the models were fitted; a scorecard version brings its own for what it scores.
WEIGHTS: Mapping[str, float] = {
    "failure": 2.0,
    "apology": 1.0,
    "noResult": 1.0,
    "badNews": 0.3,
    "fallback": 0.5,
    "asksAgain": 0.4,
    "stillBroken": 0.6,
    "complaint": 0.5,
    "escalationRequest": 0.5,
    "concession": 0.6,
    "endsOnFailure": 0.3,
    "endsOpen": 1.5,
}
_SERVICE = {
    "failure": "failure",
    "apology": "apology",
    "no_result": "noResult",
    "bad_news": "badNews",
    "fallback": "fallback",
}
_CUSTOMER = {
    "asks_again": "asksAgain",
    "still_broken": "stillBroken",
    "complaint": "complaint",
    "escalation_request": "escalationRequest",
}
_HALF = 3.0
# A refusal that names its rule or its ground may be right, and only the policy could tell.
_GROUNDS = re.compile(
    r"\b(?:polic(?:y|ies)|since|because|requirements?|restrictions?|regulations?|rules?|eligible"
    r"|eligibility|insurance|terms|unless|for (?:your|security) (?:security|reasons)"
    r"|due to (?!(?:a |some |the )?(?:system|technical|certain)))\b",
    re.IGNORECASE,
)
_FAREWELLS = ("thanks", "closing", "nothing_more", "praise", "solved")
_OBSTACLES = ("failure", "no_result", "bad_news")


@dataclass(frozen=True, slots=True)
class Friction:
    """`amount` is 0 without any obstacle and has no upper end; `obstacles` are in their order."""

    amount: float
    obstacles: tuple[Cue, ...]
    concessions: tuple[Cue, ...]
    ends_open: bool
    ends_on_failure: bool

    @property
    def ease(self) -> float:
        """Return 1 for no friction, a half for that of a failure with its apology, towards 0 for more."""
        return _HALF / (_HALF + self.amount)

    def fulfilment(self, half_at: float) -> float:
        """Return 1 for no friction, a half for this amount of it, towards 0 for more."""
        return half_at / (half_at + self.amount)


def friction_of(dialogue: Dialogue, cues: Cues, weights: Mapping[str, float] = WEIGHTS) -> Friction:
    """Count the obstacles of an attributed dialogue; `weights` has the keys of `WEIGHTS`."""
    grounded = {
        cue.line.position
        for kind in ("failure", "refusal")
        for cue in cues.of(kind, None, Side.SERVICE)
        if _GROUNDS.search(cue.line.text)
    }
    obstacles: dict[tuple[str, int], Cue] = {}
    amount = 0.0
    for names, side in ((_SERVICE, Side.SERVICE), (_CUSTOMER, Side.CUSTOMER)):
        for kind, name in names.items():
            for cue in cues.of(kind, None, side):
                key = (kind, cue.line.position)
                if cue.line.position in grounded:
                    continue
                amount += 0.0 if key in obstacles else weights[name]
                obstacles.setdefault(key, cue)
    met = {cue.line.position for kind in _OBSTACLES for cue in cues.of(kind, None, Side.SERVICE)}
    concessions = _concessions(cues, met)
    ends_open = _ends_open(dialogue, cues)
    ends_on_failure = _ends_on_failure(cues, grounded)
    amount += weights["concession"] * len(concessions)
    amount += weights["endsOpen"] * ends_open + weights["endsOnFailure"] * ends_on_failure
    return Friction(
        amount=round(amount, 4),
        obstacles=tuple(sorted(obstacles.values(), key=lambda cue: (cue.line.position, cue.start))),
        concessions=concessions,
        ends_open=ends_open,
        ends_on_failure=ends_on_failure,
    )


def _concessions(cues: Cues, met: set[int]) -> tuple[Cue, ...]:
    # The customer settles for something else after an obstacle.
    found: dict[int, Cue] = {}
    for cue in cues.of("concession", None, Side.CUSTOMER):
        before = cue.line.position - 1
        if before in met:
            found.setdefault(cue.line.position, cue)
    return tuple(found.values())


def _ends_open(dialogue: Dialogue, cues: Cues) -> bool:
    # The customer has the last word, and it is no farewell.
    if not dialogue.turns or dialogue.turns[-1].side is not Side.CUSTOMER:
        return False
    last = dialogue.turns[-1].lines
    return not any(cues.of(kind, last, Side.CUSTOMER) for kind in _FAREWELLS)


def _ends_on_failure(cues: Cues, grounded: set[int]) -> bool:
    failed = {cue.line.position for cue in cues.of("failure", None, Side.SERVICE)} - grounded
    done = [cue.line.position for cue in cues.of("done", None, Side.SERVICE)]
    return bool(failed) and max(failed) >= max(done, default=-1)
