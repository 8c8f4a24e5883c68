"""Fits a linear model by its recipe, and measures it on examples that it was not fitted to."""

import math
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from app.ai.insights.linear import LIMIT, ConversationModels, HandSetRule
from training.examples import Example
from training.logistic import Numbers, area_under_curve, fit
from training.tasks import tasks_of

_LEAST_SCALE = 1e-3


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
    labels = np.array([float(item.label) for item in examples])
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
        "tasks": None if recipe.rule is None else tasks_of(examples, recipe.documents),
    }


def rule_as_json(rule: HandSetRule | None) -> dict[str, Any] | None:
    """Tell a rule as the document of a model does."""
    return None if rule is None else {**asdict(rule), "weights": dict(rule.weights)}


def scores_of(document: dict[str, Any], examples: list[Example]) -> list[float]:
    """Return the probability, 0 to 1, that a model gives each example."""
    model = ConversationModels([document])
    return [model.probabilities(item.features, item.grams)[document["name"]] for item in examples]


def figures_of(document: dict[str, Any], examples: list[Example]) -> dict[str, Any]:
    """Measure a model on examples that it was not fitted to."""
    scores = scores_of(document, examples)
    labels = [float(item.label) for item in examples]
    area = area_under_curve(np.array(scores), np.array(labels))
    return {
        "conversations": len(examples),
        "yes": int(sum(labels)),
        "auc": None if area is None else round(area, 4),
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
