"""Labelled conversations: their lines, the acts of each line, and the outcome that a reader gave."""

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from app.judge.acts.catalogue import CUSTOMER_ACTS, SERVICE_ACTS, Act
from app.judge.acts.features import Heard
from app.judge.acts.reading import heard_line
from app.judge.dialogue.cues import find_cues
from app.judge.dialogue.turns import dialogue_of
from app.judge.insights.telling import OPEN, OUTCOME
from training.examples import transcript_of

DATA = Path(__file__).parent.parent / "data"
LABELLED, READ_TWICE = DATA / "acts.jsonl.gz", DATA / "acts-second.jsonl.gz"
ANSWERED = DATA / "answers.jsonl.gz"
# Conversations that were read whole, without labels of their lines.
READ = DATA / "read.jsonl.gz"
# Conversations with the sentences that a reader would quote.
QUOTED = DATA / "quoted.jsonl.gz"
# What no model is fitted to, so that it can be measured on them.
HELD_OUT_TRADES, HELD_OUT_SOURCE = frozenset({"insurance", "car", "education"}), "tau"
STATUSES = ("resolved", "partially_resolved", "unresolved", "escalated", "unknown")


@dataclass(frozen=True, slots=True)
class Talk:
    """A labelled conversation: `acts` has a set for each of the lines.

    `outcome` has `status`, and `satisfaction`, `effectiveness` and `manner`, each 1 to 5.
    """

    id: str
    source: str
    trade: str
    channel: str
    lines: tuple[Heard, ...]
    acts: tuple[frozenset[Act], ...]
    outcome: dict[str, Any]

    @property
    def held_out(self) -> bool:
        return self.source == HELD_OUT_SOURCE or self.trade in HELD_OUT_TRADES


def talks_in(file: Path = LABELLED) -> list[Talk]:
    """Read labelled conversations, one JSON object a line."""
    return [_talk(orjson.loads(row)) for row in gzip.decompress(file.read_bytes()).splitlines()]


def _talk(record: dict[str, Any]) -> Talk:
    roles = {"c": "customer", "a": "agent"}
    messages = [{"role": roles[side], "text": text} for side, text, *_ in record["lines"]]
    dialogue = dialogue_of(transcript_of(messages), channel="chat", language="en")
    cues = find_cues(dialogue)
    return Talk(
        id=record["id"],
        source=record["source"],
        trade=record["trade"],
        channel=record["channel"],
        lines=tuple(heard_line(line, cues.in_line(line)) for line in dialogue.lines),
        acts=tuple(
            frozenset(map(Act, *acts)) if acts else frozenset() for _, _, *acts in record["lines"]
        ),
        outcome=record["outcome"],
    )


def answers_in(file: Path = ANSWERED) -> dict[str, dict[str, str]]:
    """Read the answers that a reader gave to the questions about each conversation, by its id."""
    rows = map(orjson.loads, gzip.decompress(file.read_bytes()).splitlines())
    return {row["id"]: row["answers"] for row in rows}


def quotes_in(file: Path) -> dict[str, dict[str, list[tuple[int, str]]]]:
    """Read the quotes that tell the outcome of each conversation, and what is open, with their lines, by its id."""
    rows = map(orjson.loads, gzip.decompress(file.read_bytes()).splitlines())
    return {
        row["id"]: {
            purpose: [(place, quote) for place, quote in row[field]]
            for purpose, field in ((OUTCOME, "told"), (OPEN, "open"))
        }
        for row in rows
    }


def acts_of_side(*, customer: bool) -> Sequence[Act]:
    """Return the acts that a side can perform."""
    return CUSTOMER_ACTS if customer else SERVICE_ACTS


def agreement(*, customer: bool) -> Iterator[tuple[Act, int, float | None]]:
    """Yield each act with how often it was given by two readers, and Cohen's kappa of the two.

    None where only one of the answers, yes or no, was given.
    """
    first = {talk.id: talk for talk in talks_in()}
    pairs = [
        (ours, theirs)
        for again in talks_in(READ_TWICE)
        for line, ours, theirs in zip(again.lines, first[again.id].acts, again.acts, strict=True)
        if line.by_customer is customer
    ]
    for act in acts_of_side(customer=customer):
        answers = [(act in ours, act in theirs) for ours, theirs in pairs]
        yield act, sum(a + b for a, b in answers), _kappa(answers)


def _kappa(answers: Sequence[tuple[bool, bool]]) -> float | None:
    count = len(answers)
    observed = sum(ours is theirs for ours, theirs in answers) / count
    first = sum(ours for ours, _ in answers) / count
    second = sum(theirs for _, theirs in answers) / count
    expected = first * second + (1 - first) * (1 - second)
    return None if expected == 1 else (observed - expected) / (1 - expected)
