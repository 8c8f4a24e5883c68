"""Measures which sentence tells the outcome of a conversation: python -m bench.telling.

For each writer of training/data/quoted.jsonl.gz the model is fitted to the conversations of the others. Prints
how often what is told first is in a line that a reader quoted, how often something told is in the line that
the reader quoted first, and how often nothing is told.
"""

import gzip
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import orjson

from app.judge.acts.reading import shipped_readers
from app.judge.insights.outcome import outcome_of
from app.judge.insights.summary import issue_of
from app.judge.insights.telling import OUTCOME, TellingModel, quoted, telling_model_from
from app.judge.ledger.opinion import shipped_opinion_model
from training.acts.labelled import QUOTED, talks_in
from training.acts.opinion import looks_at
from training.acts.telling import telling_document


def main() -> None:
    rows = [orjson.loads(row) for row in gzip.decompress(QUOTED.read_bytes()).splitlines()]
    by_writer = defaultdict(list)
    for row in rows:
        by_writer[row["reader"]].append(row)
    first = either = none = count = 0
    with tempfile.TemporaryDirectory() as folder:
        for writer, own in sorted(by_writer.items()):
            others = [row for row in rows if row["reader"] != writer]
            model = telling_model_from(
                telling_document(
                    _written(Path(folder), others),
                    shipped_opinion_model(),
                    shipped_readers(fast=False),
                )
            )
            told = {row["id"]: [place for place, _ in row["told"]] for row in own if row["told"]}
            for places, found in _told(_written(Path(folder), own), told, model):
                count += 1
                first += found[:1] != [] and found[0] in places
                either += places[0] in found
                none += not found
            print(f"{writer}: {count} conversations so far", flush=True)
    print(f"told first is in a line that the reader quoted: {first / count:.0%}")
    print(f"something told is in the line that the reader quoted first: {either / count:.0%}")
    print(f"nothing told: {none / count:.0%}")


def _told(
    file: Path, told: dict[str, list[int]], model: TellingModel
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the lines that a reader quoted, and those that the model tells."""
    opinion = shipped_opinion_model()
    for look in looks_at(talks_in(file), shipped_readers(fast=False)):
        if look.talk.id in told:
            facts = replace(look.facts, opinion=opinion.opinion(look.values))
            status, issue = outcome_of(facts).status, issue_of(facts)
            items = quoted(facts, status, OUTCOME, issue, model)
            yield told[look.talk.id], [item.position for item in items]


def _written(folder: Path, rows: list[dict[str, object]]) -> Path:
    file = folder / "quoted.jsonl.gz"
    file.write_bytes(gzip.compress(b"\n".join(map(orjson.dumps, rows))))
    return file


if __name__ == "__main__":
    main()
