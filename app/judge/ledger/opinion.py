"""Opinion of a reader: how likely each answer to a question about a conversation is what a reader would give.

Linear models over the acts of its lines and the course of its requests, fitted to the answers and ratings
of people who read whole conversations. They check what single phrases and lines tell: an answer that a
reader would hardly give is not said. Each value counts by its distance from the mean in scales, at most three.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import mul
from typing import Any, NamedTuple

from app.judge.acts.catalogue import CUSTOMER_ACTS, SERVICE_ACTS, Act
from app.judge.ledger.course import ending_values
from app.judge.ledger.entries import Ledger
from app.judge.ledger.spoken import Spoken
from app.judge.weights import model_document

YES, NO, NONE = "yes", "no", "none"
LIMIT = 3.0
_LEAST_RATING, _MOST_RATING = 1.0, 5.0
# The judge's own answer stands where it is at least this likely.
_STANDS = 0.35
# What was found in words is there, unless a reader would be almost sure that it is not.
_FOUND, _HARDLY = 0.2, 0.05
_FIRST_LINES = _LAST_LINES = 2


class Head(NamedTuple):
    """An answer to a question: `own` is what each own answer of the judge adds."""

    bias: float
    weights: tuple[float, ...]
    own: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class OpinionModel:
    """`scales` holds a mean and a scale for each value, `questions` a head for each answer.

    `ratings` holds the bias and the weights of what readers rated from 1 to 5: the customer's
    `satisfaction`, how well the service side moved the matter forward (`effectiveness`), and its `manner`.
    """

    scales: Mapping[str, tuple[float, float]]
    questions: Mapping[str, Mapping[str, Head]]
    ratings: Mapping[str, tuple[float, tuple[float, ...]]]

    def opinion(self, values: Mapping[str, float]) -> "Opinion":
        """Form the opinion of a conversation from its values."""
        distances = tuple(
            min(LIMIT, max(-LIMIT, (values[name] - mean) / scale))
            for name, (mean, scale) in self.scales.items()
        )
        return Opinion(self, values, distances)


@dataclass(frozen=True, slots=True)
class Opinion:
    """Likely answers of readers about one conversation."""

    model: OpinionModel
    values: Mapping[str, float]
    distances: tuple[float, ...]

    def of(self, question: str, own: str) -> dict[str, float]:
        """Return the probability of each answer where the judge's `own` is known."""
        logits = {
            answer: head.bias
            + math.fsum(map(mul, head.weights, self.distances))
            + head.own.get(own, 0.0)
            for answer, head in self.model.questions[question].items()
        }
        most = max(logits.values())
        shares = {answer: math.exp(logit - most) for answer, logit in logits.items()}
        total = math.fsum(shares.values())
        return {answer: share / total for answer, share in shares.items()}

    def rating(self, name: str) -> float:
        """Return the rating that a reader would give, 1 to 5."""
        bias, weights = self.model.ratings[name]
        value = bias + math.fsum(map(mul, weights, self.distances))
        # Bent towards both ends of the scale, which it never passes, so that no two fall together.
        spread = _MOST_RATING - _LEAST_RATING
        bend = math.exp(4 / spread * ((_LEAST_RATING + _MOST_RATING) / 2 - value))
        return round(_LEAST_RATING + spread / (1 + bend), 4)

    def share(self, name: str) -> float:
        """Return the rating as a share, 0 to 1."""
        return (self.rating(name) - _LEAST_RATING) / (_MOST_RATING - _LEAST_RATING)

    def hardly(self, question: str) -> bool:
        """Tell whether a reader would be almost sure that the answer is no."""
        return self.of(question, NO)[YES] < _HARDLY

    def agrees(self, question: str, *, own: bool) -> bool:
        """Tell whether the answer is yes: where the judge says so, a reader need not be sure."""
        return self.of(question, YES if own else NO)[YES] >= (_FOUND if own else 1 - _STANDS)


def opinion_values(
    lines: Sequence[Spoken], ledger: Ledger, course_values: Mapping[str, float], manners: float
) -> dict[str, float]:
    """Return what the models go by: always the same names, all finite.

    Args:
        manners: how well the service side behaves, 0 to 1.
    """
    customer = [line for line in lines if line.by_customer]
    service = [line for line in lines if not line.by_customer]
    return {
        **course_values,
        **_most("service", SERVICE_ACTS, service),
        **_mean("customer", CUSTOMER_ACTS, customer),
        **_mean("service", SERVICE_ACTS, service),
        **_most("opening", SERVICE_ACTS, service[:_FIRST_LINES]),
        **_most("ending", SERVICE_ACTS, service[-_LAST_LINES:]),
        "lines": math.log1p(len(lines)),
        "manners": manners,
        **ending_values(lines, ledger),
    }


def _most(name: str, acts: Sequence[Act], lines: Sequence[Spoken]) -> dict[str, float]:
    return {
        f"{name}.most.{act}": max((line.acts.get(act, 0.0) for line in lines), default=0.0)
        for act in acts
    }


def _mean(name: str, acts: Sequence[Act], lines: Sequence[Spoken]) -> dict[str, float]:
    return {
        f"{name}.mean.{act}": math.fsum(line.acts.get(act, 0.0) for line in lines)
        / max(1, len(lines))
        for act in acts
    }


@cache
def shipped_opinion_model() -> OpinionModel:
    return opinion_model_from(model_document("opinion"))


def opinion_model_from(document: Mapping[str, Any]) -> OpinionModel:
    """Read the models from their JSON document."""
    return OpinionModel(
        scales={name: (mean, scale) for name, mean, scale in document["values"]},
        questions={
            name: {
                answer: Head(head["bias"], tuple(head["weights"]), head["own"])
                for answer, head in heads.items()
            }
            for name, heads in document["questions"].items()
        },
        ratings={
            name: (head["bias"], tuple(head["weights"]))
            for name, head in document["ratings"].items()
        },
    )
