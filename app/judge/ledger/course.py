"""Course of a conversation in numbers: what became of the requests, what both sides say, and how late."""

import math
from collections.abc import Sequence

from app.judge.acts.catalogue import CUSTOMER_ACTS, SERVICE_ACTS, Act
from app.judge.ledger.entries import Ledger, RequestKind, State
from app.judge.ledger.spoken import Spoken

_BAD = (State.REFUSED, State.FAILED, State.SENT_ELSEWHERE, State.PUT_OFF)
_LAST_LINES = 2
# How much the service side says of these, over all its lines.
_AMOUNTS = {
    "obstacles": (Act.CANNOT, Act.REFUSE, Act.REFUSE_REASON, Act.UNDONE, Act.RETRACT),
    "stalls": (Act.STALL,),
    "apologies": (Act.APOLOGISE,),
}
# With each line of the same side that follows, an act counts this much less as one of the end.
_FADES = 0.7
# By their third line, people have said who they are: who gives a name later may be another.
_INTRODUCED = 2
_AFTER_A_TRANSFER = (Act.DONE, Act.PROMISE, Act.PROMISE_BY, Act.DOING, Act.INFORM)


def course_values(
    lines: Sequence[Spoken], ledger: Ledger, feelings: Sequence[float]
) -> dict[str, float]:
    """Return what the models go by: always the same names, all finite.

    Args:
        feelings: of the customer's lines by their words, each -1 to 1.
    """
    customer = [line for line in lines if line.by_customer]
    service = [line for line in lines if not line.by_customer]
    return {
        **_of_requests(ledger),
        **_likeliest("most", customer),
        **_likeliest("last", customer[-1:]),
        **{name: _amount(service, acts) for name, acts in _AMOUNTS.items()},
        "feeling.mean": math.fsum(feelings) / max(1, len(feelings)),
        "feeling.last": math.fsum(feelings[-_LAST_LINES:]) / max(1, len(feelings[-_LAST_LINES:])),
        "feeling.lowest": min(feelings, default=0.0),
    }


def _of_requests(ledger: Ledger) -> dict[str, float]:
    entries = ledger.matters
    count = max(1, len(entries))
    return {
        **{f"end.{state}": sum(e.state is state for e in entries) / count for state in State},
        "none": float(not ledger.entries),
        "closed": sum(entry.closed for entry in entries) / count,
        "anyClosed": float(any(entry.closed for entry in entries)),
        "done": float(any(entry.last(State.DONE) for entry in entries)),
        "promised": float(any(entry.last(State.PROMISED) for entry in entries)),
        "obstacle": float(any(entry.last(*_BAD) for entry in entries)),
        "repeats": math.log1p(sum(len(entry.repeated_at) for entry in ledger.entries)),
        "person": float(any(entry.kind is RequestKind.PERSON for entry in ledger.entries)),
        "openQuestion": float(ledger.open_question is not None),
    }


def _likeliest(name: str, lines: Sequence[Spoken]) -> dict[str, float]:
    return {
        f"{name}.{act}": max((line.acts.get(act, 0.0) for line in lines), default=0.0)
        for act in CUSTOMER_ACTS
    }


def _amount(lines: Sequence[Spoken], acts: Sequence[Act]) -> float:
    return math.log1p(sum(line.most(*acts) for line in lines))


def ending_values(lines: Sequence[Spoken], ledger: Ledger) -> dict[str, float]:
    """Return which acts the conversation ends with, through what the requests went, and who took over."""
    service = [line for line in lines if not line.by_customer]
    steps = [step for entry in ledger.entries for step in entry.steps]
    handed = max((step.position for step in steps if step.state is State.TRANSFERRED), default=None)
    after = [line for line in service if handed is not None and line.position > handed]
    states = {step.state for entry in ledger.matters for step in entry.steps}
    return {
        **_late("customer", CUSTOMER_ACTS, lines, by_customer=True),
        **_late("service", SERVICE_ACTS, lines, by_customer=False),
        **{f"ever.{state}": float(state in states) for state in State},
        "handed": float(handed is not None),
        "another": _most(Act.NAME, service[_INTRODUCED:]),
        **{f"afterwards.{act}": _most(act, after) for act in _AFTER_A_TRANSFER},
    }


def _late(
    name: str, acts: Sequence[Act], lines: Sequence[Spoken], *, by_customer: bool
) -> dict[str, float]:
    said = [line for line in reversed(lines) if line.by_customer is by_customer]
    faded = [(line, _FADES**place) for place, line in enumerate(said)]
    return {
        f"{name}.late.{act}": max((line.acts.get(act, 0.0) * f for line, f in faded), default=0.0)
        for act in acts
    }


def _most(act: Act, lines: Sequence[Spoken]) -> float:
    return max((line.acts.get(act, 0.0) for line in lines), default=0.0)
