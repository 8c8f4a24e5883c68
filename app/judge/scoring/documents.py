"""Scores as JSON documents: the score, its sections, criteria and coaching."""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any

from app.core.json_documents import with_api_names
from app.judge.dialogue.evidence import CONTRADICTS, Evidence
from app.judge.scorecard.values import Scorecard
from app.judge.scoring.answers import Answer
from app.judge.scoring.score import Judged, Score, SectionScore
from app.judge.wording import clock, shortened

_MOST_COACHED = 3
# Answers with this score or more need no improvement.
_NEEDS_NO_IMPROVEMENT = 0.8
# What costs fewer points is not worth a sentence.
_LEAST_LOSS = 2.5
# Rules whose full score is no strength: something was not said, or was mere routine.
_ROUTINE = frozenset(
    {
        *("bot_identity", "clean_close", "greeting", "purpose"),
        *(
            "clarity",
            "conduct",
            "courtesy",
            "data_handling",
            "misleading_claims",
            "opt_out",
            "forbidden_phrases",
            "no_repetition",
            "respect",
        ),
    }
)
# Rules that miss something: their evidence shows only where it was looked for.
_OF_WHAT_IS_MISSING = frozenset(
    {"bot_identity", "clean_close", "greeting", "purpose", "recap", "required_phrases"}
)
# The evidence of these follows the sentences, and the customer may be who tells it.
_OF_THE_OUTCOME = frozenset({"completeness", "resolution_confirmed"})
# A quote of fewer words tells nothing.
_LEAST_WORDS = 3
# Criteria that fail the evaluation or a section come before those that only cost points.
_URGENCY = {"evaluation": 3, "pass": 2, "section": 1, "none": 0}
_SERVICE = frozenset({"agent", "bot", "supervisor"})


def score_document(score: Score, scorecard: Scorecard) -> dict[str, Any]:
    return {
        "score": score.score,
        "rawScore": score.raw_score,
        "maxScore": 100,
        "complianceScore": score.compliance_score,
        "complianceChecked": [
            item.criterion.title
            for item in score.judged
            if item.criterion.error_class == "compliance"
            and (item.answer.score is not None or _was_looked_for(item))
        ],
        "coverage": score.coverage,
        "noVerdictReason": score.no_verdict_reason,
        "band": score.band,
        "passed": score.passed,
        "passThreshold": scorecard.pass_threshold,
        "autoFail": {
            "triggered": score.scope is not None,
            "scope": score.scope,
            "criteria": list(score.critical_failures),
        },
    }


def _was_looked_for(item: Judged) -> bool:
    """Tell whether there was no occasion for what may not be; a missing statement needs none."""
    answer = item.answer
    return not (answer.unjudged or answer.failure or item.criterion.rule == "disclosure")


def section_document(section: SectionScore) -> dict[str, Any]:
    return {**with_api_names(section), "applicable": section.applicable}


def criterion_document(judged: Judged) -> dict[str, Any]:
    """Show a criterion with its answer, as it was judged first."""
    criterion, answer = judged.criterion, judged.answer
    improvable = answer.score is not None and answer.score < 1
    return {
        "key": criterion.key,
        "title": criterion.title,
        "section": criterion.section,
        "question": criterion.question,
        "type": criterion.kind,
        "weight": criterion.weight,
        "criticality": criterion.criticality,
        "errorClass": criterion.error_class,
        "applicable": answer.applicable,
        "notJudged": answer.unjudged,
        "answer": answer.answer,
        "normalizedScore": answer.score,
        "estimate": answer.estimate,
        "points": None if judged.points is None else round(judged.points, 2),
        "maxPoints": criterion.weight,
        "explanation": " ".join(filter(None, (answer.explanation, answer.note))),
        "confidence": answer.confidence,
        "judgedBy": answer.judged_by,
        "failure": answer.failure,
        "evidence": [item.as_json() for item in answer.evidence],
        "suggestion": (_suggestion(judged) or None) if improvable else None,
        "original": None,
        **({"otherwise": _otherwise_document(answer.otherwise)} if answer.otherwise else {}),
    }


def _otherwise_document(answer: Answer) -> dict[str, Any]:
    return {
        "applicable": answer.applicable,
        "answer": answer.answer,
        "normalizedScore": answer.score,
        "judgedBy": answer.judged_by,
        "explanation": answer.explanation,
        "confidence": answer.confidence,
    }


