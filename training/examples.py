"""Labelled conversations as examples: one JSON object a line, with messages, labels and a split."""

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.ai.dialogue.cues import find_cues
from app.ai.dialogue.turns import dialogue_of
from app.ai.facts.model_input import model_input_of
from app.ai.transcript import Role, Segment, Transcript


@dataclass(frozen=True, slots=True)
class Example:
    """`family` is what was asked of the people who labelled it, which tells tasks apart."""

    id: str
    split: str
    family: str
    label: bool
    features: dict[str, float]
    grams: Collection[str]


def records_in(file: Path) -> list[dict[str, Any]]:
    """Read the conversations of a file of JSON lines."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]


def digest_of(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def examples_of(records: list[dict[str, Any]], label: str) -> list[Example]:
    """Read those conversations that carry a label."""
    examples = []
    for record in records:
        if label not in record["labels"]:
            continue
        dialogue = dialogue_of(transcript_of(record["messages"]), channel="chat", language="en")
        reading = model_input_of(dialogue, find_cues(dialogue))
        examples.append(
            Example(
                id=record["id"],
                split=record["split"],
                family=str(record["labels"].get("resolved_question", "")),
                label=bool(record["labels"][label]),
                features=reading.features,
                grams=reading.grams,
            )
        )
    return examples


def transcript_of(messages: list[dict[str, Any]]) -> Transcript:
    """Make a transcript of messages, each with a role and a text."""
    return Transcript(
        tuple(
            Segment(f"seg_{index + 1:04d}", index, item["role"], Role(item["role"]), item["text"])
            for index, item in enumerate(messages)
        ),
        speaker_attribution="messages",
        language="en",
    )
