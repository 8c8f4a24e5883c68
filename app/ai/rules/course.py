"""Course of a conversation as a whole: whether anything is asked for, and in what mood it ends."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.ai.conduct.readings import NEGATIVE_LABELS, SHOWN, AgentLine, CustomerLine, Readings
from app.ai.dialogue.cues import Cue, first_request
from app.ai.dialogue.evidence import CONTRADICTS, Evidence
from app.ai.dialogue.friction import BARE, asks_fact, last_alternative
from app.ai.dialogue.turns import Line, Side
from app.ai.facts.conversation_facts import Facts, shown

# How much of the feeling in the line before the last still counts at the end, and how much of it
# where the last line is a friendly farewell.
_EARLIER, _FORGIVEN = 0.8, 0.4
_CALM, _HOT = 0.4, 0.75
_UNEASY = 0.3
_SHORT = 5
_FAREWELLS = ("thanks", "praise", "solved", "nothing_more", "closing")
_ASKS = re.compile(
    r"\?|\b(?:need|want|would like|i'd like|looking for|help me|can you|could you|how (?:do|can))\b",
    re.IGNORECASE,
)
_FINISHED = ("solved", "closing", "nothing_more")
_SERVING = ("transfer", "done", "success", "commitment", "next_step")
_MATTERS = ("problem", "complaint", "still_broken", "opt_out", "escalation_request", "danger")


class Mood(StrEnum):
    PLEASED = "pleased"
    UPSET = "upset"
    RUDE = "rude"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class MoodAtEnd:
    """`rude` is the agent's mood, the others are the customer's; `evidence` shows it.

    A `refused` customer is not satisfied after a refusal.
    """

    mood: Mood
    evidence: Evidence

    @property
    def is_bad(self) -> bool:
        return self.mood is not Mood.PLEASED


def opt_out_confirmation(facts: Facts) -> Cue | None:
    """Return the confirmation of the customer's request not to be contacted again."""
    requested = min((cue.line.position for cue in facts.heard("opt_out")), default=None)
    if requested is None:
        return None
    confirmations = facts.said("opt_out_done")
    return next((cue for cue in confirmations if cue.line.position > requested), None)


def unanswered_calls(facts: Facts) -> list[Cue]:
    """List where the service side says that a customer who had not finished no longer replies."""
    turns = [turn for turn in facts.dialogue.turns if turn.side is Side.CUSTOMER]
    if not turns or facts.heard(*_FINISHED, lines=turns[-1].lines):
        return []
    last = turns[-1].lines[-1].position
    return [cue for cue in facts.said("no_reply") if cue.line.position > last]


def last_request_for_person(facts: Facts) -> Cue | None:
    """Return the request for somebody else in the customer's last turn, if no reply serves it."""
    turns = [turn for turn in facts.dialogue.turns if turn.side is Side.CUSTOMER]
    requests = facts.heard("escalation_request", lines=turns[-1].lines) if turns else []
    if not requests:
        return None
    after = [line for line in facts.dialogue.service if line.position > requests[0].line.position]
    return None if facts.said(*_SERVING, lines=after) else requests[0]


def mood_at_end(facts: Facts) -> MoodAtEnd | None:
    """Read the mood of the last lines; None where they show none, or after the agent has helped."""
    readings = facts.readings
    if not readings.customer or not readings.agent:
        return None
    refused = _unsatisfied(facts, readings)
    if refused is not None:
        return refused
    before, last = readings.customer[-2:][0], readings.customer[-1]
    agent = _last_reply(facts, readings)
    if _is_settled(facts, [before.line, last.line], agent):
        return None
    helped = any(
        max(line.shows("done"), line.shows("next")) >= SHOWN for line in readings.agent[-3:]
    )
    calm = last.negative < _CALM
    if last.positive >= SHOWN or (before is not last and before.positive >= 0.6 and calm):
        satisfied = last if last.positive >= SHOWN else before
        asks_for_person = last_request_for_person(facts) is not None
        return _pleased(readings, satisfied, helped=helped, asks_for_person=asks_for_person)
    share_kept = _FORGIVEN if facts.heard(*_FAREWELLS, lines=[last.line]) else _EARLIER
    upset = max(last.negative, share_kept * before.negative)
    if helped and upset < _HOT:
        return None
    if agent.is_rude:
        return MoodAtEnd(Mood.RUDE, shown(agent, ("dismissive",), CONTRADICTS))
    if upset >= SHOWN or (agent.shows("stall") >= SHOWN and last.negative >= _UNEASY):
        # A farewell may show less of it than the line before.
        least = before.negative * (share_kept if share_kept == _EARLIER else 1.0)
        line = last if last.negative >= least else before
        return MoodAtEnd(Mood.UPSET, shown(line, NEGATIVE_LABELS, CONTRADICTS))
    return None


