"""Friction of a conversation for the customer: obstacles with hand-set weights, and refusals."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter

from app.ai.dialogue.cues import Cue, Cues
from app.ai.dialogue.evidence import sentence_spans
from app.ai.dialogue.turns import Dialogue, Line, Side, content_of
from app.ai.languages.lexicon import plain_of

# An obstacle counts once a line. What fails weighs most; what is merely not there, least. By these
# weights the models were fitted; a scorecard may bring others for what it scores. An apology is no
# obstacle; the first excuse only tells apart conversations that are alike otherwise.
WEIGHTS: Mapping[str, float] = {
    "failure": 2.0,
    "bareRefusal": 2.0,
    "profanity": 2.0,
    "apology": 0.1,
    "noResult": 1.0,
    "badNews": 0.3,
    "fallback": 0.5,
    "asksAgain": 0.4,
    "stillBroken": 0.6,
    "complaint": 0.5,
    "escalationRequest": 0.5,
    "givesUp": 2.0,
    "concession": 0.6,
    "endsOnFailure": 2.0,
    "endsOpen": 1.5,
}
# The friction that halves how much was fulfilled: e to the power of -0.4 for what weighs 1.
HALF_AT = 1.7329
_SERVICE_OBSTACLES = {
    "failure": "failure",
    "profanity": "profanity",
    "no_result": "noResult",
    "bad_news": "badNews",
    "fallback": "fallback",
}
_CUSTOMER_OBSTACLES = {
    "asks_again": "asksAgain",
    "still_broken": "stillBroken",
    "complaint": "complaint",
    "escalation_request": "escalationRequest",
    "gives_up": "givesUp",
}
_HALF_EASE = 3.0
_FAREWELLS = ("thanks", "closing", "nothing_more", "praise", "solved")
_VOICED = ("problem", "complaint", "still_broken")
_BLOCKING = ("failure", "no_result", "bad_news")
_TRIES = re.compile(r"(?:try|check|look|search|book)", re.IGNORECASE)
_NO = re.compile(r"\W*(?:no|nope|nah|nothing)\b", re.IGNORECASE)
_TAKES_NOTE = re.compile(
    r"\W*(?:(?:k|kk|ok|okay|alright|all right|fine|cool|great|good|nice|super|top|np|noted|understood|got it|i see|right|finally|at last)"
    r"[^\w?]*){1,3}",
    re.IGNORECASE,
)
BARE = "bare_refusal"
# A refusal that names its rule or its reason may be right, and only the policy could tell.
_REASON = re.compile(
    r"\b(?:polic(?:y|ies)|since (?:the|you|your|it|this|that|we|our|there)|because|requirements?|restrictions?|regulations?|rules?|eligible"
    r"|eligibility|insurance|terms|unless|for (?:your security|(?!personal )(?:\w+ ){1,3}reasons)|as per"
    r"|non-?(?:refundable|transferable)|conditions?|(?:hour|day) window"
    r"|(?:return|refund|exchange|cancellation|withdrawal|warranty|notice|trial) (?:period|window|deadline)"
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
_MOST_BARE_WORDS = 9
# Kinds of lines that make up for a bare refusal, at once or later.
_REDEEMING = ("alternative", "commitment", "done", "next_step", "success", "transfer")
_DONE = ("done", "success")
_INSTEAD = re.compile(
    r"\b(?:(?:but|however)\W+(?:you|we|i)(?:'ll| will| can| could| may)(?! not|'t)|instead(?! of))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Friction:
    """`amount` is 0 without any obstacle and has no upper end; `obstacles` are in their order.

    `refusals` name a rule or a reason, and are no obstacles; nor are `excuses`, the agent's apologies
    where the customer has voiced no problem.
    """

    amount: float
    obstacles: tuple[Cue, ...]
    refusals: tuple[Cue, ...]
    excuses: tuple[Cue, ...]
    concessions: tuple[Cue, ...]
    ends_open: bool
    ends_on_failure: bool

    @property
    def ease(self) -> float:
        """Return 1 for no friction, a half for that of a failure with its apology, towards 0 for more."""
        return _HALF_EASE / (_HALF_EASE + self.amount)


def friction_of(dialogue: Dialogue, cues: Cues, weights: Mapping[str, float] = WEIGHTS) -> Friction:
    """Count the obstacles of an attributed dialogue; `weights` has the keys of `WEIGHTS`."""
    refusals = _reasoned_refusals(cues)
    reasoned = {cue.line.position for cue in refusals}
    proposed = _taking_up(dialogue, cues)
    excused = reasoned | _pressing(dialogue, reasoned) | _accepting(dialogue, cues)
    excused |= _before_service(dialogue, cues)
    obstacles: dict[tuple[str, int], Cue] = {}
    amount = 0.0
    for names, side in ((_SERVICE_OBSTACLES, Side.SERVICE), (_CUSTOMER_OBSTACLES, Side.CUSTOMER)):
        for kind, name in names.items():
            for cue in cues.of(kind, side=side):
                key = (kind, cue.line.position)
                is_proposed = cue.line.position in proposed and _TRIES.match(cue.quote)
                if cue.line.position in excused or (kind == "asks_again" and is_proposed):
                    continue
                amount += 0.0 if key in obstacles else weights[name]
                obstacles.setdefault(key, cue)
    for cue in _bare_refusals(dialogue, cues):
        amount += weights["bareRefusal"]
        obstacles[cue.kind, cue.line.position] = cue
    blocked = cues.positions(*_BLOCKING, side=Side.SERVICE)
    concessions = _concessions(cues, blocked - reasoned)
    ends_open = _ends_open(dialogue, cues, excused)
    ends_on_failure = _ends_on_failure(cues, reasoned)
    excuses = _excuses(cues)
    amount += weights["concession"] * len(concessions)
    amount += weights["apology"] * bool(excuses)
    amount += weights["endsOpen"] * ends_open + weights["endsOnFailure"] * ends_on_failure
    return Friction(
        amount=round(amount, 4),
        obstacles=_in_order(obstacles.values()),
        refusals=_in_order(refusals),
        excuses=excuses,
        concessions=concessions,
        ends_open=ends_open,
        ends_on_failure=ends_on_failure,
    )


def fulfilment(amount: float, half_at: float) -> float:
    """Return 1 for no friction, a half for the amount `half_at`, a quarter for twice it, and so on."""
    return math.pow(0.5, amount / half_at)


def _replies(dialogue: Dialogue) -> Iterable[tuple[Sequence[Line], Sequence[Line]]]:
    # Each turn of the service side with the customer's reply.
    for turn, reply in pairwise(dialogue.turns):
        if turn.side is Side.SERVICE and reply.side is Side.CUSTOMER:
            yield turn.lines, reply.lines


def _pressing(dialogue: Dialogue, reasoned: set[int]) -> set[int]:
    # Asking again after a refusal with a reason adds no friction.
    return {
        line.position
        for service_lines, reply in _replies(dialogue)
        if any(line.position in reasoned for line in service_lines)
        for line in reply
    }


def _accepting(dialogue: Dialogue, cues: Cues) -> set[int]:
    # Nor does asking for the colleague that was offered.
    return {
        line.position
        for service_lines, reply in _replies(dialogue)
        if cues.of("handover_offer", lines=service_lines, side=Side.SERVICE)
        for line in reply
    }


def _before_service(dialogue: Dialogue, cues: Cues) -> set[int]:
    # Nor does asking a bot for a person, before the person who is judged has come.
    joined = min((line.position for line in dialogue.service), default=0)
    asked = cues.positions("escalation_request", side=Side.CUSTOMER)
    return {position for position in asked if position < joined}


def _taking_up(dialogue: Dialogue, cues: Cues) -> set[int]:
    # "Try another one" that answers a question is no second request, unless something failed.
    return {
        line.position
        for service_lines, reply in _replies(dialogue)
        if "?" in service_lines[-1].text and not cues.of(*_BLOCKING, lines=service_lines)
        for line in reply
    }


def _excuses(cues: Cues) -> tuple[Cue, ...]:
    # After the customer voiced a problem, an apology is sympathy.
    first = min(cues.positions(*_VOICED, side=Side.CUSTOMER), default=math.inf)
    apologies = cues.of("apology", side=Side.SERVICE)
    return tuple(cue for cue in apologies if cue.line.position < first)


def _concessions(cues: Cues, blocked: set[int]) -> tuple[Cue, ...]:
    # The customer settles for something else after an obstacle.
    concessions: dict[int, Cue] = {}
    for cue in cues.of("concession", side=Side.CUSTOMER):
        before = cue.line.position - 1
        if before in blocked:
            concessions.setdefault(cue.line.position, cue)
    return tuple(concessions.values())


def _ends_open(dialogue: Dialogue, cues: Cues, excused: set[int]) -> bool:
    # The customer has the last word, and it is no farewell and no answer to one.
    if not dialogue.turns or dialogue.turns[-1].side is not Side.CUSTOMER:
        return False
    last = dialogue.turns[-1].lines
    if last[-1].position in excused or _TAKES_NOTE.fullmatch(last[-1].text):
        return False
    if cues.of(*_FAREWELLS, lines=last, side=Side.CUSTOMER):
        return False
    lines_before = dialogue.turns[-2].lines if len(dialogue.turns) > 1 else ()
    if cues.of("closing", "transfer", lines=lines_before, side=Side.SERVICE):
        return False
    return not (
        cues.of("offer_help", lines=lines_before, side=Side.SERVICE) and _NO.match(last[0].text)
    )


def _ends_on_failure(cues: Cues, reasoned: set[int]) -> bool:
    failed = cues.positions("failure", side=Side.SERVICE) - reasoned
    done = cues.positions("done", side=Side.SERVICE)
    return bool(failed) and max(failed) >= max(done, default=-1)


def _in_order(cues: Iterable[Cue]) -> tuple[Cue, ...]:
    return tuple(sorted(cues, key=attrgetter("place")))


def _reasoned_refusals(cues: Cues) -> list[Cue]:
    """List the refusals of the service side that name a rule or a reason."""
    return [
        cue for cue in cues.of(*_REASONED_KINDS, side=Side.SERVICE) if _REASON.search(cue.line.text)
    ]


def _bare_refusals(dialogue: Dialogue, cues: Cues) -> list[Cue]:
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
        is_bare = len(text.split()) <= _MOST_BARE_WORDS and _BARE_NO.fullmatch(text)
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
