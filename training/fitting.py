"""Fits a linear model by its recipe, and measures it on examples and tasks that it was not fitted to."""

import math
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.ai.insights.linear import LIMIT, ConversationModels, HandSetRule, words_of
from training.examples import Example

Numbers = NDArray[np.float64]
_STEPS = 15
_LEAST_CURVATURE = 1e-6
_LEAST_SCALE = 1e-3
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


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one model is made.

    A gram must be in `documents` conversations. `features_share` weighs the features against the
    grams under the one `penalty`. `rule` is set by hand, and judges what is like none of the tasks
    of the examples.
    """

    name: str
    label: str
    documents: int
    features_share: float
    penalty: float
    rule: HandSetRule | None


def model_of(recipe: Recipe, examples: list[Example]) -> dict[str, Any]:
    """Fit one model; the document is what `app.ai.insights.linear` reads."""
    counts = Counter(gram for item in examples for gram in item.grams)
    grams = sorted(gram for gram, count in counts.items() if count >= recipe.documents)
    rarity = np.array([math.log(1 + len(examples) / counts[gram]) for gram in grams])
    means, scales, columns = _features(examples)
    names = tuple(examples[0].features)
    share = math.sqrt(recipe.features_share / len(names))
    rows = np.hstack([_grams(examples, grams, rarity), columns * share])
    labels = _labels(examples)
    weights, bias = fit(rows, labels, recipe.penalty)
    of_features = weights[len(grams) :] * share
    return {
        "name": recipe.name,
        "bias": round(bias, 4),
        "features": [
            [name, round(float(mean), 5), round(float(scale), 5), round(float(weight), 4)]
            for name, mean, scale, weight in zip(names, means, scales, of_features, strict=True)
        ],
        "ngrams": {
            gram: round(float(weight), 3)
            for gram, weight in zip(grams, weights[: len(grams)] * rarity, strict=True)
        },
        "rule": rule_as_json(recipe.rule),
        "tasks": None if recipe.rule is None else _tasks_of(examples, recipe.documents),
    }


def _features(examples: list[Example]) -> tuple[Numbers, Numbers, Numbers]:
    values = np.array([list(item.features.values()) for item in examples])
    means, scales = values.mean(axis=0), values.std(axis=0)
    scales = np.where(scales < _LEAST_SCALE, 1.0, scales)
    return means, scales, np.clip((values - means) / scales, -LIMIT, LIMIT)


def _grams(examples: list[Example], grams: list[str], rarity: Numbers) -> Numbers:
    place = {gram: index for index, gram in enumerate(grams)}
    rows = np.zeros((len(examples), len(grams)))
    for row, item in zip(rows, examples, strict=True):
        known = [place[gram] for gram in item.grams if gram in place]
        if known:
            row[known] = rarity[known] / math.sqrt(len(known))
    return rows


def _tasks_of(examples: list[Example], documents: int) -> dict[str, Any]:
    """Describe each family of examples by its words; what is told is what `tasks_from` reads.

    A word must be in `documents` conversations, of whatever family.
    """
    words = [words_of(item.grams) for item in examples]
    counts = Counter(word for found in words for word in found)
    rarity = {
        word: math.log(1 + len(examples) / count)
        for word, count in sorted(counts.items())
        if count >= documents
    }
    families = sorted({item.family for item in examples})
    return {
        "unknown": round(math.log(1 + len(examples) / documents), 3),
        "rarity": {word: round(value, 3) for word, value in rarity.items()},
        "weights": {
            family: _weights(
                [
                    found
                    for item, found in zip(examples, words, strict=True)
                    if item.family == family
                ],
                rarity,
            )
            for family in families
        },
    }


def _weights(words: list[list[str]], rarity: dict[str, float]) -> dict[str, float]:
    counts = Counter(word for found in words for word in found if word in rarity)
    mean = {word: rarity[word] * count / len(words) for word, count in sorted(counts.items())}
    length = math.sqrt(math.fsum(value**2 for value in mean.values())) or 1.0
    weights = {word: round(rarity[word] * value / length, 3) for word, value in mean.items()}
    return {word: weight for word, weight in weights.items() if weight}


def fit(rows: Numbers, labels: Numbers, penalty: float) -> tuple[Numbers, float]:
    """Fit a logistic regression: return the weight of each column and the bias.

    In its dual form: as many unknowns as examples, however many n-grams; by Newton steps.
    """
    count = len(labels)
    kernel = rows @ rows.T
    dual, bias = np.zeros(count), 0.0
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-(kernel @ dual + bias)))
        curvature = chance * (1 - chance) + _LEAST_CURVATURE
        target = kernel @ dual + bias + (labels - chance) / curvature
        system = np.ones((count + 1, count + 1))
        system[:count, :count] = kernel + penalty * np.diag(1 / curvature)
        system[count, count] = 0.0
        solved = np.linalg.solve(system, np.append(target, 0.0))
        dual, bias = solved[:count], float(solved[count])
    return rows.T @ dual, bias


def rule_as_json(rule: HandSetRule | None) -> dict[str, Any] | None:
    """Tell a rule as the document of a model does."""
    return None if rule is None else {**asdict(rule), "weights": dict(rule.weights)}


def scores_of(document: dict[str, Any], examples: list[Example]) -> list[float]:
    """Return the probability, 0 to 1, that a model gives each example."""
    model = ConversationModels([document])
    return [model.probabilities(item.features, item.grams)[document["name"]] for item in examples]


def figures_of(document: dict[str, Any], examples: list[Example]) -> dict[str, Any]:
    """Measure a model on examples that it was not fitted to."""
    labels = _labels(examples)
    return {
        "conversations": len(examples),
        "yes": int(labels.sum()),
        "auc": _auc(scores_of(document, examples), labels),
    }


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
    labels = _labels(held_out)
    if recipe.rule is None or not others or len(set(labels)) < 2:
        return None
    return {
        "families": list(words),
        "conversations": len(held_out),
        "yes": int(labels.sum()),
        "auc": _auc(scores_of(model_of(recipe, others), held_out), labels),
        "ruleAuc": _auc([recipe.rule.logit(item.features) for item in held_out], labels),
    }


def _mean(folds: list[dict[str, Any]], key: str) -> float | None:
    total = sum(fold["conversations"] for fold in folds)
    weighed = sum(fold[key] * fold["conversations"] for fold in folds)
    return round(float(weighed / total), 4) if total else None


def area_under_curve(scores: Numbers, labels: Numbers) -> float | None:
    """Return the AUC, ties counted half; None where only one label is there."""
    positive = labels > 0.5
    yes, no = int(positive.sum()), int((~positive).sum())
    if not yes or not no:
        return None
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return float((ranks[positive].sum() - yes * (yes + 1) / 2) / (yes * no))


def _labels(examples: list[Example]) -> Numbers:
    return np.array([float(item.label) for item in examples])


def _auc(scores: list[float], labels: Numbers) -> float | None:
    area = area_under_curve(np.array(scores), labels)
    return None if area is None else round(area, 4)
