"""Refusals of the service side: those that give a reason, and those that give nothing at all."""

import re
from collections.abc import Iterator
from itertools import pairwise

from app.ai.dialogue.cues import Cue, Cues
from app.ai.dialogue.sentences import sentence_spans
from app.ai.dialogue.turns import Dialogue, Line, Side
from app.ai.languages.phrases import plain_of

BARE = "bare_refusal"
# A refusal that names its rule or its reason may be right, and only the policy could tell.
_REASON = re.compile(
    r"\b(?:polic(?:y|ies)|since (?:the|you|your|it|this|that|we|our|there)|because|requirements?|restrictions?|regulations?|rules?|eligible"
    r"|eligibility|insurance|terms|unless|for (?:your|security) (?:security|reasons)|as per"
    r"|non-?(?:refundable|transferable)|conditions?|(?:hour|day) window"
    r"|not (?:allowed|permitted)|do(?:es)?(?: not|n't) (?:allow|permit)"
    r"|can(?:not| not|'t) be (?:modified|changed|cancell?ed|refunded|exchanged|upgraded|waived|removed|reversed|credited|extended)"
    r"|due to (?!(?:a |some |the )?(?:system|technical|certain)))\b",
    re.IGNORECASE,
)
_REASONED_KINDS = ("failure", "refusal", "bad_news")
# Requests for an action; questions for a fact are none.
_REQUEST = re.compile(
    r"\b(?:can|could|would|will) you\b(?! (?:please )?(?:tell|check|confirm|see)(?: me)? (?:if|whether)\b)"
    r"|\b(?:can|could|may) (?:i|we) (?:please |just |also )?"
    r"(?:have|get|speak|talk|change|move|cancel|return|exchange)\b"
    r"|\bplease\b|\bis it possible to\b|\bi(?:'d| would) like\b",
    re.IGNORECASE,
)
_POLITE = r"(?:hello|hi|well|sorry|i'm sorry|i am sorry|unfortunately|sir|madam|ma'am)"
_REFUSED = (
    r"(?:no|nope|nah|(?:i|we|you) (?:can't|cannot|can not|won't|will not)(?: do)?(?: (?:that|this|it))?"
    r"|(?:(?:that|this|it)(?:'s| is) )?(?:not possible|impossible)|(?:i'm )?afraid not)"
)
_BARE_NO = re.compile(
    rf"\W*(?:{_POLITE}\W+){{0,3}}{_REFUSED}(?:\W+(?:{_POLITE}|{_REFUSED})){{0,2}}\W*", re.IGNORECASE
)
_MOST_WORDS = 9
# Kinds of lines that make up for a bare refusal, at once or later.
_REDEEMING = ("alternative", "commitment", "done", "next_step", "success", "transfer")


def reasoned_refusals(cues: Cues) -> list[Cue]:
    """List the refusals of the service side that name a rule or a reason."""
    return [
        cue for cue in cues.of(*_REASONED_KINDS, side=Side.SERVICE) if _REASON.search(cue.line.text)
    ]


def bare_refusals(dialogue: Dialogue, cues: Cues) -> list[Cue]:
    """List the requests that get no more than a "no", then or later."""
    refused = list(_answered_no(dialogue))
    if not refused:
        return []
    redeeming = [
        line.position
        for line in dialogue.service
        if _REASON.search(line.text) or any(cue.kind in _REDEEMING for cue in cues.in_line(line))
    ]
    last = max(redeeming, default=-1)
    return [Cue(BARE, line, 0, len(line.text)) for line in refused if line.position > last]


def asks_fact(line: Line) -> bool:
    """Tell whether a line of the customer ends with a question that requests nothing."""
    last = _last_sentence(line)
    return last.endswith("?") and not _REQUEST.search(last)


def _answered_no(dialogue: Dialogue) -> Iterator[Line]:
    for asking, answer in pairwise(dialogue.turns):
        if asking.side is not Side.CUSTOMER or answer.side is not Side.SERVICE:
            continue
        text = plain_of(" ".join(line.text for line in answer.lines))
        is_bare = len(text.split()) <= _MOST_WORDS and _BARE_NO.fullmatch(text)
        if is_bare and _REQUEST.search(_last_sentence(asking.lines[-1])):
            yield answer.lines[0]


def _last_sentence(line: Line) -> str:
    start, end = (sentence_spans(line.text) or ((0, 0),))[-1]
    return plain_of(line.text[start:end])
