"""Classifiers of acts: one logistic regression for each act of a side.

Labels are given for lines, and the classifier reads sentences: of a line that performs an act, the
sentence that shows it best teaches it, which is found in a few rounds.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from app.judge.acts.catalogue import Act
from app.judge.acts.classifier import SCALE
from app.judge.acts.features import contexts_of
from app.judge.acts.sentences import features_of
from training.acts.labelled import Talk, acts_of_side

_ROUNDS = 3
_PENALTY = 6.0
_LEAST_ROWS = 2
_LEAST_YES = 8
# Features that weigh less for every act, or less than this share of the largest weight, are left out.
_LEAST_WEIGHT, _LEAST_SHARE = 0.8, 0.04
# What is rare weighs more, up to this share of what is not.
_SHARE_OF_YES, _MOST_WEIGHT = 0.15, 6.0
_OTHER_SENTENCE = 0.5

Numbers = NDArray[np.float64]


def act_classifier(talks: Sequence[Talk], *, customer: bool) -> dict[str, Any]:
    """Fit the acts of a side; the document is what `app.judge.acts.classifier` reads."""
    labels, rows, bounds = _sentences(talks, customer=customer)
    counts = Counter(feature for row in rows for feature in set(row))
    names = sorted(name for name, count in counts.items() if count >= _LEAST_ROWS)
    places = {name: place for place, name in enumerate(names)}
    matrix = _matrix(rows, places)
    fitted = {}
    for act in acts_of_side(customer=customer):
        given = np.array([act in acts for acts in labels])
        if given.sum() >= _LEAST_YES:
            fitted[act] = _fit(matrix, given, bounds)
    weights = np.stack([row for row, _ in fitted.values()], axis=1)
    least = min(_LEAST_WEIGHT, _LEAST_SHARE * np.abs(weights).max())
    return {
        "labels": list(fitted),
        "biases": [round(bias, 3) for _, bias in fitted.values()],
        "weights": {
            name: np.rint(SCALE * row).astype(int).tolist()
            for name, row in zip(names, weights, strict=True)
            if np.abs(row).max() >= least
        },
    }


def _sentences(
    talks: Sequence[Talk], *, customer: bool
) -> tuple[list[frozenset[Act]], list[list[str]], list[int]]:
    """Return the labels of each line, the features of all sentences, and where each line begins."""
    labels: list[frozenset[Act]] = []
    rows: list[list[str]] = []
    bounds = [0]
    for talk in talks:
        for line, contexts, acts in zip(
            talk.lines, contexts_of(talk.lines), talk.acts, strict=True
        ):
            if line.by_customer is not customer or not line.sentences:
                continue
            labels.append(acts)
            rows += [
                [*features_of(sentence), *context]
                for sentence, context in zip(line.sentences, contexts, strict=True)
            ]
            bounds.append(len(rows))
    return labels, rows, bounds


def _matrix(rows: Sequence[Sequence[str]], places: Mapping[str, int]) -> csr_matrix:
    columns: list[int] = []
    values: list[float] = []
    ends = [0]
    for row in rows:
        known = [places[feature] for feature in row if feature in places]
        columns += known
        values += [1 / np.sqrt(len(known) or 1)] * len(known)
        ends.append(len(columns))
    return csr_matrix((values, columns, ends), shape=(len(rows), len(places)))


def _fit(
    matrix: csr_matrix, given: NDArray[np.bool_], bounds: Sequence[int]
) -> tuple[Numbers, float]:
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - it takes a second

    sizes = np.diff(bounds)
    target = np.repeat(given, sizes)
    weights = np.where(target, 1 / np.repeat(sizes, sizes), 1.0)
    coefficients, bias = np.zeros(matrix.shape[1]), 0.0
    for turn in range(_ROUNDS):
        if turn:
            target, weights = _shown_best(matrix @ coefficients + bias, given, bounds)
        yes, no = weights[target].sum(), weights[~target].sum()
        balance = min(_MOST_WEIGHT, max(1.0, _SHARE_OF_YES * no / yes))
        model = LogisticRegression(C=_PENALTY, solver="liblinear", random_state=7, max_iter=200)
        model.fit(matrix, target, np.where(target, balance * weights, weights))
        coefficients, bias = model.coef_[0], float(model.intercept_[0])
    return coefficients, bias


def _shown_best(
    shown: Numbers, given: NDArray[np.bool_], bounds: Sequence[int]
) -> tuple[NDArray[np.bool_], Numbers]:
    # Of a line with the act, its likeliest sentence and every likely one teach it; others teach little.
    target, weights = np.zeros(len(shown), bool), np.ones(len(shown))
    for line in map(int, np.flatnonzero(given)):
        place = slice(bounds[line], bounds[line + 1])
        of_line = shown[place]
        likely = (of_line > 0) | (of_line == of_line.max())
        target[place] = likely
        weights[place] = np.where(likely, 1.0, _OTHER_SENTENCE)
    return target, weights
