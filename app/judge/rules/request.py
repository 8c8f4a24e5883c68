"""Rules of the customer's request: how it is understood, probed and completed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from app.judge.acts.catalogue import Act
from app.judge.conduct.readings import SHOWN, AgentLine, ReplyInContext
from app.judge.dialogue.cues import Cue
from app.judge.dialogue.evidence import CONTRADICTS, SUPPORTS, Evidence
from app.judge.dialogue.turns import Side
from app.judge.facts.conversation_facts import (
    LEAST_LINES,
    Facts,
    distinct,
    examined,
    informative_lines,
    quoted,
    said_again,
    shown,
)
from app.judge.facts.requests import (
    SURE,
    asks_nothing,
    effectiveness,
    state_advice,
    state_evidence,
    state_sentences,
    unanswered_calls,
    worst_first,
)
from app.judge.ledger.entries import State
from app.judge.scorecard.values import Criterion
from app.judge.scoring.answers import Answer, not_applicable, scaled, unjudged
from app.judge.wording import sentence

_MOST_MISSES = 3
_BEGUN = (State.OPEN, State.ASKED_BACK, State.IN_WORK)
# With these the service side shows that it knows what the request is.
_TAKES_UP = (
    *(State.ASKED_BACK, State.PROPOSED, State.PROMISED, State.DONE),
    *(State.ANSWERED, State.EXPLAINED, State.INSTRUCTED),
)
_OBSTACLES = ("failure", "no_result", "bad_news", "refusal")
# How much each kind of miss weighs; the score is 1 / (1 + their sum).
_REPAIR = 0.7
_RUDE, _COLD, _REPEATED, _USELESS = 1.0, 0.8, 0.7, 0.6
_LEAST_WORDS = 4
_ANGRY = 0.6
_REFUSING = 0.6
_WANTED = re.compile("i wanted", re.IGNORECASE)
_FELT = {"confusing_reply": "conf", "angering_reply": "anger"}
# A question that may belittle the customer looks for no solution.
_BELITTLES = 0.4
_SMALL_TALK = re.compile(r"\bhow are you\b|\bhow(?:'s| is) your day\b", re.IGNORECASE)
# Asking why the customer did or did not do something does not look for a solution.
_BLAMING = re.compile(r"\bwhy did(?:n\W?t)? you\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Miss:
    """One place where the need was missed; `kind` is a clause of `app.judge.wording`."""

    position: int
    kind: str
    weight: float
    evidence: Evidence


def understanding(facts: Facts, criterion: Criterion) -> Answer:
    """Judge how often the need was missed: corrected, asked again, or met with a useless reply."""
    if len(facts.dialogue.lines) < LEAST_LINES:
        return unjudged(sentence("not_judged.too_short"))
    misses = [*_repairs(facts), *_useless_replies(facts)]
    if not misses and asks_nothing(facts):
        return not_applicable(facts.sentence("no_occasion.praise"))
    if not misses and facts.acts.lines and not facts.ledger.matters:
        return not_applicable(facts.sentence("completeness.no_request"))
    if not misses:
        return scaled(
            1.0, facts.sentence("understanding.full"), confidence=0.6, evidence=_taken_up(facts)
        )
    misses.sort(key=lambda miss: miss.position)
    first = list({miss.kind: miss for miss in reversed(misses)}.values())[::-1][:_MOST_MISSES]
    return scaled(
        1 / (1 + sum(miss.weight for miss in misses)),
        facts.obstacles(miss.kind for miss in first),
        confidence=0.6,
        evidence=distinct(miss.evidence for miss in first),
    )


def _taken_up(facts: Facts) -> tuple[Evidence, ...]:
    """Quote what the customer asks for first, and the reply that takes it up."""
    for entry in facts.ledger.matters[:1]:
        asked = [line for line in facts.dialogue.customer if line.position >= entry.position]
        steps = [step for step in entry.steps if step.state in _TAKES_UP]
        replies = [
            facts.acts.at(step.position).line
            for step in steps
            # Asking who somebody is takes nothing up.
            if not facts.acts.at(step.position).shows(Act.VERIFY)
        ]
        telling = [line for line in replies if len(line.text.split()) > _LEAST_WORDS]
        return examined([*informative_lines(asked)[:1], *telling[:1]], SUPPORTS)
    return examined(informative_lines(facts.dialogue.customer), SUPPORTS)


def listening(facts: Facts, criterion: Criterion) -> Answer:
    """Judge as understanding; full marks are surer where the need was restated or confirmed."""
    answer = understanding(facts, criterion)
    restated = facts.said("recap") + facts.said("asks_confirmation")
    if answer.score != 1 or not restated:
        return answer
    explanation = facts.sentence("understanding.confirmed")
    return scaled(1.0, explanation, confidence=0.65, evidence=quoted(restated))


def _repairs(facts: Facts) -> Iterator[_Miss]:
    # Correcting a read-back is no misunderstanding.
    after_read_back = _answering(facts, "asks_confirmation")
    # "I wanted those shoes" regrets that they can't be had.
    after_obstacle = _answering(facts, *_OBSTACLES)
    amended = [
        cue
        for cue in facts.heard("correction")
        if cue.line.position not in after_read_back
        and not (cue.line.position in after_obstacle and _WANTED.match(cue.quote))
    ]
    cues: dict[int, Cue] = {}
    for cue in (*facts.said("fallback"), *facts.heard("restates"), *amended):
        cues.setdefault(cue.line.position, cue)
    for position, cue in cues.items():
        (evidence,) = quoted([cue], CONTRADICTS)
        yield _Miss(position, cue.kind, _REPAIR, evidence)
    explained = after_obstacle | cues.keys()
    for line, _ in facts.exchanges.repeated_requests:
        if line.position not in explained:
            yield _Miss(line.position, "repeated_request", _REPAIR, *examined([line]))


def _answering(facts: Facts, *kinds: str) -> set[int]:
    # Positions of the customer's replies to cues of these kinds.
    positions = facts.said_at(*kinds)
    return {
        line.position
        for before, reply in pairwise(facts.dialogue.turns)
        if reply.side is Side.CUSTOMER and any(line.position in positions for line in before.lines)
        for line in reply.lines
    }


def _useless_replies(facts: Facts) -> Iterator[_Miss]:
    repeated = said_again(facts)
    for reply in facts.readings.replies:
        agent = reply.agent
        kind, weight = _fault(reply)
        if kind:
            yield _Miss(agent.line.position, kind, weight, _shown_fault(reply, kind))
        if agent.line.position in repeated and _says_something(agent):
            yield _Miss(agent.line.position, "repeated_answer", _REPEATED, *examined([agent.line]))


def _fault(reply: ReplyInContext) -> tuple[str, float]:
    agent, before, after = reply.agent, reply.before, reply.after
    if agent.is_rude:
        return "rude_reply", _RUDE
    if agent.helpful >= SHOWN:
        return "", 0.0
    upset = before.negative + (after.negative if after else 0.0)
    if agent.shows("stall") >= 0.4 and upset >= SHOWN and (after is None or after.negative >= 0.4):
        return "cold_reply", _COLD
    if after is None:
        return "", 0.0
    confused = reply.confuses and after.positive < 0.4
    if confused and len(agent.line.text.split()) > _LEAST_WORDS:
        return "confusing_reply", _USELESS
    asks = max(agent.shows("greet"), agent.shows("probing"), agent.shows("verification")) >= SHOWN
    angers = after.shows("anger") >= _ANGRY and not asks
    return ("angering_reply", _USELESS) if angers else ("", 0.0)


def _shown_fault(reply: ReplyInContext, kind: str) -> Evidence:
    # What a reply did to the customer shows in the customer's words.
    if reply.after is not None and kind in _FELT:
        return shown(reply.after, (_FELT[kind],), CONTRADICTS)
    if kind == "rude_reply":
        return shown(reply.agent, ("dismissive",), CONTRADICTS)
    (evidence,) = examined([reply.agent.line])
    return evidence


def _says_something(agent: AgentLine) -> bool:
    courtesy = max(agent.shows("offer"), agent.shows("warm"), agent.shows("greet"))
    return courtesy < SHOWN and len(agent.line.text.split()) >= _LEAST_WORDS


def probing(facts: Facts, criterion: Criterion) -> Answer:
    """Judge whether the agent asks what is needed, and does so before refusing or dismissing."""
    agent, customer = facts.readings.agent, facts.readings.customer
    # Asking for a secret, or whether somebody is still there, is no way to a solution.
    useless = facts.said_at("asks_secret", "no_reply")
    polite = facts.said_at("purpose", "offer_help")
    asking = [
        line
        for line in agent
        if _asks(line, is_polite=line.line.position in polite) and line.line.position not in useless
    ]
    if asking:
        refused = (line.line.position for line in agent if line.is_rude or _refuses(facts, line))
        in_time = asking[0].line.position <= min(refused, default=len(facts.dialogue.lines))
        return scaled(
            1.0 if in_time else 0.5,
            facts.sentence("probing.asked" if in_time else "probing.late"),
            confidence=0.6,
            evidence=distinct(shown(line, ("probing",)) for line in asking),
        )
    cold = sum(line.is_cold for line in agent)
    left_upset = max((line.negative for line in customer[-2:]), default=0.0) >= 0.4
    helped = any(max(line.shows("done"), line.shows("next")) >= SHOWN for line in agent)
    if left_upset and not helped and (cold > 1 or any(line.is_rude for line in agent)):
        evidence = examined(line.line for line in agent)
        return scaled(0.0, facts.sentence("probing.missing"), confidence=0.5, evidence=evidence)
    return not_applicable(facts.sentence("probing.not_needed"))


def _refuses(facts: Facts, line: AgentLine) -> bool:
    return facts.acts.at(line.line.position).shows(Act.REFUSE, Act.REFUSE_REASON)


def _asks(line: AgentLine, *, is_polite: bool) -> bool:
    text = line.line.text
    # Speech recognition may write no punctuation; where there is some, a question has a question mark.
    is_statement = "?" not in text and any(mark in text for mark in ".!")
    refuses = is_statement and line.shows("refusal") >= _REFUSING
    if line.shows("dismissive") >= _BELITTLES or refuses or _BLAMING.search(text):
        return False
    # Who only checks who somebody is has asked nothing about the matter.
    probing = line.shows("probing") >= max(SURE, line.shows("verification"))
    return probing and not (is_statement or is_polite or _SMALL_TALK.search(text))


def completeness(facts: Facts, criterion: Criterion) -> Answer:
    """Judge how far the requests were fulfilled, and say what became of each."""
    if asks_nothing(facts):
        return not_applicable(facts.sentence("no_occasion.praise"))
    if not facts.acts.lines:
        return unjudged(sentence("not_judged.not_read"))
    if len(facts.dialogue.lines) < LEAST_LINES:
        return unjudged(sentence("not_judged.too_short"))
    entries = worst_first(facts.ledger.matters)
    if not entries:
        return not_applicable(facts.sentence("completeness.no_request"))
    if unanswered_calls(facts) and all(entry.state in _BEGUN for entry in entries):
        return not_applicable(facts.sentence("no_occasion.left_first"))
    told = " ".join(state_sentences(facts, entries))
    if not told:
        return unjudged(sentence("not_judged.estimated"), estimate=effectiveness(facts))
    return scaled(
        effectiveness(facts),
        told,
        confidence=0.65,
        evidence=distinct(state_evidence(facts, entry) for entry in entries),
        advice=state_advice(facts, entries[0]),
    )
