"""Labels of the tone of a line: each sums up some acts, and phrases of the lexicon may show it, too."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from app.judge.acts.catalogue import Act
from app.judge.acts.reading import LineActs, Mark
from app.judge.dialogue.cues import Cue
from app.judge.dialogue.turns import Side

# neg(ative), disapp(ointment), sat(isfaction), conf(usion), nores(ult).
_OF_ACTS: Mapping[Side, Mapping[str, tuple[Act, ...]]] = {
    Side.CUSTOMER: {
        "anger": (Act.ANGRY, Act.INSULT),
        "disapp": (Act.DISAPPOINTED, Act.GIVE_UP),
        "sarcasm": (Act.SARCASTIC,),
        "sat": (Act.SOLVED, Act.PRAISE, Act.THANK),
        "conf": (Act.CONFUSED,),
        "neg": (Act.ANGRY, Act.INSULT, Act.COMPLAIN, Act.DISAPPOINTED, Act.LEAVE),
    },
    Side.SERVICE: {
        "empathy": (Act.EMPATHISE,),
        "apology": (Act.APOLOGISE,),
        "refusal": (Act.REFUSE, Act.REFUSE_REASON, Act.CANNOT),
        "dismissive": (Act.MOCK, Act.INSULT, Act.THREATEN, Act.BLAME),
        "stall": (Act.STALL,),
        "probing": (Act.ASK,),
        "verification": (Act.VERIFY,),
        "offer": (Act.OFFER_MORE,),
        "recap": (Act.RECAP,),
        "next": (Act.PROMISE, Act.PROMISE_BY, Act.NEXT),
        "done": (Act.DONE,),
        "greet": (Act.GREET,),
        "warm": (Act.CLOSE, Act.COURTESY),
        "nores": (Act.CANNOT,),
    },
}
# Phrases that show a label for sure.
_OF_CUES: Mapping[Side, Mapping[str, Mapping[str, float]]] = {
    Side.CUSTOMER: {"complaint": {"neg": 0.6}},
    Side.SERVICE: {
        "empathy": {"empathy": 1.0},
        "apology": {"apology": 1.0},
        "dismissive": {"dismissive": 0.9},
        "profanity": {"dismissive": 1.0},
    },
}
Marks: TypeAlias = Mapping[str, Mark]
_NO_MARK = Mark(0.0, 0, 0)


def likelihood(marks: Marks, label: str) -> float:
    """Return the probability of a label, 0 where nothing shows it."""
    return marks.get(label, _NO_MARK).probability


def marks_of(acts: LineActs, cues: Iterable[Cue]) -> Marks:
    """Read the labels of a line; `cues` are those of the line."""
    side = acts.line.side
    marks = {
        label: best
        for label, of_label in _OF_ACTS[side].items()
        if (best := acts.best(*of_label)) is not None
    }
    for cue in cues:
        for label, probability in _OF_CUES[side].get(cue.kind, {}).items():
            if likelihood(marks, label) < probability:
                marks[label] = Mark(probability, cue.start, cue.end)
    return marks
