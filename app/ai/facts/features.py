"""A dialogue as numbers: what happened in it, how often, in which order and how it ended."""

import math
from collections.abc import Collection, Sequence

from app.ai.dialogue.cues import Cue, Cues
from app.ai.dialogue.exchanges import Exchanges
from app.ai.dialogue.friction import Friction
from app.ai.dialogue.turns import Dialogue, Line, Side

_SERVICE = (
    "failure",
    "no_result",
    "lack",
    "refusal",
    "bad_news",
    "apology",
    "empathy",
    "done",
    "success",
    "alternative",
    "offer",
    "offer_help",
    "asks_confirmation",
    "fallback",
    "hold",
    "commitment",
    "next_step",
    "identity_check",
    "transfer",
    "greeting",
    "closing",
    "recap",
)
_CUSTOMER = (
    "correction",
    "concession",
    "asks_again",
    "complaint",
    "problem",
    "praise",
    "thanks",
    "acceptance",
    "rejection",
    "gives_up",
    "nothing_more",
    "solved",
    "still_broken",
    "escalation_request",
    "closing",
    "profanity",
)
_LAST_SERVICE = (
    "failure",
    "no_result",
    "bad_news",
    "apology",
    "done",
    "success",
    "offer",
    "closing",
)
_LAST_CUSTOMER = ("thanks", "praise", "rejection", "acceptance", "gives_up", "complaint", "closing")
_DONE = ("done", "success")
_MET = ("failure", "no_result", "refusal")
_LAST = 3
FEATURES: tuple[str, ...] = (
    "lines",
    "agentWords",
    "customerWords",
    "agentShare",
    "agentQuestions",
    "customerQuestions",
    "customerShouts",
    *(f"agent.{kind}" for kind in _SERVICE),
    *(f"customer.{kind}" for kind in _CUSTOMER),
    *(f"agentEnd.{kind}" for kind in _LAST_SERVICE),
    *(f"customerEnd.{kind}" for kind in _LAST_CUSTOMER),
    "doneAfterFailure",
    "failureAfterDone",
    "failuresInRow",
    "unmetAtEnd",
    "leftAsking",
    "ending",
    "repeatedRequests",
    "repeatedAnswers",
    "openQuestions",
    "answerOverlap",
    "customerSpeaksLast",
    "endsOpen",
    "friction",
    "concessions",
    "sentimentMean",
    "sentimentLast",
    "sentimentShift",
    "sentimentLowest",
)


def features_of(
    dialogue: Dialogue,
    cues: Cues,
    exchanges: Exchanges,
    friction: Friction,
    scores: Sequence[float],
    end: Collection[int],
) -> dict[str, float]:
    """Give every feature of FEATURES a finite number; counts are of lines and grow as a root.

    `scores` are the sentiments of the customer's lines in their order, each -1 to 1; `end` holds
    the positions of the last lines of each side.
    """
    service, customer = dialogue.service, dialogue.customer
    values = {
        "lines": math.log1p(len(dialogue.lines)),
        "agentWords": _mean_words(service),
        "customerWords": _mean_words(customer),
        "agentShare": len(service) / max(1, len(dialogue.lines)),
        "agentQuestions": _share_with(service, "?"),
        "customerQuestions": _share_with(customer, "?"),
        "customerShouts": _share_with(customer, "!"),
    }
    values |= {f"agent.{kind}": _root(cues.of(kind, side=Side.SERVICE)) for kind in _SERVICE}
    values |= {f"customer.{kind}": _root(cues.of(kind, side=Side.CUSTOMER)) for kind in _CUSTOMER}
    ends = [[line for line in lines if line.position in end] for lines in (service, customer)]
    values |= {f"agentEnd.{kind}": _root(cues.of(kind, lines=ends[0])) for kind in _LAST_SERVICE}
    values |= {
        f"customerEnd.{kind}": _root(cues.of(kind, lines=ends[1])) for kind in _LAST_CUSTOMER
    }
    values["agent.apology"] = _root(friction.excuses)
    values["agentEnd.apology"] = _root(
        [cue for cue in friction.excuses if cue.line.position in end]
    )
    values |= _order(cues, ends[0])
    values["leftAsking"] = float(_left_asking(dialogue, cues))
    values["ending"] = _ending(values)
    values |= {
        "repeatedRequests": math.sqrt(len(exchanges.repeated_requests)),
        "repeatedAnswers": math.sqrt(len(exchanges.repeated_answers)),
        "openQuestions": math.sqrt(len(exchanges.open_questions)),
        "answerOverlap": exchanges.overlap or 0.0,
        "customerSpeaksLast": float(
            bool(dialogue.lines) and dialogue.lines[-1].side is Side.CUSTOMER
        ),
        "endsOpen": float(friction.ends_open),
        "friction": math.log1p(friction.amount),
        "concessions": math.sqrt(len(friction.concessions)),
    }
    return values | _feeling(scores)


def _order(cues: Cues, end: Sequence[Line]) -> dict[str, float]:
    done = cues.positions(*_DONE, side=Side.SERVICE)
    failed = sorted(cues.positions(*_MET, side=Side.SERVICE))
    last_done, last_failed = max(done, default=-1), max(failed, default=-1)
    longest = run = 0
    for before, position in zip([-9, *failed], failed, strict=False):
        run = run + 1 if position - before <= 2 else 1
        longest = max(longest, run)
    at_end = {line.position for line in end if line.position > last_done}
    return {
        "doneAfterFailure": float(last_done > last_failed >= 0),
        "failureAfterDone": float(last_failed >= 0 and last_failed >= last_done),
        "failuresInRow": math.sqrt(longest),
        "unmetAtEnd": math.sqrt(len(at_end.intersection(failed))),
    }


def _left_asking(dialogue: Dialogue, cues: Cues) -> bool:
    # The customer leaves a question unanswered that is neither courtesy nor a way out.
    last = dialogue.lines[-1:]
    if not last or last[0].side is not Side.SERVICE or "?" not in last[0].text:
        return False
    return not cues.of("offer_help", "closing", *_DONE, *_MET, lines=last)


def _ending(values: dict[str, float]) -> float:
    # The rule that needs no training: what worked in the last agent lines less what failed there
    # with nothing done after it, and less what the customer says or leaves of it in the end.
    return (
        values["agentEnd.success"]
        - 3 * values["unmetAtEnd"]
        - 0.3 * values["agent.apology"]
        + values["doneAfterFailure"] / 2
        + float(values["agent.success"] > 0) / 2
        - 2 * values["customerEnd.gives_up"]
        - values["customerEnd.complaint"]
        - 2 * values["leftAsking"]
    )


def _feeling(scores: Sequence[float]) -> dict[str, float]:
    if not scores:
        return dict.fromkeys(
            ("sentimentMean", "sentimentLast", "sentimentShift", "sentimentLowest"), 0.0
        )
    last = sum(scores[-_LAST:]) / len(scores[-_LAST:])
    first = sum(scores[:_LAST]) / len(scores[:_LAST])
    return {
        "sentimentMean": sum(scores) / len(scores),
        "sentimentLast": last,
        "sentimentShift": last - first,
        "sentimentLowest": min(scores),
    }


def _root(cues: Sequence[Cue]) -> float:
    return math.sqrt(len({cue.line.position for cue in cues}))


def _mean_words(lines: tuple[Line, ...]) -> float:
    return math.log1p(sum(len(line.text.split()) for line in lines) / max(1, len(lines)))


def _share_with(lines: tuple[Line, ...], sign: str) -> float:
    return sum(sign in line.text for line in lines) / max(1, len(lines))
