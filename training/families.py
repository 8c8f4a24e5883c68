"""Evaluation of a recipe on families of tasks that it was not trained on."""

from typing import Any

import numpy as np

from training.examples import Example
from training.fitting import Recipe, model_of, scores_of
from training.logistic import area_under_curve

# Words of the questions that were asked of the people who labelled. Families of one domain stay
# together, so that a model meets none of the words of those that it is measured on.
_FOLDS = (
    ("hotel", "service request"),
    ("party", "account"),
    ("combat deck", "life support", "flight"),
    ("restaurant", "ride"),
    ("trivia",),
    ("weather",),
)


def unseen_families(recipe: Recipe, examples: list[Example]) -> dict[str, Any]:
    """Measure a recipe on each fold of families, fitted to the training split of the others.

    `auc` is the mean of the folds, weighed by their conversations; `ruleAuc` that of the rule by
    itself. Both are None without a fold that holds both labels.
    """
    folds = [fold for words in _FOLDS if (fold := _measured(recipe, examples, words))]
    return {
        "conversations": sum(fold["conversations"] for fold in folds),
        "auc": _mean(folds, "auc"),
        "ruleAuc": _mean(folds, "ruleAuc"),
        "folds": folds,
    }


def _measured(
    recipe: Recipe, examples: list[Example], words: tuple[str, ...]
) -> dict[str, Any] | None:
    held_out = [item for item in examples if any(word in item.family for word in words)]
    others = [item for item in examples if item.split == "train" and item not in held_out]
    labels = np.array([float(item.label) for item in held_out])
    if recipe.rule is None or not others or len(set(labels)) < 2:
        return None
    ours = scores_of(model_of(recipe, others), held_out)
    by_rule = [recipe.rule.logit(item.features) for item in held_out]
    return {
        "families": list(words),
        "conversations": len(held_out),
        "yes": int(labels.sum()),
        "auc": _rounded(area_under_curve(np.array(ours), labels)),
        "ruleAuc": _rounded(area_under_curve(np.array(by_rule), labels)),
    }


def _mean(folds: list[dict[str, Any]], key: str) -> float | None:
    total = sum(fold["conversations"] for fold in folds)
    weighed = sum(fold[key] * fold["conversations"] for fold in folds)
    return round(float(weighed / total), 4) if total else None


def _rounded(area: float | None) -> float | None:
    return None if area is None else round(area, 4)
