"""Calibration: ridge regression, the rising curve, and what both learn from samples."""

import random
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.reviews.calibration.fitting import Ridge, cross_validated, fit, rising_curve
from app.reviews.calibration.score_model import LinearModel, Sample, model_from


def samples(signals: list[dict[str, float]], labels: Iterable[float]) -> list[Sample]:
    return [Sample(signal, float(label)) for signal, label in zip(signals, labels, strict=True)]


points = st.lists(
    st.tuples(st.integers(0, 20).map(float), st.integers(0, 100).map(float)),
    min_size=1,
    max_size=25,
)


def people(number: int, *, seed: int = 7) -> list[Sample]:
    """Conversations whose people go by one signal that the score does not know of."""
    chance = random.Random(seed)
    made = []
    for _ in range(number):
        hidden, score = chance.uniform(-1, 1), chance.uniform(40, 90)
        label = max(0.0, min(100.0, 50 + 30 * hidden + 0.2 * (score - 65) + chance.gauss(0, 5)))
        noise = {f"noise{index}": chance.gauss(0, 1) for index in range(10)}
        made.append(Sample({"score": score, "hidden": hidden, **noise}, label))
    return made


def test_ridge_without_penalty_is_least_squares() -> None:
    signals = [{"x": float(x), "z": float(x % 3)} for x in range(9)]
    labels = [3 + 2 * signal["x"] - signal["z"] for signal in signals]
    linear = Ridge(samples(signals, labels)).solve(1e-9)
    assert [linear.predict(signal) for signal in signals] == pytest.approx(labels, abs=1e-6)


@pytest.mark.parametrize("number", [4, 12])
def test_the_fit_is_where_the_penalised_error_is_least(number: int) -> None:
    chance = random.Random(number)
    names = ("score", "dimension.effort", "dimension.resolution", "lines", "concessions", "ending")
    signals = [{name: chance.gauss(0, 1) for name in names} for _ in range(number)]
    labels = [chance.gauss(50, 20) for _ in range(number)]
    linear, strength = Ridge(samples(signals, labels)).solve(5.0), 5.0
    penalties = (0.03, 0.003, 0.3, 1, 1, 1)
    weights = {name: weight for name, _, _, weight in linear.columns}

    def cost(moved: str, by: float) -> float:
        columns = tuple(
            (name, mean, scale, weight + by * (name == moved))
            for name, mean, scale, weight in linear.columns
        )
        model = LinearModel(linear.bias, columns)
        error = sum((model.predict(x) - y) ** 2 for x, y in zip(signals, labels, strict=True))
        shrunk = (
            penalty * (weights[name] + by * (name == moved)) ** 2
            for name, penalty in zip(names, penalties, strict=True)
        )
        return error + strength * sum(shrunk)

    for name in names:
        assert cost(name, 0) < cost(name, 0.01)
        assert cost(name, 0) < cost(name, -0.01)


def test_ridge_with_a_huge_penalty_is_the_mean() -> None:
    signals = [{"x": float(x)} for x in range(9)]
    linear = Ridge(samples(signals, range(9))).solve(1e12)
    assert linear.predict({"x": 8.0}) == pytest.approx(4.0, abs=1e-6)


def test_a_constant_or_missing_signal_has_no_weight() -> None:
    signals = [{"x": float(x), "same": 5.0} for x in range(8)]
    linear = Ridge(samples(signals, range(8))).solve(1.0)
    assert [name for name, *_ in linear.columns] == ["x"]
    assert linear.predict({}) == pytest.approx(3.5)
    assert linear.predict({"x": 3.5, "unknown": 9.0}) == pytest.approx(3.5)


def test_points_that_fall_are_merged() -> None:
    curve = rising_curve([(0, 10), (1, 30), (2, 20), (3, 50)])
    assert curve.knots == ((0, 10), (1.5, 25), (3, 50))
    assert [curve.value(point) for point in (-5, 0, 0.75, 1.5, 9)] == [10, 10, 17.5, 25, 50]
    with pytest.raises(ValueError, match="points"):
        rising_curve([])


@given(points)
def test_the_curve_rises_within_the_labels(given_points: list[tuple[float, float]]) -> None:
    knots = rising_curve(given_points).knots
    assert all(left[0] < right[0] and left[1] < right[1] for left, right in pairwise(knots))
    labels = [label for _, label in given_points]
    assert min(labels) <= knots[0][1] <= knots[-1][1] <= max(labels)


@pytest.mark.parametrize(("number", "least"), [(30, 0.6), (80, 0.8)])
def test_calibration_learns_a_signal_that_people_follow(number: int, least: float) -> None:
    gain = cross_validated(people(number))
    assert gain.before["spearman"].value < 0.4
    assert gain.after["spearman"].value > least
    assert gain.change["mae"].high < 0
    assert gain.change["mae"].low <= gain.change["mae"].value <= gain.change["mae"].high
    assert abs(gain.after["bias"].value) < 5


def test_random_labels_give_no_gain() -> None:
    chance = random.Random(3)
    samples = [
        Sample({"score": chance.uniform(0, 100), "x": chance.gauss(0, 1)}, chance.uniform(0, 100))
        for _ in range(40)
    ]
    change = cross_validated(samples).change["spearman"]
    assert change.low < 0.2


def test_a_fit_is_deterministic_and_survives_storage() -> None:
    samples = people(40)
    model = fit(samples)
    assert fit(samples) == model
    assert model_from(model.as_json()) == model
    scores = [model.score(sample.signals) for sample in samples]
    assert all(0 <= score <= 100 for score in scores)
    assert len({round(score) for score in scores}) > 10
