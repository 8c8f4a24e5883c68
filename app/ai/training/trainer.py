"""Trains the shipped models and writes them with a manifest of what they were made from."""

import json
import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from app.ai.features import FEATURES
from app.ai.linear import LIMIT, model_from
from app.ai.training.examples import Example, digest_of, examples_of, records_in
from app.ai.training.logistic import Numbers, area_under_curve, fit

_SOURCE = {
    "file": "star.jsonl",
    "repository": "RasaHQ/STAR",
    "commit": "3058975",
    "licence": "MIT",
    "notice": "Copyright (c) 2020 Rasa Technologies GmbH",
}
_LEAST_SCALE = 1e-3


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one model is made.

    A gram must be in `documents` conversations. `features_share` weighs the features against the
    grams under the one `penalty`. `prior` is added by hand to the weight of the feature `ending`,
    which holds in tasks that the examples don't show.
    """

    name: str
    label: str
    documents: int
    features_share: float
    penalty: float
    prior: float


RECIPES = (
    Recipe("resolved", "resolved", 3, 0.5, 0.3, 0.5),
    Recipe("annoyed", "customer_annoyed", 8, 1.0, 1.0, 0.0),
)


def train(data: Path, into: Path) -> dict[str, Any]:
    """Write `<name>.json` of every recipe and `manifest.json`; return the manifest.

    The same files give the same bytes: nothing is drawn by chance. FileNotFoundError where the
    source is not in `data`.
    """
    file = data / _SOURCE["file"]
    records = records_in(file)
    into.mkdir(parents=True, exist_ok=True)
    models = {}
    for recipe in RECIPES:
        examples = examples_of(records, recipe.label)
        document = model_of(recipe, [item for item in examples if item.split == "train"])
        _write(into / f"{recipe.name}.json", document)
        models[recipe.name] = {
            "label": recipe.label,
            "trainedOn": sum(item.split == "train" for item in examples),
            "ngrams": len(document["ngrams"]),
            "recipe": {
                "documents": recipe.documents,
                "featuresShare": recipe.features_share,
                "penalty": recipe.penalty,
                "prior": recipe.prior,
            },
            "dev": figures_of(document, [item for item in examples if item.split == "dev"]),
        }
    manifest = {
        "source": {**_SOURCE, "sha256": digest_of(file)},
        "seed": None,
        "features": len(FEATURES),
        "models": models,
    }
    _write(into / "manifest.json", manifest)
    return manifest


def model_of(recipe: Recipe, examples: list[Example]) -> dict[str, Any]:
    """Fit one model; the document is what `app.ai.linear` reads."""
    counts = Counter(gram for item in examples for gram in item.grams)
    grams = sorted(gram for gram, count in counts.items() if count >= recipe.documents)
    rarity = np.array([math.log(1 + len(examples) / counts[gram]) for gram in grams])
    means, scales, columns = _features(examples)
    share = math.sqrt(recipe.features_share / len(FEATURES))
    rows = np.hstack([_grams(examples, grams, rarity), columns * share])
    labels = np.array([float(item.label) for item in examples])
    weights, bias = fit(rows, labels, recipe.penalty)
    of_features = weights[len(grams) :] * share
    of_features[FEATURES.index("ending")] += recipe.prior
    return {
        "name": recipe.name,
        "bias": round(bias, 4),
        "features": [
            [name, round(float(mean), 5), round(float(scale), 5), round(float(weight), 4)]
            for name, mean, scale, weight in zip(FEATURES, means, scales, of_features, strict=True)
        ],
        "ngrams": {
            gram: round(float(weight), 3)
            for gram, weight in zip(grams, weights[: len(grams)] * rarity, strict=True)
        },
    }


def figures_of(document: dict[str, Any], examples: list[Example]) -> dict[str, Any]:
    """Measure a model on examples that it was not fitted to."""
    model = model_from(document)
    scores = [model.probability(item.features, item.grams) for item in examples]
    labels = [float(item.label) for item in examples]
    area = area_under_curve(np.array(scores), np.array(labels))
    return {
        "conversations": len(examples),
        "yes": int(sum(labels)),
        "auc": None if area is None else round(area, 4),
    }


def _features(examples: list[Example]) -> tuple[Numbers, Numbers, Numbers]:
    values = np.array([[item.features[name] for name in FEATURES] for item in examples])
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


def _write(file: Path, document: dict[str, Any]) -> None:
    text = json.dumps(document, ensure_ascii=False, indent=0, separators=(",", ":"))
    file.write_text(text + "\n", "utf-8")