def coaching_of(score: Score, incidents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """List strengths and improvements, those of the most weight first.

    Args:
        incidents: improvements that belong to no criterion; only what fails the whole evaluation
            comes before them. Without a score they are all that there is.
    """
    if score.problem is not None:
        return {"strengths": [], "improvements": list(incidents[:_MOST_COACHED])}
    judged = [item for item in score.judged if item.answer.score is not None]
    against = {
        piece.segment_id
        for item in judged
        for piece in item.answer.evidence
        if piece.polarity == CONTRADICTS
    } | {piece["segmentId"] for incident in incidents for piece in incident["evidence"]}
    strong = [
        item
        for item in judged
        if item.answer.score == 1 and item.criterion.weight and _is_shown(item, against)
    ]
    weak = [
        item
        for item in judged
        if (item.answer.score or 0) < _NEEDS_NO_IMPROVEMENT
        and item.answer.advice != ""
        and (item.failed or _loss(item)[1] >= _LEAST_LOSS)
    ]
    ranked = [
        (item, _coaching_entry(item, _improvement(item))) for item in _most_important(weak, _loss)
    ]
    told = {piece["segmentId"] for incident in incidents for piece in incident["evidence"]}
    ranked = [(item, entry) for item, entry in ranked if not _is_told(entry, told)]
    fatal = [entry for item, entry in ranked if _loss(item)[0] == _URGENCY["evaluation"]]
    ordinary = [entry for item, entry in ranked if _loss(item)[0] < _URGENCY["evaluation"]]
    return {
        "strengths": [
            _coaching_entry(item, _strength(item)) for item in _most_important(strong, _merit)
        ],
        "improvements": [*fatal, *incidents, *ordinary][:_MOST_COACHED],
    }


def _is_told(entry: Mapping[str, Any], told: Container[str]) -> bool:
    """Tell whether an incident tells of the same lines already."""
    shown = entry["evidence"]
    return bool(shown) and all(piece["segmentId"] in told for piece in shown)


def with_quote(sentence: str, evidence: Evidence | None) -> str:
    """Put a quote, with its time in a recording, in brackets before the first full stop."""
    first, end, others = sentence.partition(". ")
    if evidence is None or not sentence.endswith("."):
        return sentence
    when = "" if evidence.start_ms is None else f"{clock(evidence.start_ms)}, "
    quote = f"({when}\u201c{shortened(evidence.quote)}\u201d)"
    return f"{first} {quote}. {others}" if end else f"{sentence[:-1]} {quote}."


def _strength(item: Judged) -> str:
    told = item.answer.evidence
    if item.criterion.rule not in _OF_THE_OUTCOME:
        told = tuple(piece for piece in told if piece.role in _SERVICE)
    return with_quote(item.answer.explanation, next(iter(told), None))


def _improvement(item: Judged) -> str:
    missing = item.criterion.rule in _OF_WHAT_IS_MISSING
    quote = None if missing else _telling(item.answer.evidence)
    explanation = with_quote(item.answer.explanation, quote)
    return " ".join(filter(None, (explanation, _suggestion(item))))


def _suggestion(item: Judged) -> str | None:
    advice = item.answer.advice
    return item.criterion.suggestion if advice is None else advice


def _telling(evidence: Sequence[Evidence]) -> Evidence | None:
    telling = (piece for piece in evidence if len(piece.quote.split()) >= _LEAST_WORDS)
    return next(telling, None)


def _is_shown(item: Judged, against: Container[str]) -> bool:
    """Tell whether a strength is shown by lines of the service side that nothing counts against."""
    if not item.answer.explanation or item.criterion.rule in _ROUTINE:
        return False
    if item.answer.judged_by != "rule":
        return True
    quoted = [piece.segment_id for piece in item.answer.evidence if piece.role in _SERVICE]
    return bool(quoted) and not any(segment in against for segment in quoted)


def _merit(item: Judged) -> tuple[float, ...]:
    # Spoken words deserve more praise than measured times.
    return item.answer.judged_by != "metric", item.criterion.weight


def _loss(item: Judged) -> tuple[float, ...]:
    urgency = _URGENCY[item.criterion.criticality] if item.failed else 0
    return urgency, item.criterion.weight * (1 - (item.answer.score or 0))


def _most_important(
    items: Iterable[Judged], rank: Callable[[Judged], tuple[float, ...]]
) -> list[Judged]:
    # The sort is stable, so that equal weights keep the order of the scorecard.
    return sorted(items, key=lambda item: [-value for value in rank(item)])[:_MOST_COACHED]


def _coaching_entry(item: Judged, text: str) -> dict[str, Any]:
    return {
        "text": text,
        "criterionKey": item.criterion.key,
        "evidence": [piece.as_json() for piece in item.answer.evidence],
    }
