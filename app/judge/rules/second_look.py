"""Second look at the answers of the rules: what a reader would hardly say is not said."""

import math
from collections.abc import Mapping
from dataclasses import replace

from app.judge.acts.catalogue import Act
from app.judge.dialogue.cues import Cue
from app.judge.dialogue.turns import Line
from app.judge.facts.contradictions import MET_FEELING, SOLVED, unopposed
from app.judge.facts.conversation_facts import (
    PLAINLY_RUDE,
    Facts,
    breach_evidence,
    performed,
)
from app.judge.facts.requests import smoothness, unanswered_calls
from app.judge.ledger.opinion import NO, NONE, YES
from app.judge.ledger.status import (
    ESCALATED,
    PARTLY,
    RESOLVED,
    UNKNOWN,
    UNRESOLVED,
    stated_status,
)
from app.judge.scorecard.values import Criterion
from app.judge.scoring.answers import Answer, not_applicable, on_scale, unjudged
from app.judge.wording import sentence

# The question that readers answered, for each rule whose answers are looked at again.
QUESTIONS = {
    "clarity": "clarity",
    "completeness": "completeness",
    "courtesy": "courtesy",
    "empathy": "empathy",
    "listening": "understanding",
    "probing": "probing",
    "resolution_confirmed": "confirmed",
    "respect": "courtesy",
    "understanding": "understanding",
}
# What the quotes of an answer to a question support, where more than harsh words may speak against it.
_SUPPORTED = {"completeness": SOLVED, "confirmed": SOLVED, "empathy": MET_FEELING}
# The questions about the parts of an opening and of an ending.
OPENING = {"greeting": "greeting", "brand": "company", "name": "name"}
ENDING = {"recap": "recap", "next_step": "next_step", "offer_help": "offer_more"}
# What shows the parts that the questions name.
ACTS_OF = {
    "greeting": (Act.GREET,),
    "name": (Act.NAME,),
    "company": (Act.COMPANY,),
    "recap": (Act.RECAP,),
    "next_step": (Act.PROMISE_BY, Act.NEXT),
    "offer_more": (Act.OFFER_MORE,),
}
_FULL, _HALF, _NOT = "2", "1", "0"
_WORTH = {_FULL: 1.0, _HALF: 0.5, _NOT: 0.0, YES: 1.0, NO: 0.0}
# The least scores of the levels.
_FULL_FROM, _HALF_FROM = 0.8, 0.25
# The least that is fulfilled where lines state that all was done, or that somebody took it over.
_MOSTLY = 0.4
_LIKELY = 0.5
# How likely an answer has to be so that words claim it: then some nine in ten readers give it, too. Where
# none is named, they are never that sure. Of completeness, lines state the level, good news surely.
_CLAIMED: Mapping[str, Mapping[str, float]] = {
    "understanding": {_FULL: 0.87, _HALF: 0.9},
    "confirmed": {YES: 0.75, NO: 0.87},
    "empathy": {_NOT: 0.87},
    "courtesy": dict.fromkeys((_FULL, _HALF, _NOT), 0.93),
    "clarity": dict.fromkeys((_FULL, _HALF, _NOT), 0.95),
    "completeness": {_FULL: 0.5, _HALF: 0.8, _NOT: 0.9},
}
_NO_OCCASION = 0.5
# How much is left of the effectiveness at least, after what failed on the way, where all was done.
_SMOOTH = 0.5
# Which rating of the conversation an estimate goes by, besides the likely answers.
_RATED = {"courtesy": "manner", "empathy": "manner"}
# How the customer shows that something was not understood, and how likely a line does where it hints at it.
_NOT_UNDERSTOOD = (Act.CORRECT, Act.REPEAT, Act.CONFUSED)
_HINT = 0.4
# How likely the act is at least where a reader sees a part that no phrase shows.
_HINTED = 0.1


def own_answer(answer: Answer) -> str:
    """Name the answer of a rule as the readers' answers are named."""
    if answer.worth is None:
        return NONE
    return answer.answer if isinstance(answer.answer, str) else _level(answer.worth)


def _level(score: float) -> str:
    return _FULL if score >= _FULL_FROM else _HALF if score >= _HALF_FROM else _NOT


def looked_at_again(facts: Facts, criterion: Criterion, answer: Answer) -> Answer:
    """Keep an answer that a reader would almost surely give, and that its quotes do not contradict.

    Otherwise only estimate what it is worth.
    """
    question = QUESTIONS.get(criterion.rule or "")
    looked = _seen_again(facts, criterion, answer, question)
    if question is None or not looked.evidence:
        return looked
    evidence = unopposed(facts, looked.evidence, _SUPPORTED.get(question, question))
    if not evidence:
        return unjudged(sentence("not_judged.estimated"), estimate=looked.worth)
    return replace(looked, evidence=evidence)


