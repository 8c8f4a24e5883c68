"""Lessons from people's overrides: which lines of an engagement are rude, a greeting, a solution, and which are not.

A lesson is a line and what it shows. It is applied to the same line and to lines like it: what they show is
taken away or added before anything is judged by it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from app.judge.acts.catalogue import SERVICE_ACTS, Act
from app.judge.acts.likeness import Likeness
from app.judge.acts.reading import Acts, LineActs, Mark
from app.judge.context import Lesson
from app.judge.dialogue.cues import Cue, Cues
from app.judge.dialogue.turns import Dialogue, Line, Side

# How sure people are.
_TAUGHT = 0.95
# How much like an example a line has to be.
_ALIKE = 0.7
_OF_ONE_ACT = "act."


@dataclass(frozen=True, slots=True)
class LessonKind:
    """Kind of lessons.

    `acts` and `cues` show it; of these, the first `added` and the cues of `adds` are added by a lesson.
    `is_good` says that it speaks for the service side.
    """

    label: str
    is_good: bool
    acts: tuple[Act, ...]
    cues: tuple[str, ...] = ()
    added: int = 1

    @property
    def side(self) -> Side:
        """Return whose lines show it."""
        return Side.SERVICE if self.acts[0] in SERVICE_ACTS else Side.CUSTOMER


KINDS: Mapping[str, LessonKind] = {
    "rude": LessonKind(
        "rude",
        False,
        (Act.MOCK, Act.INSULT, Act.BLAME, Act.THREATEN, Act.PRESS),
        (
            "dismissive",
            "profanity",
            "mocks",
            "belittles",
            "acclaims",
            "menaces",
            "threatens",
            "presses",
        ),
    ),
    "greeting": LessonKind(
        "the greeting",
        True,
        (Act.GREET, Act.COMPANY, Act.NAME),
        ("greeting", "brand", "introduction"),
        3,
    ),
    "company": LessonKind("the company's name", True, (Act.COMPANY,), ("brand",)),
    "purpose": LessonKind("the purpose of the call", True, (Act.ASK,), ("purpose",)),
    "solution": LessonKind(
        "a solution", True, (Act.DONE, Act.INFORM, Act.INSTRUCT, Act.NEXT), ("done", "success")
    ),
    "empathy": LessonKind("empathy", True, (Act.EMPATHISE, Act.APOLOGISE), ("empathy", "apology")),
    "check": LessonKind("the question whether it is solved", True, (Act.CHECK,), ("solved_check",)),
    "verification": LessonKind("a check of identity", True, (Act.VERIFY,), ("identity_check",)),
    "secret": LessonKind("a request for a secret", False, (Act.ASK_SECRET,), ("asks_secret",)),
    "disclosure": LessonKind(
        "the matter of somebody else",
        False,
        (Act.TELL_OTHER,),
        ("third_party_detail", "private_contact", "private_matter", "indiscreet"),
    ),
    "transfer": LessonKind("a transfer", True, (Act.TRANSFER,), ("transfer",)),
    "opt_out": LessonKind("an opt-out that is confirmed", True, (Act.DONE,), ("opt_out_done",)),
}
# The lessons that an override of a rule's answer teaches.
_OF_RULES = {
    **dict.fromkeys(("abuse", "courtesy", "respect"), "rude"),
    "greeting": "greeting",
    "bot_identity": "company",
    "purpose": "purpose",
    "completeness": "solution",
    "empathy": "empathy",
    "resolution_confirmed": "check",
    "verification": "verification",
    "data_handling": "secret",
    "third_party": "disclosure",
    "handoff": "transfer",
    "opt_out": "opt_out",
}


def kinds_of_rule(rule: str | None, parameters: Mapping[str, object]) -> list[str]:
    """Name the lessons that an override of an answer of a rule teaches."""
    if rule == "act":
        acts = parameters.get("acts")
        suffix = "" if parameters.get("atMost") != 0 else "!"
        return [f"{_OF_ONE_ACT}{act}{suffix}" for act in acts] if isinstance(acts, list) else []
    return [_OF_RULES[rule]] if rule in _OF_RULES else []


@cache
def kind_named(name: str) -> LessonKind:
    """Return the lesson of a name; `act.blame!` is one about an act that should not be."""
    if not name.startswith(_OF_ONE_ACT):
        return KINDS[name]
    act = Act(name.removeprefix(_OF_ONE_ACT).rstrip("!"))
    return LessonKind(f"“{act}”", not name.endswith("!"), (act,))


def taught(
    dialogue: Dialogue, cues: Cues, acts: Acts, lessons: Sequence[Lesson], likeness: Likeness
) -> tuple[Cues, Acts]:
    """Return the phrases and acts of a dialogue as its engagement's lessons say."""
    if not lessons or not acts.lines:
        return cues, acts
    by_kind: dict[str, list[Lesson]] = {}
    for lesson in lessons:
        by_kind.setdefault(lesson.kind, []).append(lesson)
    lines = {line.line.position: line for line in acts.lines}
    in_line = {line.position: list(cues.in_line(line)) for line in dialogue.lines}
    for name, of_kind in by_kind.items():
        kind = kind_named(name)
        for position, line in lines.items():
            if line.line.side is not kind.side:
                continue
            found = {cue.kind for cue in in_line[position]}
            verdict = _verdict(line, found, kind, of_kind, likeness)
            if verdict is not None:
                lines[position] = _with_acts(line, kind, counts=verdict)
                in_line[position] = [*_with_cues(line.line, in_line[position], kind, verdict)]
    every = (cue for found in in_line.values() for cue in found)
    return Cues(sorted(every, key=lambda cue: cue.place)), Acts(tuple(lines.values()))


def _verdict(
    line: LineActs,
    found: set[str],
    kind: LessonKind,
    lessons: Iterable[Lesson],
    likeness: Likeness,
) -> bool | None:
    """Tell what the lessons say of a line; None where they say nothing that changes it."""
    examples: dict[bool, list[str]] = {True: [], False: []}
    for lesson in lessons:
        examples[lesson.counts].append(lesson.text)
    of_acts, of_cues = kind.acts[: kind.added], kind.cues[: kind.added]
    is_whole = all(map(line.shows, of_acts)) and found.issuperset(of_cues)
    is_shown = line.shows(*kind.acts) or not found.isdisjoint(kind.cues)
    for counts, changes in ((True, not is_whole), (False, is_shown)):
        if changes and likeness.is_like(
            line.line.text,
            examples[counts],
            examples[not counts],
            by_customer=line.line.side is Side.CUSTOMER,
            least=_ALIKE,
        ):
            return counts
    return None


def _with_acts(line: LineActs, kind: LessonKind, *, counts: bool) -> LineActs:
    marks = {act: mark for act, mark in line.marks.items() if act not in kind.acts}
    if counts:
        length = len(line.line.text)
        marks |= dict.fromkeys(kind.acts[: kind.added], Mark(_TAUGHT, 0, length))
    return replace(line, marks=marks)


def _with_cues(line: Line, found: Iterable[Cue], kind: LessonKind, counts: bool) -> Iterator[Cue]:
    yield from (cue for cue in found if cue.kind not in kind.cues)
    if counts:
        for name in kind.cues[: kind.added]:
            yield Cue(name, line, 0, len(line.text))
