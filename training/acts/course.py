"""Fits the models of the course: from what the ledger and the acts tell to what a reader found."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.judge.acts.classifier import classifier_from
from app.judge.acts.reading import BOLDER, Readers
from app.judge.facts.sentiment import feelings_of
from app.judge.ledger.course import LIMIT, course_values
from app.judge.ledger.entries import Spoken, ledger_of
from training.acts.classifier import act_classifier, acts_read
from training.acts.labelled import Talk
from training.acts.spoken import spoken_with

FOLDS = 2
_RATINGS = ("satisfaction", "effectiveness", "manner")
_PENALTY_OF_STATUS, _PENALTY_OF_RATINGS = 1_000.0, 3_000.0
# Conversations with a person weigh more than those with STAR's bots, of which there are more.
_WITH_A_BOT, _OF_A_BOT, _OF_OTHERS = "star", 1.0, 5.0
_LEAST_SCALE = 0.02

Numbers = NDArray[np.float64]


def cross_readers(talks: Sequence[Talk]) -> list[Readers]:
    """Fit classifiers to the conversations of every fold but one; the first are to read fold 0, and so on."""
    readers = []
    for fold in range(FOLDS):
        others = [talk for index, talk in enumerate(talks) if index % FOLDS != fold]
        customer, service = (act_classifier(others, customer=side) for side in (True, False))
        readers.append(Readers(classifier_from(customer), classifier_from(service)))
    return readers


def values_of(talks: Sequence[Talk], readers: Sequence[Readers]) -> list[dict[str, float]]:
    """Return the values of each conversation, its acts read by classifiers that were not fitted to it."""
    found = []
    for index, talk in enumerate(talks):
        customer, service, _ = readers[index % FOLDS]
        read = [
            {act: likely**BOLDER for act, likely in acts.items()}
            for acts in acts_read(talk, {True: customer, False: service})
        ]
        found.append(values_with(talk, spoken_with(talk, read)))
    return found


def values_with(talk: Talk, lines: Sequence[Spoken]) -> dict[str, float]:
    """Return the values of a conversation whose acts are known."""
    feelings = feelings_of(line.text for line in talk.lines if line.by_customer)
    return course_values(lines, ledger_of(lines), feelings)


def course_document(talks: Sequence[Talk], values: Sequence[dict[str, float]]) -> dict[str, Any]:
    """Fit the models; the document is what `app.judge.ledger.course` reads."""
    names = sorted(values[0])
    rows = np.array([[row[name] for name in names] for row in values])
    shares = np.array([_OF_A_BOT if talk.source == _WITH_A_BOT else _OF_OTHERS for talk in talks])
    means = np.average(rows, axis=0, weights=shares)
    spread = np.sqrt(np.average((rows - means) ** 2, axis=0, weights=shares))
    scales = np.maximum(spread, _LEAST_SCALE)
    distances = np.clip((rows - means) / scales, -LIMIT, LIMIT)
    return {
        "values": [
            [name, round(float(mean), 4), round(float(scale), 4)]
            for name, mean, scale in zip(names, means, scales, strict=True)
        ],
        "heads": {
            "resolved": _probability(distances, talks, shares),
            **{name: _rating(distances, talks, name, shares) for name in _RATINGS},
        },
    }


def _probability(distances: Numbers, talks: Sequence[Talk], shares: Numbers) -> dict[str, Any]:
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - it takes a second

    status = np.array([talk.outcome["status"] for talk in talks])
    known = status != "unknown"
    model = LogisticRegression(C=1 / _PENALTY_OF_STATUS, max_iter=1_000)
    model.fit(distances[known], status[known] == "resolved", shares[known])
    return _head(model.coef_[0], float(model.intercept_[0]))


def _rating(
    distances: Numbers, talks: Sequence[Talk], name: str, shares: Numbers
) -> dict[str, Any]:
    from sklearn.linear_model import Ridge  # noqa: PLC0415

    given = np.array([float(talk.outcome[name]) for talk in talks])
    model = Ridge(_PENALTY_OF_RATINGS)
    model.fit(distances, given, shares)
    # A penalty draws ratings towards the middle; readers use the whole scale.
    read = model.predict(distances)
    stretch = _spread(given, shares) / _spread(read, shares)
    middle = float(np.average(given, weights=shares) - stretch * np.average(read, weights=shares))
    return _head(stretch * model.coef_, stretch * float(model.intercept_) + middle)


def _spread(values: Numbers, shares: Numbers) -> float:
    mean = np.average(values, weights=shares)
    return float(np.sqrt(np.average((values - mean) ** 2, weights=shares)))


def _head(weights: Numbers, bias: float) -> dict[str, Any]:
    return {"bias": round(bias, 4), "weights": [round(float(weight), 4) for weight in weights]}
