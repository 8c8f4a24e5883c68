"""Fusion of the answers of rules and model to one criterion."""

from app.ai.scorecard.values import Criterion
from app.ai.scoring.answers import Answer
from app.ai.wording.sentences import sentence

_QUOTES_OF_MODEL, _QUOTES_OF_RULE = 2, 1


def answer_of_both(rule: Answer, model: Answer, criterion: Criterion, *, hybrid: bool) -> Answer:
    """Return the model's answer, or in a hybrid the mean where both have judged.

    A critical failure that a rule has shown with a quote always stays.
    """
    if _is_shown_failure(rule, criterion):
        return rule
    if not hybrid or rule.score is None:
        return model
    if model.score is None:
        return rule
    return _mean(rule, model, criterion)


def _is_shown_failure(rule: Answer, criterion: Criterion) -> bool:
    return (
        criterion.criticality != "none"
        and rule.score is not None
        and rule.score <= criterion.fails_at
        and bool(rule.evidence)
    )


def _mean(rule: Answer, model: Answer, criterion: Criterion) -> Answer:
    scores = (rule.score or 0.0, model.score or 0.0)
    mean = sum(scores) / 2
    nearest = min(
        criterion.options,
        key=lambda option: (abs(option.score - mean), option.answer != model.answer),
    )
    of_model = model.evidence[:_QUOTES_OF_MODEL]
    of_rule = [piece for piece in rule.evidence if piece not in of_model][:_QUOTES_OF_RULE]
    return Answer(
        applicable=True,
        explanation=sentence("model.both", model=model.explanation, rules=rule.explanation),
        judged_by=model.judged_by,
        answer=nearest.answer,
        score=mean,
        confidence=round(((rule.confidence or 0.0) + (model.confidence or 0.0)) / 2, 4),
        evidence=(*of_model, *of_rule),
    )
