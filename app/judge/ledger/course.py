"""Course of a conversation in numbers: how likely it was resolved, and how well it went.

Linear models over what became of the requests, what the customer says and feels, and how often the service
side fails, puts off or says sorry. What else it does is left out: how much of it is usual differs too much
from one trade to the next. Each value counts by its distance from the mean in scales, at most three.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from app.judge.acts.catalogue import CUSTOMER_ACTS, Act
from app.judge.ledger.entries import Ledger, RequestKind, Spoken, State
from app.judge.weights import model_document

LIMIT = 3.0
_BAD = (State.REFUSED, State.FAILED, State.SENT_ELSEWHERE, State.PUT_OFF)
_LAST_LINES = 2
# How much the service side says of these, over all its lines.
_AMOUNTS = {
    "obstacles": (Act.CANNOT, Act.REFUSE, Act.REFUSE_REASON, Act.UNDONE, Act.RETRACT),
    "stalls": (Act.STALL,),
    "apologies": (Act.APOLOGISE,),
}
_LEAST_RATING, _MOST_RATING = 1.0, 5.0


@dataclass(frozen=True, slots=True)
class Course:
    """`resolved` is how much it looks resolved, 0 to 1; the others are ratings, 1 to 5, as a reader would give them.

    `satisfaction` is the customer's, `effectiveness` says how well the service side moved the matter
    forward, and `manner` how it treated the customer.
    """

    resolved: float
    satisfaction: float
    effectiveness: float
    manner: float

    @property
    def effective_share(self) -> float:
        """Return the effectiveness as a share, 0 to 1."""
        return (self.effectiveness - _LEAST_RATING) / (_MOST_RATING - _LEAST_RATING)

    @property
    def probability(self) -> float:
        """Return how likely the matter was resolved: so it looks, and so well it went."""
        return (self.resolved + self.effective_share) / 2


@dataclass(frozen=True, slots=True)
class CourseModel:
    """`scales` holds a mean and a scale for each value, `heads` for each output a bias and weights."""

    scales: Mapping[str, tuple[float, float]]
    heads: Mapping[str, tuple[float, tuple[float, ...]]]

    def course(self, values: Mapping[str, float]) -> Course:
        """Work out the outputs from the values of a conversation."""
        distances = [
            min(LIMIT, max(-LIMIT, (values[name] - mean) / scale))
            for name, (mean, scale) in self.scales.items()
        ]
        outputs = {
            name: bias + math.fsum(w * d for w, d in zip(weights, distances, strict=True))
            for name, (bias, weights) in self.heads.items()
        }
        resolved = 1 / (1 + math.exp(-outputs.pop("resolved")))
        ratings = {name: _rating(value) for name, value in outputs.items()}
        return Course(resolved=round(resolved, 4), **ratings)


def _rating(value: float) -> float:
    # Bent towards both ends of the scale, which it never passes, so that no two fall together.
    spread = _MOST_RATING - _LEAST_RATING
    bend = math.exp(4 / spread * ((_LEAST_RATING + _MOST_RATING) / 2 - value))
    return round(_LEAST_RATING + spread / (1 + bend), 4)


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
    return math.log1p(sum(max(line.acts.get(act, 0.0) for act in acts) for line in lines))


@cache
def shipped_course_model() -> CourseModel:
    """Return the model of the package."""
    return course_model_from(model_document("course"))


def course_model_from(document: Mapping[str, Any]) -> CourseModel:
    """Read the models from their JSON document."""
    return CourseModel(
        scales={name: (mean, scale) for name, mean, scale in document["values"]},
        heads={
            name: (head["bias"], tuple(head["weights"])) for name, head in document["heads"].items()
        },
    )
