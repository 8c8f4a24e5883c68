"""The summary of a conversation, in its own sentences: none that is not in the transcript."""

import re
from collections.abc import Iterator
from typing import Any

from app.ai.dialogue.cues import Cue
from app.ai.dialogue.exchanges import content_of
from app.ai.dialogue.turns import Line, Side
from app.ai.facts.gathering import Facts
from app.ai.languages.detection import ENGLISH
from app.ai.languages.words import words_in

# A dot within a number or an address ends nothing.
_SENTENCE = re.compile(r"(?:[^.!?\u0964\n]|\.(?=\w))+[.!?\u0964]*")
_END = tuple(".!?\u0964")
_OPENING_LINES = 4
_LEAST_WORDS = 3
_MOST_ITEMS = 5
# By these a customer says what is wanted, and by these a caller what the call is about.
_WANTS = re.compile(
    r"\b(?:need|want|would like|i'd like|looking for|help|can you|could you|please|how (?:do|can)"
    r"|where|when|why|chahiye|karna|karni|krna|batao|bataiye)\b|चाहिए|करना|करनी|बताइए",
    re.IGNORECASE,
)
_NAMES = re.compile(r"\bmy name(?: is|'s)\b(?!.{0,200}\b(?:and|need|want)\b)", re.IGNORECASE)
_WRONG = ("problem", "opt_out")
_CALLS_ABOUT = "purpose"
_OUTCOMES = ("success", "done", "failure", "no_result", "refusal", "transfer", "opt_out_done")
_ACTIONS = ("commitment", "next_step")


def summary_of(facts: Facts) -> dict[str, Any]:
    """Quote the issue, the outcome and what the agent promises; None where nothing says it.

    Empty where the words are not read or it is not known who speaks.
    """
    if not facts.dialogue.readable or not facts.dialogue.attributed:
        return {"overview": None, "issue": None, "outcome": None, "actionItems": []}
    issue, outcome = issue_of(facts), _outcome(facts)
    known = dict.fromkeys(sentence for sentence in (issue, outcome) if sentence)
    return {
        "overview": " ".join(map(_closed, known)) or None,
        "issue": issue,
        "outcome": outcome,
        "actionItems": _actions(facts),
    }


def issue_of(facts: Facts) -> str | None:
    """Quote what the conversation is about: why the service calls, or what the customer wants.

    That is the customer's first sentence that tells of a problem, asks for something or says more
    than a greeting.
    """
    if facts.dialogue.lines[:1] and facts.dialogue.lines[0].side is Side.SERVICE:
        for cue in facts.said(_CALLS_ABOUT, facts.opening(1)):
            sentence = _sentence_of(cue)
            if not sentence.endswith("?"):
                return sentence
    opening = facts.dialogue.customer[:_OPENING_LINES]
    wrong = {_sentence_of(cue) for kind in _WRONG for cue in facts.heard(kind, opening)}
    for line in opening:
        for sentence in _sentences(line):
            if sentence in wrong or _says_more(line, sentence):
                return sentence
    return None


def _says_more(line: Line, sentence: str) -> bool:
    least = _LEAST_WORDS - bool(_WANTS.search(sentence))
    return _content(line, sentence) >= least and not _NAMES.search(sentence)


def _content(line: Line, sentence: str) -> int:
    # Which words carry no subject is known of English only.
    return len(content_of(sentence) if line.language == ENGLISH else words_in(sentence))


def _outcome(facts: Facts) -> str | None:
    cues = [cue for kind in _OUTCOMES for cue in facts.said(kind)]
    last = max(cues, key=lambda cue: (cue.line.position, cue.start), default=None)
    return None if last is None else _sentence_of(last)


def _actions(facts: Facts) -> list[str]:
    cues = [cue for kind in _ACTIONS for cue in facts.said(kind)]
    cues.sort(key=lambda cue: (cue.line.position, cue.start))
    return list(dict.fromkeys(_sentence_of(cue) for cue in cues))[:_MOST_ITEMS]


def _sentences(line: Line) -> Iterator[str]:
    for match in _SENTENCE.finditer(line.text):
        yield match.group().strip()


def _sentence_of(cue: Cue) -> str:
    for match in _SENTENCE.finditer(cue.line.text):
        if match.start() <= cue.start < match.end():
            return match.group().strip()
    return cue.line.text.strip()


def _closed(sentence: str) -> str:
    return sentence if sentence.endswith(_END) else f"{sentence}."
