"""Second look at the answers of the rules: what a reader would hardly say is not said."""

from collections.abc import Mapping
from dataclasses import replace

from app.judge.acts.catalogue import Act
from app.judge.dialogue.cues import Cue
from app.judge.dialogue.turns import Line
from app.judge.facts.conversation_facts import Facts, performed
from app.judge.facts.requests import unanswered_calls
from app.judge.ledger.opinion import NONE
from app.judge.ledger.status import RESOLVED, UNRESOLVED, stated_status
from app.judge.scorecard.values import Criterion
from app.judge.scoring.answers import Answer, not_applicable, on_scale, scaled, unjudged
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
# The least scores of the levels.
_FULL_FROM, _HALF_FROM = 0.8, 0.25
# The least that is fulfilled where lines state that all was done.
_MOSTLY = 0.4
# From here on a line is rude whatever a reader would say of the whole.
_PLAINLY_RUDE = 0.85
# How likely an answer has to be that lines show, and one that says that nothing went wrong.
_OF_LINES, _OF_ABSENCE = 0.5, 0.7
# How likely the act is at least where a reader sees a part that no phrase shows.
_HINTED = 0.1


def own_answer(answer: Answer) -> str:
    """Name the answer of a rule as the readers' answers are named."""
    if answer.score is None:
        return NONE
    return answer.answer if isinstance(answer.answer, str) else _level(answer.score)


def _level(score: float) -> str:
    return _FULL if score >= _FULL_FROM else _HALF if score >= _HALF_FROM else _NOT


def looked_at_again(facts: Facts, criterion: Criterion, answer: Answer) -> Answer:
    """Keep an answer that a reader would give, with how likely that is; say nothing otherwise."""
    question = QUESTIONS.get(criterion.rule or "")
    reader = facts.reader
    if question is None or reader is None or answer.unjudged:
        return answer
    if facts.said("profanity", "fallback") or unanswered_calls(facts) or _is_rude(facts):
        return answer
    own = own_answer(answer)
    verdict, likely = reader.verdict(question, own, _least(question, own))
    if question == "completeness" and answer.applicable and verdict != NONE:
        return on_scale(_fulfilled(facts, answer, likely), criterion.options)
    if verdict == own:
        confidence = round(likely[own], 4)
        return replace(answer, confidence=confidence) if answer.applicable else answer
    if verdict == NONE:
        return not_applicable(facts.sentence(f"no_need.{question}"))
    return unjudged(sentence("not_judged.unsure"))


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


def _is_rude(facts: Facts) -> bool:
    return any(line.rude >= _PLAINLY_RUDE for line in facts.readings.agent)


def is_missing(facts: Facts, question: str) -> bool:
    """Tell whether a part that was not found is surely not there."""
    return facts.reader is None or facts.reader.hardly(question)


def _least(question: str, own: str) -> float:
    # No single line tells that nothing went wrong.
    return _OF_ABSENCE if own == _FULL and question in ("clarity", "understanding") else _OF_LINES


def _fulfilled(facts: Facts, own: Answer, likely: Mapping[str, float]) -> Answer:
    """Answer how far the requests were fulfilled, by their lines and by the conversation as a whole.

    What lines state outright is not contradicted; lines that tell another story are left out.
    """
    levels = {level: share for level, share in likely.items() if level != NONE}
    seen = (levels[_FULL] + levels[_HALF] / 2) / sum(levels.values())
    fulfilled = seen if own.score is None else (seen + own.score) / 2
    stated = stated_status(facts.ledger)
    if stated == RESOLVED:
        fulfilled = _MOSTLY + (1 - _MOSTLY) * fulfilled
    answer = scaled(fulfilled, own.explanation, confidence=0.0, evidence=own.evidence)
    level = _level(fulfilled)
    ends_well = [entry.closed for entry in facts.ledger.matters]
    is_told = all(ends_well) if level == _FULL else not any(ends_well) and level == _NOT
    is_told = is_told or (stated == UNRESOLVED and level != _FULL)
    return replace(
        answer,
        explanation=own.explanation if is_told else facts.sentence(f"probably.{level}"),
        confidence=round(levels[level], 4),
        advice=own.advice if is_told else "",
    )
