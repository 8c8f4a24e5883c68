"""The rules of what a conversation comes to: goal, completeness, understanding, empathy.

Each rests on events that are quoted. Where a scale has anchors, the score may lie between two of
them and the answer is the nearest.
"""

from itertools import pairwise

from app.ai.dialogue.cues import Cue
from app.ai.dialogue.evidence import CONTRADICTS, SUPPORTS, Evidence
from app.ai.dialogue.friction import HALF_AT, WEIGHTS, friction_of
from app.ai.dialogue.turns import Side
from app.ai.facts.gathering import Facts, distinct, examined, quoted
from app.ai.facts.reading import Reading
from app.ai.scorecard.values import Criterion
from app.ai.scoring.answers import Answer, judged, not_applicable, unjudged
from app.ai.wording.sentences import capital, part, sentence
from app.ai.wording.words import clauses

_FULL, _HALF = 0.8, 0.25
_LEAST_LINES = 4
_MOST_TOLD = 3
_OBSTACLES = ("failure", "no_result", "bad_news", "refusal")


def completeness(facts: Facts, criterion: Criterion) -> Answer:
    """Judge whether what was asked for went through: the fewer and lighter obstacles, the better."""
    reading = _read(facts)
    if isinstance(reading, Answer):
        return reading
    weights = {**WEIGHTS, **criterion.parameters.get("weights", {})}
    friction = friction_of(facts.dialogue, facts.cues, weights)
    score = friction.fulfilment(criterion.parameters.get("halfAt", HALF_AT))
    if not friction.amount:
        done = facts.said("success") or facts.said("done")
        key = "completeness.smooth_and_done" if done else "completeness.smooth"
        evidence = quoted(done) or examined(facts.dialogue.customer[-2:], SUPPORTS)
        return _scaled(score, facts.sentence(key), 0.7 if done else 0.5, evidence)
    met = _of_each_kind([*friction.obstacles, *friction.concessions])
    told = [_obstacle(facts, cue.kind) for cue in met]
    evidence = quoted(met, CONTRADICTS)
    if friction.ends_open and len(told) < _MOST_TOLD:
        told.append(_obstacle(facts, "ends_open"))
        evidence += examined(facts.dialogue.customer[-1:])
    return _scaled(score, capital(clauses(told)), 0.65, distinct(evidence))


def _of_each_kind(cues: list[Cue]) -> list[Cue]:
    return list({cue.kind: cue for cue in reversed(_in_order(cues))}.values())[::-1][:_MOST_TOLD]


def _obstacle(facts: Facts, kind: str) -> str:
    return part(f"obstacle.{kind}", agent=facts.agent, customer=facts.customer)


def understanding(facts: Facts, criterion: Criterion) -> Answer:
    """Judge whether the customer has to correct, ask again or repeat."""
    reading = _read(facts)
    if isinstance(reading, Answer):
        return reading
    cues = facts.said("fallback") + _repairs(facts)
    cues.sort(key=lambda cue: (cue.line.position, cue.start))
    met = _met_by(facts, *_OBSTACLES)
    repeated = [line for line, _ in reading.exchanges.repeated_requests if line.position not in met]
    positions = {cue.line.position for cue in cues} | {line.position for line in repeated}
    score = 1 / (1 + len(positions))
    if not positions:
        evidence = examined(facts.dialogue.customer, SUPPORTS)
        return _scaled(1.0, facts.sentence("understanding.full"), 0.6, evidence)
    missed = _of_each_kind(cues)
    told = [_obstacle(facts, cue.kind) for cue in missed]
    evidence = quoted(missed, CONTRADICTS)
    if repeated and len(told) < _MOST_TOLD:
        told.append(_obstacle(facts, "repeated_request"))
        evidence += examined(repeated[:1])
    return _scaled(score, capital(clauses(told)), 0.6, distinct(evidence))


def _repairs(facts: Facts) -> list[Cue]:
    # To amend what the agent reads back is no misunderstanding.
    asked = _met_by(facts, "asks_confirmation")
    amended = [cue for cue in facts.heard("correction") if cue.line.position not in asked]
    return facts.heard("restates") + amended


def _met_by(facts: Facts, *kinds: str) -> set[int]:
    # Where the lines of the customer are that answer any of it.
    told = {cue.line.position for kind in kinds for cue in facts.said(kind)}
    return {
        line.position
        for before, reply in pairwise(facts.dialogue.turns)
        if reply.side is Side.CUSTOMER and any(each.position in told for each in before.lines)
        for line in reply.lines
    }


def listening(facts: Facts, criterion: Criterion) -> Answer:
    """Judge as understanding; full marks need the need to be restated or confirmed as well."""
    answer = understanding(facts, criterion)
    if answer.score != 1 or not facts.dialogue.attributed:
        return answer
    restated = facts.said("recap") + facts.said("asks_confirmation")
    if restated:
        explanation = facts.sentence("understanding.confirmed")
        return _scaled(1.0, explanation, 0.65, quoted(restated))
    return answer


def empathy(facts: Facts, criterion: Criterion) -> Answer:
    """Judge whether a problem or a feeling that the customer voices is acknowledged after it."""
    voiced = _in_order([cue for kind in ("problem", "complaint") for cue in facts.heard(kind)])
    if not voiced:
        return not_applicable(facts.sentence("empathy.no_occasion"))
    first = voiced[0].line.position
    after = [line for line in facts.dialogue.service if line.position > first]
    if not after:
        return not_applicable(facts.sentence("empathy.no_reply"))
    named = facts.said("empathy", after)
    stock = facts.said("apology", after)
    if named:
        return judged(
            2,
            1.0,
            facts.sentence("empathy.given"),
            confidence=0.7,
            evidence=quoted([voiced[0], *named[:2]]),
        )
    if stock:
        return judged(
            1,
            0.5,
            facts.sentence("empathy.stock"),
            confidence=0.6,
            evidence=quoted([voiced[0], *stock[:2]]),
        )
    return judged(
        0,
        0.0,
        facts.sentence("empathy.missing"),
        confidence=0.5,
        evidence=quoted(voiced[:2], CONTRADICTS),
    )


def respect(facts: Facts, criterion: Criterion) -> Answer:
    """Answer with the lowest level on abuse, and with the highest on courtesy without it."""
    abusive = facts.said("profanity")
    if abusive:
        return judged(
            0,
            0.0,
            facts.sentence("abuse.found"),
            confidence=0.85,
            evidence=quoted(abusive, CONTRADICTS),
        )
    courteous = _in_order(
        [cue for kind in ("thanks", "greeting", "empathy", "closing") for cue in facts.said(kind)]
    )
    if not courteous:
        return unjudged(sentence("not_judged.no_manners"))
    explanation = facts.sentence("respect.courteous")
    return judged(2, 1.0, explanation, confidence=0.6, evidence=quoted(courteous[:3], SUPPORTS))


def _read(facts: Facts) -> Reading | Answer:
    if facts.reading is None:
        return unjudged(sentence("not_judged.not_read"))
    if len(facts.dialogue.lines) < _LEAST_LINES:
        return unjudged(sentence("not_judged.too_short"))
    return facts.reading


def _scaled(
    score: float, explanation: str, confidence: float, evidence: tuple[Evidence, ...] = ()
) -> Answer:
    level = 2 if score >= _FULL else 1 if score >= _HALF else 0
    return judged(level, score, explanation, confidence=confidence, evidence=evidence)


def _in_order(cues: list[Cue]) -> list[Cue]:
    return sorted(cues, key=lambda cue: (cue.line.position, cue.start))
