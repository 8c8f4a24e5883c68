"""Trains the shipped models and writes them with a manifest of what they were made from."""

from collections import Counter
from pathlib import Path
from typing import Any

import orjson

from app.ai.insights.linear import HandSetRule
from training.examples import digest_of, examples_of, records_in
from training.fitting import Recipe, figures_of, model_of, rule_as_json, unseen_families
from training.turn_labels import BANK, SIDES, classifier_of, rows_in

DIALOGUES, TURNS = "star.jsonl", "turns.jsonl.gz"
_STAR = {
    "repository": "RasaHQ/STAR",
    "commit": "3058975",
    "licence": "MIT",
    "notice": "Copyright (c) 2020 Rasa Technologies GmbH",
}
_TURN_SOURCES = {
    "bank": {"origin": "training/data/bank.jsonl", "licence": "MIT"},
    "go": {"origin": "GoEmotions, Demszky et al. 2020", "licence": "CC BY 4.0"},
    "mdg": {"origin": "MultiDoGO, Amazon", "licence": "CDLA-Permissive-1.0"},
    "star": {"origin": "RasaHQ/STAR", "licence": "MIT"},
    "starc": {"origin": "RasaHQ/STAR", "licence": "MIT"},
}
# How it ends, how hard it was and how the customer felt: what tells in every task alike.
_COURSE = HandSetRule(
    bias=0.9,
    weights=(("ending", 1.0), ("friction", -0.5), ("sentimentMean", 2.0)),
    strange=0.25,
    familiar=0.35,
)
RECIPES = (
    Recipe("resolved", "resolved", 2, 0.5, 0.3, _COURSE),
    Recipe("annoyed", "customer_annoyed", 8, 1.0, 1.0, None),
)


class DataMissing(FileNotFoundError):
    """The folder lacks training data; the message says which file, and what it must hold."""


def train(data: Path, into: Path, *, bank: Path = BANK) -> dict[str, Any]:
    """Write a file for every model and `manifest.json`; return the manifest.

    The same files give the same bytes: nothing is drawn by chance. `DataMissing` where a file is
    not in `data`.
    """
    for name, holds in (
        (DIALOGUES, "conversations of STAR with their labels, one JSON object a line"),
        (TURNS, "single turns of GoEmotions, MultiDoGO and STAR with their labels"),
    ):
        if not (data / name).is_file():
            raise DataMissing(f"{data / name} is missing: {holds} (docs/judge-model.md).")
    into.mkdir(parents=True, exist_ok=True)
    manifest = {
        "sources": {
            DIALOGUES: {**_STAR, "sha256": digest_of(data / DIALOGUES)},
            **_turn_sources(data, bank),
        },
        "models": {**_outcome_models(data, into), **_turn_models(data, bank, into)},
    }
    text = orjson.dumps(manifest, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    (into / "manifest.json").write_bytes(text)
    return manifest


def _outcome_models(data: Path, into: Path) -> dict[str, Any]:
    records = records_in(data / DIALOGUES)
    made = {}
    for recipe in RECIPES:
        examples = examples_of(records, recipe.label)
        document = model_of(recipe, [item for item in examples if item.split == "train"])
        _write(into / f"{recipe.name}.json", document)
        made[recipe.name] = {
            "label": recipe.label,
            "trainedOn": sum(item.split == "train" for item in examples),
            "features": len(document["features"]),
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
    return made


def _turn_models(data: Path, bank: Path, into: Path) -> dict[str, Any]:
    made = {}
    for side in SIDES:
        foreign = [row for row in rows_in(data / TURNS, side) if row.source != "bank"]
        rows = [*foreign, *rows_in(bank, side)]
        document = classifier_of(side, rows)
        _write(into / f"{side}-turns.json", document)
        made[f"{side}-turns"] = {
            "trainedOn": dict(sorted(Counter(row.source for row in rows).items())),
            "labels": document["labels"],
            "ngrams": len(document["weights"]),
        }
    return made


def _turn_sources(data: Path, bank: Path) -> dict[str, Any]:
    return {
        TURNS: {"sources": _TURN_SOURCES, "sha256": digest_of(data / TURNS)},
        bank.name: {"licence": "MIT", "sha256": digest_of(bank)},
    }


def _write(file: Path, document: dict[str, Any]) -> None:
    file.write_bytes(orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE))
