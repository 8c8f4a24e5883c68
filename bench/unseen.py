"""Measures the judge on conversations with expectations from before any result: python -m bench.unseen.

Sixty conversations and paraphrases of some of them (training/data/unseen.jsonl.gz), and forty later ones
(fresh.jsonl.gz); nothing is fitted to them. For each set it prints how many statuses are as expected, which were expected where, how scores and ratings rank
beside the expected ones, and how many paraphrases keep status, and score within 10 points.
"""

import argparse
import gzip
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from app.judge.context import Context
from app.judge.judge import Judgement
from app.judge.rule_judge import RuleJudge
from app.judge.scorecard.values import scorecard_from
from app.scorecards.default_scorecards import document_of
from app.transcript import Role, Segment, Transcript
from bench.judgement import spearman
from bench.pages import page_of

CONVERSATIONS, _LATER = Path("training/data/unseen.jsonl.gz"), Path("training/data/fresh.jsonl.gz")
_CARDS = {"chat": "chat", "voice": "voice", "bot": "voice_bot"}
_MOST_POINTS = 10

Row = dict[str, Any]
_OUTPUTS: dict[str, Callable[[Judgement], float | None]] = {
    "effectiveness": lambda item: item.score,
    "satisfaction": lambda item: item.predicted_satisfaction,
    "manner": lambda item: item.results["dimensions"]["professionalism"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fast", action="store_true", help="judge without the encoder")
    parser.add_argument("--results", action="store_true", help="print each status with its reason")
    parser.add_argument("--write", type=Path, help="a folder for the pages of the results, as text")
    options = parser.parse_args()
    judge = RuleJudge(fast=options.fast)
    for title, file in (("Sixty", CONVERSATIONS), ("Forty later ones", _LATER)):
        print(f"\n# {title}")
        _measure(judge, file, options)


def _measure(judge: RuleJudge, file: Path, options: argparse.Namespace) -> None:
    rows = [orjson.loads(row) for row in gzip.decompress(file.read_bytes()).splitlines()]
    found = {row["id"]: judged(judge, row) for row in rows}
    expected = [row for row in rows if "expect" in row]
    print_statuses(expected, found)
    print_ranks(expected, found)
    paraphrases = [row for row in rows if "of" in row]
    alike = sum(_is_alike(found[row["id"]], found[row["of"]]) for row in paraphrases)
    if paraphrases:
        print(
            f"\nParaphrases that keep status and {_MOST_POINTS} points: {alike} of {len(paraphrases)}"
        )
    if options.write:
        options.write.mkdir(parents=True, exist_ok=True)
        for row in expected:
            page = page_of(
                f"Conversation {row['id']}, {row['channel']}", row["messages"], found[row["id"]]
            )
            (options.write / f"{row['id']}.txt").write_text(page, "utf-8")
    if options.results:
        for row in expected:
            item = found[row["id"]]
            reason = item.results["resolution"]["explanation"]
            print(
                f"{row['id']} {row['expect']['status']}: {item.resolution} {item.score}, {reason}"
            )


def judged(judge: RuleJudge, row: Row) -> Judgement:
    """Judge a conversation by the default scorecard of its channel."""
    bot = row["channel"] == "bot"
    segments = tuple(
        Segment(
            f"seg_{index + 1:04d}",
            index,
            item["side"],
            Role.BOT if bot and item["side"] == "agent" else Role(item["side"]),
            item["text"],
        )
        for index, item in enumerate(row["messages"])
    )
    transcript = Transcript(segments, speaker_attribution="messages", language="en")
    card = scorecard_from(document_of(_CARDS[row["channel"]]))
    return judge.judge(transcript, card, Context())


def print_statuses(rows: list[Row], found: dict[str, Judgement]) -> None:
    pairs = Counter((row["expect"]["status"], found[row["id"]].resolution) for row in rows)
    right = sum(count for (theirs, ours), count in pairs.items() if theirs == ours)
    print(f"Status as expected: {right} of {len(rows)}")
    for (theirs, ours), count in sorted(pairs.items()):
        print(f"  {count:3} expected {theirs}, found {ours}")


def print_ranks(rows: list[Row], found: dict[str, Judgement]) -> None:
    print("\nRanks beside the expected ratings (Spearman)")
    for name, output in _OUTPUTS.items():
        pairs = [(output(found[row["id"]]), float(row["expect"][name])) for row in rows]
        print(f"  {name:14} {spearman(pairs)}")


def _is_alike(one: Judgement, other: Judgement) -> bool:
    if one.score is None or other.score is None:
        return False
    return one.resolution == other.resolution and abs(one.score - other.score) <= _MOST_POINTS


if __name__ == "__main__":
    main()
