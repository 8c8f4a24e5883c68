"""The summary of a conversation, in its own sentences: none that is not in the transcript."""

import re
from typing import Any

from app.ai.cues import Cue
from app.ai.exchanges import content_of
from app.ai.facts import Facts

_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_OPENING_LINES = 4
_LEAST_WORDS = 3
_MOST_ITEMS = 5
_OUTCOMES = ("success", "done", "failure", "no_result", "refusal", "transfer")
_ACTIONS = ("commitment", "next_step")


def summary_of(facts: Facts) -> dict[str, Any]:
    """Quote the issue, the outcome and what the agent promises; None where nothing says it.

    Empty where the words are not read or it is not known who speaks.
    """
    if facts.reading is None:
        return {"overview": None, "issue": None, "outcome": None, "actionItems": []}
    issue, outcome = _issue(facts), _outcome(facts)
    known = list(dict.fromkeys(sentence for sentence in (issue, outcome) if sentence))
    return {
        "overview": " ".join(known) or None,
        "issue": issue,
        "outcome": outcome,
        "actionItems": _actions(facts),
    }


def _issue(facts: Facts) -> str | None:
    # What the customer first says that is more than a greeting.
    for line in facts.dialogue.customer[:_OPENING_LINES]:
        for match in _SENTENCE.finditer(line.text):
            if len(content_of(match.group())) >= _LEAST_WORDS:
                return match.group().strip()
    return None


def _outcome(facts: Facts) -> str | None:
    cues = [cue for kind in _OUTCOMES for cue in facts.said(kind)]
    last = max(cues, key=lambda cue: (cue.line.position, cue.start), default=None)
    return None if last is None else _sentence_of(last)


def _actions(facts: Facts) -> list[str]:
    cues = [cue for kind in _ACTIONS for cue in facts.said(kind)]
    cues.sort(key=lambda cue: (cue.line.position, cue.start))
    return list(dict.fromkeys(_sentence_of(cue) for cue in cues))[:_MOST_ITEMS]


def _sentence_of(cue: Cue) -> str:
    for match in _SENTENCE.finditer(cue.line.text):
        if match.start() <= cue.start < match.end():
            return match.group().strip()
    return cue.line.text.strip()
