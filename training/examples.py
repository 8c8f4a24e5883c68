"""Conversations of other data sets: one JSON object a line, with messages, labels and a split."""

import json
from pathlib import Path
from typing import Any

from app.transcript import Role, Segment, Transcript


def records_in(file: Path) -> list[dict[str, Any]]:
    """Read the conversations of a file of JSON lines."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]


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
