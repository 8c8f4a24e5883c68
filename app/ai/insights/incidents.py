"""Improvements that belong to no criterion: rude replies, and a danger that nobody reacted to."""

from typing import Any

from app.ai.dialogue.evidence import CONTRADICTS, Evidence, sentence_around
from app.ai.facts.conversation_facts import Facts, distinct, quoted
from app.ai.scoring.coaching import with_quote
from app.ai.wording.sentences import sentence
from app.ai.wording.words import times

_COUNTED = 3


def incidents_of(facts: Facts) -> list[dict[str, Any]]:
    """List the incidents as entries of the coaching, the danger first."""
    return [*_ignored_danger(facts), *_rudeness(facts)]


def _ignored_danger(facts: Facts) -> list[dict[str, Any]]:
    if not facts.dialogue.attributed:
        return []
    dangers = facts.heard("danger")
    reported = dangers[0].line.position if dangers else -1
    after = [line for line in facts.dialogue.service if line.position > reported]
    if not dangers or not after or facts.said("urgency", lines=after):
        return []
    return [_entry(facts.sentence("incident.danger"), "danger", quoted(dangers[:1], CONTRADICTS))]


def _rudeness(facts: Facts) -> list[dict[str, Any]]:
    rude = (
        [] if facts.readings is None else [reply for reply in facts.readings.agent if reply.is_rude]
    )
    abusive = {cue.line.position for cue in facts.said("profanity")}
    rude = [reply for reply in rude if reply.line.position not in abusive]
    if not rude:
        return []
    worst = sorted(rude, key=lambda reply: -reply.rude)[:_COUNTED]
    evidence = distinct(
        sentence_around(reply.line.segment, mark.start, mark.end, CONTRADICTS)
        for reply in sorted(worst, key=lambda reply: reply.line.position)
        for mark in (reply.marks["dismissive"],)
    )
    key = "incident.rude_often" if len(rude) > _COUNTED else "incident.rude"
    happened = facts.sentence(key, times=times(len(evidence)))
    return [_entry(happened, "rude", evidence)]


def _entry(happened: str, advice: str, evidence: tuple[Evidence, ...]) -> dict[str, Any]:
    return {
        "text": f"{with_quote(happened, evidence[0])} {sentence(f'advice.{advice}')}",
        "criterionKey": None,
        "evidence": [piece.as_json() for piece in evidence],
    }
