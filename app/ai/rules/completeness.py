"""Rule of completeness: what stood in the way of what the customer asked for."""

from operator import attrgetter

from app.ai.dialogue.cues import Cue
from app.ai.dialogue.evidence import CONTRADICTS, SUPPORTS
from app.ai.dialogue.friction import HALF_AT, WEIGHTS, friction_of, fulfilment
from app.ai.facts.conversation_facts import Facts, distinct, examined, quoted
from app.ai.rules.course import MoodAtEnd, asks_nothing, mood_at_end
from app.ai.scorecard.values import Criterion
from app.ai.scoring.answers import Answer, not_applicable, scaled, unjudged
from app.ai.wording.sentences import capital, sentence
from app.ai.wording.words import clauses

_LEAST_LINES = 4
_MOST_TOLD = 3


def completeness(facts: Facts, criterion: Criterion) -> Answer:
    """Judge whether the requests were fulfilled: obstacles lower the score by their weights."""
    if asks_nothing(facts):
        return not_applicable(facts.sentence("no_occasion.praise"))
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
    obstacle_clauses = [facts.obstacle(cue.kind) for cue in obstacles]
    evidence = quoted(obstacles, CONTRADICTS)
    if end and len(obstacle_clauses) < _MOST_TOLD:
        obstacle_clauses.append(facts.obstacle(f"ends_{end.mood}"))
        evidence += (end.evidence,)
    if friction.ends_open and len(obstacle_clauses) < _MOST_TOLD:
        obstacle_clauses.append(facts.obstacle("ends_open"))
        evidence += examined(facts.dialogue.customer[-1:])
    if obstacle_clauses:
        explanation = capital(clauses(obstacle_clauses))
        return scaled(score, explanation, confidence=0.65, evidence=distinct(evidence))
    done = facts.said("success") or facts.said("done")
    if friction.refusals:
        refused = facts.sentence("completeness.refused")
        return scaled(score, refused, confidence=0.5, evidence=quoted(friction.refusals))
    return scaled(
        score,
        facts.sentence("completeness.smooth_and_done" if done else "completeness.smooth"),
        confidence=0.7 if done else 0.5,
        evidence=quoted(done) or examined(facts.dialogue.customer[-2:], SUPPORTS),
    )


def _bad_end(facts: Facts) -> MoodAtEnd | None:
    end = mood_at_end(facts)
    return end if end and end.is_bad else None


def _of_each_kind(cues: list[Cue]) -> list[Cue]:
    # Bad news only puts into words what fails in the same line.
    others = {cue.line.position for cue in cues if cue.kind != "bad_news"}
    cues = [cue for cue in cues if cue.kind != "bad_news" or cue.line.position not in others]
    in_order = sorted(cues, key=attrgetter("place"), reverse=True)
    return list({cue.kind: cue for cue in in_order}.values())[::-1][:_MOST_TOLD]
