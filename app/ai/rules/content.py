"""The rules of what a conversation comes to: goal, completeness, understanding, empathy.

Each rests on events that are quoted. Where a scale has anchors, the score may lie between two of
them and the answer is the nearest.
"""

from itertools import pairwise

from app.ai.dialogue.cues import Cue
from app.ai.dialogue.evidence import CONTRADICTS, SUPPORTS, Evidence, whole
from app.ai.dialogue.friction import HALF_AT, WEIGHTS, friction_of
from app.ai.dialogue.turns import Side
from app.ai.facts.gathering import Facts, capital, places, quoted, segments_named
from app.ai.facts.reading import Reading
from app.ai.scorecard.values import Criterion
from app.ai.scoring.answers import Answer, judged, not_applicable, unjudged

_FULL, _HALF = 0.8, 0.25
_LEAST_LINES = 4
_SHORT = "The conversation is too short to tell."
_NOT_READ = "Without known speakers in English it is not judged."
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
        explanation = "Nothing is refused, fails or is left open" + (
            f", and it is said that something is done ({places(done)})." if done else "."
        )
        return _scaled(score, explanation, 0.7 if done else 0.5, quoted(done))
    pieces = []
    if friction.obstacles:
        pieces.append(f"{_count(len(friction.obstacles))} in {places(friction.obstacles)}")
    if friction.concessions:
        pieces.append(f"the customer settles for something else in {places(friction.concessions)}")
    if friction.ends_open:
        pieces.append("the customer's last words get no answer")
    evidence = quoted([*friction.obstacles, *friction.concessions], CONTRADICTS)
    if not evidence and facts.dialogue.customer:
        evidence = (whole(facts.dialogue.customer[-1].segment, CONTRADICTS),)
    return _scaled(score, f"{capital('; '.join(pieces))}.", 0.65, evidence)


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
        return _scaled(1.0, "The customer neither corrects nor repeats anything.", 0.6)
    lines = [cue.line for cue in cues] + repeated
    lines.sort(key=lambda line: line.position)
    evidence = quoted(cues, CONTRADICTS) or tuple(
        whole(line.segment, CONTRADICTS) for line in repeated[:3]
    )
    explanation = (
        f"Something is corrected, asked again or not understood in {segments_named(lines)}."
    )
    return _scaled(score, explanation, 0.6, evidence)


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
        explanation = f"The need is confirmed ({places(restated)}), and nothing is repeated."
        return _scaled(1.0, explanation, 0.65, quoted(restated))
    return answer


def empathy(facts: Facts, criterion: Criterion) -> Answer:
    """Judge whether a problem or a feeling that the customer voices is acknowledged after it."""
    voiced = _in_order([cue for kind in ("problem", "complaint") for cue in facts.heard(kind)])
    if not voiced:
        return not_applicable("The customer voices no problem and no feeling.")
    first = voiced[0].line.position
    after = [line for line in facts.dialogue.service if line.position > first]
    if not after:
        return not_applicable("Nobody answers after the problem is voiced.")
    named = facts.said("empathy", after)
    stock = facts.said("apology", after)
    where = voiced[0].line.segment.id
    if named:
        return judged(
            2,
            1.0,
            f"What is voiced in {where} is acknowledged in {places(named)}.",
            confidence=0.7,
            evidence=quoted([voiced[0], *named[:2]]),
        )
    if stock:
        return judged(
            1,
            0.5,
            f"What is voiced in {where} gets a stock phrase only ({places(stock)}).",
            confidence=0.6,
            evidence=quoted([voiced[0], *stock[:2]]),
        )
    return judged(
        0,
        0.0,
        f"What is voiced in {where} is not acknowledged.",
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
            f"{capital(facts.agent)} is abusive ({places(abusive)}).",
            confidence=0.85,
            evidence=quoted(abusive, CONTRADICTS),
        )
    courteous = _in_order(
        [cue for kind in ("thanks", "greeting", "empathy", "closing") for cue in facts.said(kind)]
    )
    if not courteous:
        return unjudged("There are neither courteous nor abusive words to go by.")
    explanation = f"{capital(facts.agent)} is courteous ({places(courteous)}) and never abusive."
    return judged(2, 1.0, explanation, confidence=0.6, evidence=quoted(courteous[:3], SUPPORTS))


def _read(facts: Facts) -> Reading | Answer:
    if facts.reading is None:
        return unjudged(_NOT_READ)
    if len(facts.dialogue.lines) < _LEAST_LINES:
        return unjudged(_SHORT)
    return facts.reading


def _scaled(
    score: float, explanation: str, confidence: float, evidence: tuple[Evidence, ...] = ()
) -> Answer:
    level = 2 if score >= _FULL else 1 if score >= _HALF else 0
    return judged(level, score, explanation, confidence=confidence, evidence=evidence)


def _count(obstacles: int) -> str:
    return "one obstacle" if obstacles == 1 else f"{obstacles} obstacles"


def _in_order(cues: list[Cue]) -> list[Cue]:
    return sorted(cues, key=lambda cue: (cue.line.position, cue.start))