def _is_settled(facts: Facts, last: Sequence[Line], agent: AgentLine) -> bool:
    granted = opt_out_confirmation(facts)
    if granted is not None and granted.line.position > last[-1].position:
        return True
    return bool(facts.heard("solved", lines=last)) and not agent.is_rude


def _last_reply(facts: Facts, readings: Readings) -> AgentLine:
    # A goodbye makes up for nothing.
    polite = facts.said_at("closing", "offer_help")
    replies = [line for line in readings.agent if line.line.position not in polite or line.is_rude]
    return (replies or readings.agent)[-1]


def standing_refusal(facts: Facts) -> Cue | None:
    """Return the last refusal of a request that no action, alternative or praise made up for."""
    if facts.model_input is None:
        return None
    friction = facts.model_input.friction
    refusals = [cue for cue in friction.refusals if cue.kind != "bad_news"]
    refusals += [cue for cue in friction.obstacles if cue.kind == BARE]
    if not refusals:
        return None
    settling = facts.said("done", "success") + facts.heard("praise", "solved")
    settled = max((cue.line.position for cue in settling), default=-1)
    offered = last_alternative(facts.dialogue, facts.cues)
    standing = [
        cue
        for cue in refusals
        if settled < cue.line.position > offered and not answers_fact(facts, cue.line)
    ]
    return max(standing, key=lambda cue: cue.line.position, default=None)


def answers_fact(facts: Facts, line: Line) -> bool:
    """Tell whether the customer's last line before this one asks for a fact, not for an action."""
    before = [
        line_before
        for line_before in facts.dialogue.customer
        if line_before.position < line.position
    ]
    return bool(before) and asks_fact(before[-1])


def _unsatisfied(facts: Facts, readings: Readings) -> MoodAtEnd | None:
    refusal = standing_refusal(facts)
    if refusal is None or readings.customer[-1].positive >= SHOWN:
        return None
    after = [line for line in readings.customer if line.line.position > refusal.line.position]
    worst = max(after, key=lambda line: line.negative, default=None)
    if worst is None or worst.negative < SHOWN:
        return None
    return MoodAtEnd(Mood.REFUSED, shown(worst, NEGATIVE_LABELS, CONTRADICTS))


def _pleased(
    readings: Readings, line: CustomerLine, *, helped: bool, asks_for_person: bool
) -> MoodAtEnd | None:
    rude = any(agent.is_rude for agent in readings.agent)
    if rude or asks_for_person or not (helped or len(readings.lines) <= _SHORT):
        return None
    return MoodAtEnd(Mood.PLEASED, shown(line, ("sat",)))


def asks_nothing(facts: Facts) -> bool:
    """Tell whether the customer only thanks or praises: there is no request and no problem."""
    readings = facts.readings
    if not readings.customer:
        return False
    first = readings.customer[0]
    if first.positive < SHOWN and not facts.heard("thanks", "praise", lines=[first.line]):
        return False
    opening = facts.said("greeting", "purpose")
    if not first_request(facts.dialogue, opening):
        return False
    return not (
        any(line.negative >= _CALM for line in readings.customer)
        or any(_ASKS.search(line.line.text) for line in readings.customer)
        or facts.heard(*_MATTERS)
        or any(
            max(line.shows("done"), line.shows("verification")) >= SHOWN for line in readings.agent
        )
    )
