"""Masker benchmark: recall and precision by kind on labelled sentences, and its cost.

    python -m bench.redaction [--misses] [FILE.jsonl ...]

Without files it reads the two sets in tests/data/redaction: `tuning`, which the masker was written
with, and `held`, which was written before it was tuned and never looked at for that. A line is one
conversation; `{kind|text}` marks what is to be found. An entity is found when its kind is right and
its ends are, apart from punctuation; one that goes over several turns counts in each.
"""

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from app.redaction.conversation_text import SpeakerTurn
from app.redaction.entities import Entity
from app.redaction.masking import mask_turns

SETS = Path(__file__).parent.parent / "tests" / "data" / "redaction"
_MARK = re.compile(r"\{(\w+)\|([^}]*)\}")
_ROUNDS = 20


class Label(NamedTuple):
    """An entity in a turn of a conversation."""

    kind: str
    turn: int
    start: int
    end: int


class Figures(NamedTuple):
    """Numbers of those found rightly, wrongly, and not at all, by kind."""

    right: Counter[str]
    wrong: Counter[str]
    missed: Counter[str]


def conversations(file: Path) -> Iterator[tuple[list[SpeakerTurn], set[Label]]]:
    """Read the labelled conversations of a file."""
    for line in file.read_text(encoding="utf-8").splitlines():
        turns, labels = [], set()
        for place, each in enumerate(json.loads(line)["turns"]):
            text, found = _unmarked(each["text"], place)
            turns.append(SpeakerTurn(each["speaker"], text))
            labels |= found
        yield turns, labels


def measured(
    talks: Iterable[tuple[list[SpeakerTurn], set[Label]]], *, tell: bool = False
) -> Figures:
    """Compare what the masker finds with what is labelled."""
    figures = Figures(Counter(), Counter(), Counter())
    for turns, labels in talks:
        found = _found(turns)
        figures.right.update(each.kind for each in found & labels)
        figures.wrong.update(each.kind for each in found - labels)
        figures.missed.update(each.kind for each in labels - found)
        if tell:
            for word, some in (("wrong", found - labels), ("missed", labels - found)):
                for each in some:
                    text = turns[each.turn].text
                    print(f"  {word} {each.kind}: {text[each.start : each.end]!r} in {text!r}")
    return figures


def _found(turns: list[SpeakerTurn]) -> set[Label]:
    return {
        Label(each.entity.value, place, *_trimmed(turns[place].text, each.start, each.end))
        for place, masked in enumerate(mask_turns(turns))
        for each in masked.originals
    }


def _unmarked(text: str, place: int) -> tuple[str, set[Label]]:
    plain, labels, done = "", set(), 0
    for mark in _MARK.finditer(text):
        plain += text[done : mark.start()]
        start = len(plain)
        plain += mark[2]
        labels.add(Label(mark[1], place, *_trimmed(plain, start, len(plain))))
        done = mark.end()
    return plain + text[done:], labels


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and not text[start].isalnum():
        start += 1
    while end > start and not text[end - 1].isalnum():
        end -= 1
    return start, end


def rates(figures: Figures, kinds: Iterable[str]) -> tuple[float, float, float]:
    """Return precision, recall and F1 over these kinds; 1 where there was nothing to find."""
    kinds = list(kinds)
    right, wrong, missed = (sum(each[kind] for kind in kinds) for each in figures)
    precision = right / (right + wrong) if right + wrong else 1.0
    recall = right / (right + missed) if right + missed else 1.0
    total = precision + recall
    return precision, recall, 2 * precision * recall / total if total else 0.0


def _print(file: Path, *, tell: bool) -> None:
    talks = list(conversations(file))
    turns = sum(len(each) for each, _ in talks)
    print(f"{file.stem}: {turns} turns, {sum(len(labels) for _, labels in talks)} entities")
    figures = measured(talks, tell=tell)
    print(f"  {'kind':14}{'n':>5}{'precision':>11}{'recall':>8}{'F1':>7}")
    for kind in [each.value for each in Entity]:
        count = figures.right[kind] + figures.missed[kind]
        print(f"  {kind:14}{count:5}" + "{:11.3f}{:8.3f}{:7.3f}".format(*rates(figures, [kind])))
    every = [each.value for each in Entity]
    count = figures.right.total() + figures.missed.total()
    print(f"  {'all':14}{count:5}" + "{:11.3f}{:8.3f}{:7.3f}".format(*rates(figures, every)))
    begun = time.process_time()
    for _ in range(_ROUNDS):
        for each, _labels in talks:
            mask_turns(each)
    cost = (time.process_time() - begun) / _ROUNDS / turns
    print(f"  {cost * 1e6:.0f} µs of CPU a turn (each of these turns is a hard one)")


def main() -> None:
    """Print the figures of each file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--misses", action="store_true", help="Tell what was wrong or missed.")
    given = parser.parse_args()
    for file in given.files or [SETS / "tuning.jsonl", SETS / "held.jsonl"]:
        _print(file, tell=given.misses)


if __name__ == "__main__":
    main()
