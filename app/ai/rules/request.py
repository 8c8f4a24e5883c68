"""Rules of the customer's request: how it is understood, probed and completed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter

from app.ai.conduct.readings import SHOWN, AgentLine, ReplyInContext
from app.ai.dialogue.cues import Cue
from app.ai.dialogue.evidence import CONTRADICTS, SUPPORTS, Evidence
from app.ai.dialogue.friction import HALF_AT, WEIGHTS, friction_of, fulfilment
from app.ai.dialogue.turns import Side
from app.ai.facts.conversation_facts import (
    Facts,
    distinct,
    examined,
    informative_lines,
    quoted,
    said_again,
    shown,
)
from app.ai.rules.course import (
    MoodAtEnd,
    answers_fact,
    asks_nothing,
    mood_at_end,
    unanswered_calls,
)
from app.ai.scorecard.values import Criterion
from app.ai.scoring.answers import Answer, not_applicable, scaled, unjudged
from app.ai.wording import sentence

_LEAST_LINES = 4
_MOST_TOLD = 3
_OBSTACLES = ("failure", "no_result", "bad_news", "refusal")
# How much each kind of miss weighs; the score is 1 / (1 + their sum).
_REPAIR = 0.7
_RUDE, _COLD, _REPEATED, _USELESS = 1.0, 0.8, 0.7, 0.6
_LEAST_WORDS = 4
_ANGRY = 0.6
_REFUSING = 0.6
_WANTED = re.compile("i wanted", re.IGNORECASE)
_FELT = {"confusing_reply": "conf", "angering_reply": "anger"}
_SMALL_TALK = re.compile(r"\bhow are you\b|\bhow(?:'s| is) your day\b", re.IGNORECASE)
# Asking why the customer did or did not do something does not look for a solution.
_BLAMING = re.compile(r"\bwhy (?:did|didn't) you\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Miss:
    """One place where the need was missed; `kind` is a clause of `app.ai.wording`."""

    position: int
    kind: str
    weight: float
    evidence: Evidence


def understanding(facts: Facts, criterion: Criterion) -> Answer:
    """Judge how often the need was missed: corrected, asked again, or met with a useless reply."""
    if len(facts.dialogue.lines) < _LEAST_LINES:
        return unjudged(sentence("not_judged.too_short"))
    misses = [*_repairs(facts), *_useless_replies(facts)]
    if not misses:
        evidence = examined(informative_lines(facts.dialogue.customer), SUPPORTS)
        return scaled(1.0, facts.sentence("understanding.full"), confidence=0.6, evidence=evidence)
    misses.sort(key=lambda miss: miss.position)
    first = list({miss.kind: miss for miss in reversed(misses)}.values())[::-1][:_MOST_TOLD]
    return scaled(
        1 / (1 + sum(miss.weight for miss in misses)),
        facts.obstacles(miss.kind for miss in first),
        confidence=0.6,
        evidence=distinct(miss.evidence for miss in first),
    )


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
            evidence=distinct(shown(line, ("probing", "verification", "recap")) for line in asking),
        )
    cold = sum(line.is_cold for line in agent)
    left_upset = max((line.negative for line in customer[-2:]), default=0.0) >= 0.4
    helped = any(max(line.shows("done"), line.shows("next")) >= SHOWN for line in agent)
    if left_upset and not helped and (cold > 1 or any(line.is_rude for line in agent)):
        evidence = examined(line.line for line in agent)
        return scaled(0.0, facts.sentence("probing.missing"), confidence=0.5, evidence=evidence)
    return not_applicable(facts.sentence("probing.not_needed"))


def _refuses(facts: Facts, line: AgentLine) -> bool:
    # Sympathy names what does not work, and "no" to a question for a fact refuses nothing.
    refusing = line.shows("refusal") >= max(_REFUSING, line.shows("empathy"))
    return refusing and not answers_fact(facts, line.line)


def _asks(line: AgentLine, *, is_polite: bool) -> bool:
    text = line.line.text
    # Speech recognition may write no punctuation; where there is some, a question has a question mark.
    is_statement = "?" not in text and any(mark in text for mark in ".!")
    refuses = is_statement and line.shows("refusal") >= _REFUSING
    if line.is_rude or refuses or _BLAMING.search(text):
        return False
    if line.shows("verification") >= SHOWN or (
        not is_statement and max(line.shows("probing"), line.shows("recap")) >= SHOWN
    ):
        return True
    return (
        "?" in text
        and not is_polite
        and line.shows("offer") < SHOWN
        and not _SMALL_TALK.search(text)
        and len(text.split()) > _LEAST_WORDS
    )


def completeness(facts: Facts, criterion: Criterion) -> Answer:
    """Judge whether the requests were fulfilled: obstacles lower the score by their weights."""
    no_occasion = _no_occasion(facts)
    if no_occasion is not None:
        return no_occasion
    if facts.model_input is None:
        return unjudged(sentence("not_judged.not_read"))
    if len(facts.dialogue.lines) < _LEAST_LINES:
        return unjudged(sentence("not_judged.too_short"))
    weights = {**WEIGHTS, **criterion.parameters.get("weights", {})}
    friction = friction_of(facts.dialogue, facts.cues, weights)
    end = None if friction.ends_open else _bad_end(facts)
    amount = friction.amount + (weights["endsOpen"] if end else 0.0)
    score = fulfilment(amount, criterion.parameters.get("halfAt", HALF_AT))
    obstacles = _of_each_kind([*friction.obstacles, *friction.concessions])
    kinds = [_obstacle_key(facts, cue.kind) for cue in obstacles]
    evidence = quoted(obstacles, CONTRADICTS)
    if end and len(kinds) < _MOST_TOLD:
        kinds.append(f"ends_{end.mood}")
        evidence += (end.evidence,)
    if friction.ends_open and len(kinds) < _MOST_TOLD:
        kinds.append("ends_open")
        evidence += examined(facts.dialogue.customer[-1:])
    if kinds:
        explanation = facts.obstacles(kinds)
        return scaled(score, explanation, confidence=0.65, evidence=distinct(evidence))
    done = facts.said("success") or facts.said("done")
    if friction.refusals:
        refused = facts.sentence("completeness.refused")
        return scaled(score, refused, confidence=0.5, evidence=quoted(friction.refusals))
    return scaled(
        score,
        facts.sentence("completeness.smooth_and_done" if done else "completeness.smooth"),
        confidence=0.7 if done else 0.5,
        evidence=quoted(done)
        or examined(informative_lines(facts.dialogue.customer)[-2:], SUPPORTS),
    )


def _no_occasion(facts: Facts) -> Answer | None:
    if asks_nothing(facts):
        return not_applicable(facts.sentence("no_occasion.praise"))
    if unanswered_calls(facts) and not facts.said("done", "success", *_OBSTACLES):
        return not_applicable(facts.sentence("no_occasion.left_first"))
    return None


def _obstacle_key(facts: Facts, kind: str) -> str:
    # What failed before the last completed action failed at first only.
    if kind not in ("failure", "no_result"):
        return kind
    done = max(facts.said_at("done", "success"), default=-1)
    return f"{kind}_at_first" if max(facts.said_at(kind), default=-1) < done else kind


def _bad_end(facts: Facts) -> MoodAtEnd | None:
    end = mood_at_end(facts)
    return end if end and end.is_bad else None


def _of_each_kind(cues: list[Cue]) -> list[Cue]:
    # Bad news only puts into words what fails in the same line.
    others = {cue.line.position for cue in cues if cue.kind != "bad_news"}
    cues = [cue for cue in cues if cue.kind != "bad_news" or cue.line.position not in others]
    in_order = sorted(cues, key=attrgetter("place"), reverse=True)
    return list({cue.kind: cue for cue in in_order}.values())[::-1][:_MOST_TOLD]
