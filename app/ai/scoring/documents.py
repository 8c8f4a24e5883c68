"""Scored criteria and sections as results show them."""

from typing import Any

from app.ai.scoring.score import Judged, SectionScore


def section_document(section: SectionScore) -> dict[str, Any]:
    """Show the score of a section."""
    return {
        "key": section.key,
        "title": section.title,
        "weight": section.weight,
        "score": section.score,
        "rawScore": section.raw_score,
        "applicable": section.applicable,
        "autoFailed": section.auto_failed,
        "criteriaCount": section.criteria_count,
    }


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
        "normalizedScore": None if answer.score is None else round(answer.score, 4),
        "points": None if judged.points is None else round(judged.points, 2),
        "maxPoints": criterion.weight,
        "explanation": " ".join(filter(None, (answer.explanation, answer.note))),
        "confidence": answer.confidence,
        "judgedBy": answer.judged_by,
        "failure": answer.failure,
        "evidence": [item.as_json() for item in answer.evidence],
        "suggestion": (answer.advice or criterion.suggestion) if improvable else None,
        "original": None,
    }
