"""Friction of a conversation for the customer: obstacles with hand-set weights."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter

from app.ai.dialogue.cues import Cue, Cues
from app.ai.dialogue.refusals import bare_refusals, reasoned_refusals
from app.ai.dialogue.turns import Dialogue, Line, Side

# An obstacle counts once a line. What fails weighs most; what is merely not there, least. By these
# weights the models were fitted; a scorecard may bring others for what it scores. An apology is no
# obstacle; the first excuse only tells apart conversations that are alike otherwise.
WEIGHTS: Mapping[str, float] = {
    "failure": 2.0,
    "bareRefusal": 2.0,
    "profanity": 2.0,
    "apology": 0.1,
    "noResult": 1.0,
    "badNews": 0.3,
    "fallback": 0.5,
    "asksAgain": 0.4,
    "stillBroken": 0.6,
    "complaint": 0.5,
    "escalationRequest": 0.5,
    "givesUp": 2.0,
    "concession": 0.6,
    "endsOnFailure": 2.0,
    "endsOpen": 1.5,
}
# The friction that halves how much was fulfilled: e to the power of -0.4 for what weighs 1.
HALF_AT = 1.7329
_SERVICE = {
    "failure": "failure",
    "profanity": "profanity",
    "no_result": "noResult",
    "bad_news": "badNews",
    "fallback": "fallback",
}
_CUSTOMER = {
    "asks_again": "asksAgain",
    "still_broken": "stillBroken",
    "complaint": "complaint",
    "escalation_request": "escalationRequest",
    "gives_up": "givesUp",
}
_HALF = 3.0
_FAREWELLS = ("thanks", "closing", "nothing_more", "praise", "solved")
_VOICED = ("problem", "complaint", "still_broken")
_OBSTACLES = ("failure", "no_result", "bad_news")
_NO = re.compile(r"\W*(?:no|nope|nah|nothing)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Friction:
    """`amount` is 0 without any obstacle and has no upper end; `obstacles` are in their order.

    `refusals` name a rule or a reason, and are no obstacles; nor are `excuses`, the agent's apologies
    where the customer has voiced no problem.
    """

    amount: float
    obstacles: tuple[Cue, ...]
    refusals: tuple[Cue, ...]
    excuses: tuple[Cue, ...]
    concessions: tuple[Cue, ...]
    ends_open: bool
    ends_on_failure: bool

    @property
    def ease(self) -> float:
        """Return 1 for no friction, a half for that of a failure with its apology, towards 0 for more."""
        return _HALF / (_HALF + self.amount)


def friction_of(dialogue: Dialogue, cues: Cues, weights: Mapping[str, float] = WEIGHTS) -> Friction:
    """Count the obstacles of an attributed dialogue; `weights` has the keys of `WEIGHTS`."""
    refusals = reasoned_refusals(cues)
    reasoned = {cue.line.position for cue in refusals}
    excused = reasoned | _pressing(dialogue, reasoned) | _accepting(dialogue, cues)
    obstacles: dict[tuple[str, int], Cue] = {}
    amount = 0.0
    for names, side in ((_SERVICE, Side.SERVICE), (_CUSTOMER, Side.CUSTOMER)):
        for kind, name in names.items():
            for cue in cues.of(kind, side=side):
                key = (kind, cue.line.position)
                if cue.line.position in excused:
                    continue
                amount += 0.0 if key in obstacles else weights[name]
                obstacles.setdefault(key, cue)
    for cue in bare_refusals(dialogue, cues):
        amount += weights["bareRefusal"]
        obstacles[cue.kind, cue.line.position] = cue
    blocked = cues.positions(*_OBSTACLES, side=Side.SERVICE)
    concessions = _concessions(cues, blocked - reasoned)
    ends_open = _ends_open(dialogue, cues, excused)
    ends_on_failure = _ends_on_failure(cues, reasoned)
    excuses = _excuses(cues)
    amount += weights["concession"] * len(concessions)
    amount += weights["apology"] * bool(excuses)
    amount += weights["endsOpen"] * ends_open + weights["endsOnFailure"] * ends_on_failure
    return Friction(
        amount=round(amount, 4),
        obstacles=_in_order(obstacles.values()),
        refusals=_in_order(refusals),
        excuses=excuses,
        concessions=concessions,
        ends_open=ends_open,
        ends_on_failure=ends_on_failure,
    )


def fulfilment(amount: float, half_at: float) -> float:
    """Return 1 for no friction, a half for the amount `half_at`, a quarter for twice it, and so on."""
    return math.pow(0.5, amount / half_at)


def _replies(dialogue: Dialogue) -> Iterable[tuple[Sequence[Line], Sequence[Line]]]:
    # Each turn of the service side with the customer's reply.
    for turn, reply in pairwise(dialogue.turns):
        if turn.side is Side.SERVICE and reply.side is Side.CUSTOMER:
            yield turn.lines, reply.lines


def _pressing(dialogue: Dialogue, reasoned: set[int]) -> set[int]:
    # Asking again after a refusal with a reason adds no friction.
    return {
        line.position
        for service_lines, reply in _replies(dialogue)
        if any(line.position in reasoned for line in service_lines)
        for line in reply
    }


def _accepting(dialogue: Dialogue, cues: Cues) -> set[int]:
    # Nor does asking for the colleague that was offered.
    return {
        line.position
        for service_lines, reply in _replies(dialogue)
        if cues.of("handover_offer", lines=service_lines, side=Side.SERVICE)
        for line in reply
    }


def _excuses(cues: Cues) -> tuple[Cue, ...]:
    # After the customer voiced a problem, an apology is sympathy.
    first = min(cues.positions(*_VOICED, side=Side.CUSTOMER), default=math.inf)
    apologies = cues.of("apology", side=Side.SERVICE)
    return tuple(cue for cue in apologies if cue.line.position < first)


def _concessions(cues: Cues, blocked: set[int]) -> tuple[Cue, ...]:
    # The customer settles for something else after an obstacle.
    concessions: dict[int, Cue] = {}
    for cue in cues.of("concession", side=Side.CUSTOMER):
        before = cue.line.position - 1
        if before in blocked:
            concessions.setdefault(cue.line.position, cue)
    return tuple(concessions.values())


def _ends_open(dialogue: Dialogue, cues: Cues, excused: set[int]) -> bool:
    # The customer has the last word, and it is no farewell and no answer to one.
    if not dialogue.turns or dialogue.turns[-1].side is not Side.CUSTOMER:
        return False
    last = dialogue.turns[-1].lines
    if last[-1].position in excused:
        return False
    if cues.of(*_FAREWELLS, lines=last, side=Side.CUSTOMER):
        return False
    lines_before = dialogue.turns[-2].lines if len(dialogue.turns) > 1 else ()
    if cues.of("closing", "transfer", lines=lines_before, side=Side.SERVICE):
        return False
    return not (
        cues.of("offer_help", lines=lines_before, side=Side.SERVICE) and _NO.match(last[0].text)
    )


def _ends_on_failure(cues: Cues, reasoned: set[int]) -> bool:
    failed = cues.positions("failure", side=Side.SERVICE) - reasoned
    done = cues.positions("done", side=Side.SERVICE)
    return bool(failed) and max(failed) >= max(done, default=-1)


def _in_order(cues: Iterable[Cue]) -> tuple[Cue, ...]:
    return tuple(sorted(cues, key=attrgetter("place")))