def _seen_again(facts: Facts, criterion: Criterion, answer: Answer, question: str | None) -> Answer:
    reader = facts.reader
    if question is None or reader is None or (answer.unjudged and answer.worth is None):
        return answer
    if question in _certain(facts):
        return answer
    own = own_answer(answer)
    likely = reader.of(question, own)
    if likely.get(NONE, 0.0) >= _NO_OCCASION:
        return answer if own == NONE else not_applicable(facts.sentence(f"no_need.{question}"))
    worth = (_expected(likely) + reader.share(_RATED.get(question, "effectiveness"))) / 2
    if question == "completeness":
        worth, own = _fulfilled(facts, answer, worth), _told_level(facts)
    doubted = question == "understanding" and own == _FULL and _is_doubted(facts)
    if question == "completeness" and own == _FULL:
        # Where much failed on the way, no level tells it.
        doubted = smoothness(facts) < _SMOOTH
    claimed_from = _CLAIMED.get(question, {}).get(own, math.inf)
    if answer.unjudged or own == NONE or likely[own] < claimed_from or doubted:
        return unjudged(sentence("not_judged.estimated"), estimate=worth)
    stands = on_scale(replace(answer, score=_WORTH[own]), criterion.options)
    return replace(stands if criterion.options else answer, confidence=round(likely[own], 4))


def _is_doubted(facts: Facts) -> bool:
    """Tell whether a line hints that the service side did not understand at once."""
    customer = (line.best(*_NOT_UNDERSTOOD) for line in facts.acts.customer)
    asked = (line.best(Act.REASK) for line in facts.acts.service)
    return any(mark and mark.probability >= _HINT for mark in (*customer, *asked))


def _expected(likely: Mapping[str, float]) -> float:
    levels = {level: share for level, share in likely.items() if level != NONE}
    return sum(_WORTH[level] * share for level, share in levels.items()) / sum(levels.values())


def seen_by_reader(
    facts: Facts, questions: Mapping[str, str], found: dict[str, list[Cue]], lines: tuple[Line, ...]
) -> dict[str, list[Cue]]:
    """Leave out the parts that a reader would hardly see, and add those that a reader would.

    Args:
        questions: for each part the question that readers answered.
        found: the parts, each with where it was found.
        lines: where the parts are looked for.
    """
    if facts.reader is None:
        return found
    seen = {}
    for part, cues in found.items():
        question = questions[part]
        hinted = cues or performed(facts, lines, *ACTS_OF[question], least=_HINTED)[:1]
        seen[part] = hinted if facts.reader.agrees(question, own=bool(cues)) else []
    return seen


def _certain(facts: Facts) -> frozenset[str]:
    """Return the questions that a reader cannot answer otherwise than the lines do."""
    rude = any(line.rude >= PLAINLY_RUDE for line in facts.readings.agent)
    certain = set()
    if facts.said("profanity") or rude or breach_evidence(facts, Act.MOCK, Act.THREATEN, Act.PRESS):
        certain.add("courtesy")
    if facts.said("fallback"):
        certain.add("understanding")
    if unanswered_calls(facts):
        certain |= {"completeness", "confirmed"}
    return frozenset(certain)


def is_missing(facts: Facts, question: str) -> bool:
    """Tell whether a part that was not found is surely not there."""
    return facts.reader is None or facts.reader.hardly(question)


def _fulfilled(facts: Facts, own: Answer, seen: float) -> float:
    """Return how far the requests were fulfilled, by their lines and by the conversation as a whole."""
    stated = stated_status(facts.ledger) or UNKNOWN
    # What was handed over did not fail, and is not up to the one who handed it over.
    handed = facts.reader is not None and facts.reader.of("status", stated)[ESCALATED] >= _LIKELY
    fulfilled = seen if handed or own.score is None else (seen + own.score) / 2
    return _MOSTLY + (1 - _MOSTLY) * fulfilled if handed or stated == RESOLVED else fulfilled


def _told_level(facts: Facts) -> str:
    """Return the level that the lines state: all closed, none of it, or a part; `NONE` where they don't."""
    level = {RESOLVED: _FULL, PARTLY: _HALF, UNRESOLVED: _NOT}
    return level.get(stated_status(facts.ledger) or "", NONE)
