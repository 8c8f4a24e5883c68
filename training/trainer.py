"""Trains the shipped models and writes them with a manifest of what they were made from."""

import json
from pathlib import Path
from typing import Any

from app.ai.facts.features import FEATURES
from app.ai.insights.linear import Rule
from training.examples import digest_of, examples_of, records_in
from training.families import unseen_families
from training.fitting import Recipe, figures_of, model_of, rule_as_json

_SOURCE = {
    "file": "star.jsonl",
    "repository": "RasaHQ/STAR",
    "commit": "3058975",
    "licence": "MIT",
    "notice": "Copyright (c) 2020 Rasa Technologies GmbH",
}
# How it ends, how hard it was and how the customer felt: what tells in every task alike.
_COURSE = Rule(
    bias=0.9,
    weights=(("ending", 1.0), ("friction", -0.5), ("sentimentMean", 2.0)),
    strange=0.25,
    familiar=0.35,
)
RECIPES = (
    Recipe("resolved", "resolved", 2, 0.5, 0.3, _COURSE),
    Recipe("annoyed", "customer_annoyed", 8, 1.0, 1.0, None),
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
                "rule": rule_as_json(recipe.rule),
            },
            "dev": figures_of(document, [item for item in examples if item.split == "dev"]),
            **(
                {} if recipe.rule is None else {"unseenFamilies": unseen_families(recipe, examples)}
            ),
        }
    manifest = {
        "source": {**_SOURCE, "sha256": digest_of(file)},
        "seed": None,
        "features": len(FEATURES),
        "models": models,
    }
    _write(into / "manifest.json", manifest)
    return manifest


def _write(file: Path, document: dict[str, Any]) -> None:
    text = json.dumps(document, ensure_ascii=False, indent=0, separators=(",", ":"))
    file.write_text(text + "\n", "utf-8")
