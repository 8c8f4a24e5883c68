"""Measures how the lexicons of other languages find what is said: python -m bench.languages.

Reads the labelled dialogues and lines of tests/data/languages and prints, by language and split,
how many of the labelled cues are found (recall) and how many of those found are labelled
(precision), on how many lines both agree, and whether the language of each line is told. The
dialogues `dev` and `test` were written next to the lexicons and show what these can do at best. The
lines, and the dialogues `tune` and `held`, were written without a look at them: `tune` is the half
that they were then widened by, `held` the half that nobody looked at meanwhile.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from zlib import crc32

from app.judge.dialogue.cues import find_cues
from app.judge.dialogue.turns import dialogue_of
from app.transcript import Participant, Role, Segment, Transcript

DIALOGUES = Path("tests/data/languages/dialogues.txt")
LINES = Path("tests/data/languages/lines.txt")
HALVES = ("tune", "held")
ROLES = {"a": Role.AGENT, "c": Role.CUSTOMER, "b": Role.BOT}
# A label and the kinds of cues that are meant by it.
KINDS = {
    "greeting": ("greeting",),
    "thanks": ("thanks",),
    "apology": ("apology",),
    "refused": ("failure", "no_result", "refusal"),
    "done": ("done", "success"),
    "confirmed": ("solved", "solved_check"),
    "unsolved": ("still_broken",),
    "complaint": ("complaint",),
    "problem": ("problem",),
    "closing": ("closing",),
    "recap": ("recap",),
    "escalation": ("escalation_request",),
    "identity": ("identity_check",),
    "hold": ("hold",),
    "secret": ("asks_secret",),
    "abuse": ("profanity",),
    "offer": ("offer_help",),
    "promise": ("commitment", "next_step"),
    "optout": ("opt_out",),
    "transfer": ("transfer",),
}


@dataclass
class Labelled:
    """A dialogue, or a half of the single lines of a language: its lines as (letter, text, labels)."""

    name: str
    language: str
    split: str
    lines: list[tuple[str, str, frozenset[str]]] = field(default_factory=list)

    def transcript(self, language: str | None = None) -> Transcript:
        segments = tuple(
            Segment(f"seg_{index + 1:04d}", index, letter, ROLES[letter], text)
            for index, (letter, text, _) in enumerate(self.lines)
        )
        people = {segment.participant_id: segment.role for segment in segments}
        return Transcript(
            segments,
            tuple(Participant(key, role) for key, role in people.items()),
            language=language,
            speaker_attribution="messages",
        )


def dialogues(path: Path = DIALOGUES) -> Iterator[Labelled]:
    """Read the labelled dialogues; a label that is not known is a mistake in the file."""
    found: Labelled | None = None
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("= "):
            if found:
                yield found
            name, language, split = line[2:].split()
            found = Labelled(name, language, split)
        elif found and line and not line.startswith("#"):
            found.lines.append(_labelled(line))
    if found:
        yield found


def halves(path: Path = LINES) -> Iterator[Labelled]:
    """Read the single lines, half by half; the checksum of its text chooses the half of a line of "all"."""
    for whole in dialogues(path):
        if whole.split != "all":
            yield whole
            continue
        for index, split in enumerate(HALVES):
            lines = [line for line in whole.lines if crc32(line[1].encode()) % 2 == index]
            yield Labelled(whole.name, whole.language, split, lines)


def _labelled(line: str) -> tuple[str, str, frozenset[str]]:
    letter, _, rest = line.partition(": ")
    text, _, labels = rest.partition(" |")
    assert set(labels.split()) <= KINDS.keys(), line
    return letter, text, frozenset(labels.split())


def found_in(dialogue: Labelled, language: str | None) -> list[frozenset[str]]:
    """Name the labels that the lexicon would give each line."""
    read = dialogue_of(dialogue.transcript(), channel="chat", language=language)
    cues = find_cues(read)
    given: list[set[str]] = [set() for _ in dialogue.lines]
    for label, kinds in KINDS.items():
        for kind in kinds:
            for cue in cues.of(kind):
                given[cue.line.position].add(label)
    return [frozenset(labels) for labels in given]


def share(part: int, whole: int) -> str:
    return f"{part / whole:6.1%} ({part} of {whole})" if whole else "     -"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true", help="print each line that differs")
    parser.add_argument("--split", choices=("dev", "test", *HALVES), help="all unless said")
    options = parser.parse_args()
    hits, labelled, given, agreed, told, lines = (Counter[tuple[str, str]]() for _ in range(6))
    by_label: dict[str, Counter[str]] = {}
    for dialogue in (*dialogues(), *halves()):
        if options.split not in (None, dialogue.split):
            continue
        key = (dialogue.language, dialogue.split)
        read = dialogue_of(dialogue.transcript(), channel="chat", language=None)
        told[key] += sum(line.language == dialogue.language for line in read.lines)
        lines[key] += len(read.lines)
        found = found_in(dialogue, dialogue.language)
        for (letter, text, labels), ours in zip(dialogue.lines, found, strict=True):
            hits[key] += len(labels & ours)
            labelled[key] += len(labels)
            given[key] += len(ours)
            agreed[key] += labels == ours
            for label in labels | ours:
                count = by_label.setdefault(label, Counter())
                count.update(hit=int(label in labels and label in ours))
                count.update(labelled=int(label in labels), found=int(label in ours))
            if options.misses and labels != ours:
                missed, wrong = " ".join(labels - ours), " ".join(ours - labels)
                print(f"{dialogue.name}  {letter}: {text}  missed [{missed}] wrong [{wrong}]")
    for key in sorted(lines):
        print(f"{key[0]:8} {key[1]:5} {lines[key]} lines")
        print(f"  language told undeclared  {share(told[key], lines[key])}")
        print(f"  precision                 {share(hits[key], given[key])}")
        print(f"  recall                    {share(hits[key], labelled[key])}")
        print(f"  lines that agree          {share(agreed[key], lines[key])}")
    print(f"{'cue':12}{'precision':>18}{'recall':>22}")
    for label, count in sorted(by_label.items()):
        precision, recall = (
            share(count["hit"], count["found"]),
            share(count["hit"], count["labelled"]),
        )
        print(f"{label:12}{precision:>22}{recall:>22}")


if __name__ == "__main__":
    main()
