"""The labels that a line shows, each with its probability and the sentence that shows it best.

English lines are read by the classifiers, lines of other languages by the phrases of their lexicon.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from app.ai.conduct.classifier import Classifier, probability_of, shipped
from app.ai.conduct.sentences import sentences_of
from app.ai.dialogue.cues import Cue
from app.ai.dialogue.turns import Line, Side
from app.ai.languages.detection import ENGLISH

_MOST_CHARS = 1_000
# Labels less likely than 1 in 20 are left out.
_LEAST_LOGIT = -3.0
# Labels that a phrase of a lexicon shows, in languages without a classifier; those of the trained
# models: neg(ative), disapp(ointment), sat(isfaction), conf(usion), nores(ult).
_BY_CUE: Mapping[Side, Mapping[str, Mapping[str, float]]] = {
    Side.CUSTOMER: {
        "profanity": {"anger": 0.9, "neg": 0.9},
        "complaint": {"anger": 0.7, "neg": 0.8},
        "gives_up": {"disapp": 0.8, "neg": 0.8},
        "still_broken": {"disapp": 0.7, "neg": 0.7},
        "rejection": {"neg": 0.5},
        "problem": {"neg": 0.4},
        "asks_again": {"conf": 0.8},
        "praise": {"sat": 0.9},
        "solved": {"sat": 0.8},
        "thanks": {"sat": 0.6},
    },
    Side.SERVICE: {
        "profanity": {"dismissive": 1.0},
        "dismissive": {"dismissive": 0.9},
        "fallback": {"stall": 0.8},
        "refusal": {"refusal": 0.8},
        "failure": {"refusal": 0.6},
        "no_result": {"nores": 0.9},
        "empathy": {"empathy": 1.0},
        "apology": {"apology": 1.0},
        "identity_check": {"verification": 0.9},
        "offer_help": {"offer": 0.9},
        "recap": {"recap": 0.9},
        "next_step": {"next": 0.9},
        "commitment": {"next": 0.9},
        "done": {"done": 0.9},
        "success": {"done": 0.8},
        "greeting": {"greet": 1.0},
        "closing": {"warm": 0.9},
        "thanks": {"warm": 0.7},
    },
}

# Phrases of the English lexicon that say as much as a classifier does.
_SURE_IN_ENGLISH = frozenset(
    {"empathy", "apology", "dismissive", "done", "success", "next_step", "commitment"}
)


class Mark(NamedTuple):
    """How likely a line shows a label, 0 to 1, and `text[start:end]`, which shows it best."""

    probability: float
    start: int
    end: int


Marks: TypeAlias = Mapping[str, Mark]
_NO_MARK = Mark(0.0, 0, 0)


def likelihood(marks: Marks, label: str) -> float:
    """Return the probability of a label, 0 where nothing shows it."""
    return marks.get(label, _NO_MARK).probability


def strongest(line: Line, marks: Marks, labels: Iterable[str]) -> Mark:
    """Return the mark of the likeliest of the labels; the whole line where nothing shows any."""
    candidates = [marks[label] for label in labels if label in marks]
    return max(candidates, default=Mark(0.0, 0, len(line.text)))


def marks_of(line: Line, cues: Iterable[Cue]) -> Marks:
    """Read the labels of a line of the customer or the service side; `cues` are those of the line."""
    marks: dict[str, Mark] = {}
    if line.language == ENGLISH:
        side = "customer" if line.side is Side.CUSTOMER else "agent"
        marks = _classified(line.text[:_MOST_CHARS], shipped(side))
        cues = [cue for cue in cues if cue.kind in _SURE_IN_ENGLISH]
    for cue in cues:
        for label, probability in _BY_CUE[line.side].get(cue.kind, {}).items():
            if likelihood(marks, label) < probability:
                marks[label] = Mark(probability, cue.start, cue.end)
    return marks


def _classified(text: str, classifier: Classifier) -> dict[str, Mark]:
    best: list[float] = []
    places: list[tuple[int, int]] = []
    for sentence in sentences_of(text):
        place = (sentence.start, sentence.end)
        logits = classifier.logits(sentence)
        if not best:
            best, places = logits, [place] * len(logits)
            continue
        for index, logit in enumerate(logits):
            if logit > best[index]:
                best[index], places[index] = logit, place
    return {
        label: Mark(probability_of(logit), *place)
        for label, logit, place in zip(classifier.labels, best, places, strict=False)
        if logit >= _LEAST_LOGIT
    }
