"""Refusals of the service side: those that give a reason, and those that give nothing at all."""

import re
from collections.abc import Iterator
from itertools import pairwise

from app.ai.dialogue.cues import Cue, Cues
from app.ai.dialogue.exchanges import content_of
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
# Requests for an action; questions for a fact are none, however politely they are asked.
_ACTION = (
    r"(?:send|e-?mail|text|post|print|call|ring|contact|transfer|connect|change|move|rebook|reschedule|postpone|cancel|stop"
    r"|refund|return|exchange|replace|repair|fix|reset|unlock|unblock|block|remove|delete|waive|reduce|lower|credit"
    r"|reimburse|compensate|pay|give|make|do|add|book|reserve|order|arrange|put|renew|extend|upgrade|update|correct"
    r"|reconsider|help|look|try|check|find|hold|tell|explain|show|let|get (?:me|us|it|this|that|someone|somebody))"
)
_ASKS_FACT = (
    r"\W*(?:(?:and|but|so|or)\W+)?(?:is|are|was|were|do|does|did|has|have|will|would|should"
    r"|what|when|where|which|who|how|why)\b"
)
_REQUEST = re.compile(
    r"(?!.*\b(?:tell|check|confirm|see|know)(?: me)? (?:if|whether)\b)"
    r"(?:.*\b(?:"
    r"(?:can|could|would|will)(?:n?'t)? you (?:(?:just|also|maybe|perhaps|then|not|at least) ){0,2}"
    rf"(?:please|kindly|{_ACTION})\b"
    r"|(?:can|could|may) (?:i|we) (?:please |just |also )?"
    r"(?:have|get|speak|talk|change|move|cancel|return|exchange)\b"
    r"|is it possible to\b|i(?:'d| would) like\b)"
    rf"|(?!{_ASKS_FACT}).*\bplease\b)",
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
_DONE = ("done", "success")
_INSTEAD = re.compile(
    r"\b(?:(?:but|however)\W+(?:you|we|i)(?:'ll| will| can| could| may)(?! not|'t)|instead(?! of))\b",
    re.IGNORECASE,
)


def reasoned_refusals(cues: Cues) -> list[Cue]:
    """List the refusals of the service side that name a rule or a reason."""
    return [
        cue for cue in cues.of(*_REASONED_KINDS, side=Side.SERVICE) if _REASON.search(cue.line.text)
    ]


def bare_refusals(dialogue: Dialogue, cues: Cues) -> list[Cue]:
    """List the requests that get no more than a "no", then or later.

    Where something was done, only what the customer asks for again counts.
    """
    refused = list(_answered_no(dialogue))
    if not refused:
        return []
    reasons = [line.position for line in dialogue.service if _REASON.search(line.text)]
    last = max(last_alternative(dialogue, cues), *reasons, -1)
    is_done = bool(cues.of(*_DONE, side=Side.SERVICE))
    return [
        Cue(BARE, answer, 0, len(answer.text))
        for request, answer in refused
        if answer.position > last and (not is_done or _is_repeated(dialogue, request))
    ]


def last_alternative(dialogue: Dialogue, cues: Cues) -> int:
    """Return the position of the last line that makes up for a refusal; -1 without one."""
    return max(
        (
            line.position
            for line in dialogue.service
            if _INSTEAD.search(plain_of(line.text))
            or any(cue.kind in _REDEEMING for cue in cues.in_line(line))
        ),
        default=-1,
    )


def asks_fact(line: Line) -> bool:
    """Tell whether a line of the customer ends with a question that requests nothing."""
    last = _last_sentence(line)
    return last.endswith("?") and not _REQUEST.match(last)


def _answered_no(dialogue: Dialogue) -> Iterator[tuple[Line, Line]]:
    for asking, answer in pairwise(dialogue.turns):
        if asking.side is not Side.CUSTOMER or answer.side is not Side.SERVICE:
            continue
        request = asking.lines[-1]
        text = plain_of(" ".join(line.text for line in answer.lines))
        is_bare = len(text.split()) <= _MOST_WORDS and _BARE_NO.fullmatch(text)
        if is_bare and _REQUEST.match(_last_sentence(request)):
            yield request, answer.lines[0]


def _is_repeated(dialogue: Dialogue, request: Line) -> bool:
    words = content_of(_last_sentence(request))
    return bool(words) and any(
        2 * len(words & content_of(line.text)) >= len(words)
        for line in dialogue.customer
        if line.position < request.position
    )


def _last_sentence(line: Line) -> str:
    start, end = (sentence_spans(line.text) or ((0, 0),))[-1]
    return plain_of(line.text[start:end])
