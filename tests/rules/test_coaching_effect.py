"""Effect of coaching: differences of known values, and the reasons for none."""

import pytest

from app.coaching.effect import LEAST, Scores, difference


def scores(*values: float) -> Scores:
    return Scores(
        len(values),
        sum(values),
        sum(value * value for value in values),
        sum(value not in (0, 100) for value in values),
    )


def passed(hits: int, count: int) -> Scores:
    return scores(*[100.0] * hits, *[0.0] * (count - hits))


def test_a_share_has_the_interval_of_agresti_and_caffo() -> None:
    found = difference(passed(20, 50), passed(40, 50))
    assert found is not None
    # Agresti and Caffo: shares (21/52, 41/52), each with its error by 52.
    middle, half = 40.0, 100 * 1.96 * ((21 / 52 * 31 / 52 + 41 / 52 * 11 / 52) / 52) ** 0.5
    assert found.value == pytest.approx(middle)
    assert (found.low, found.high) == pytest.approx((middle - half, middle + half), abs=0.9)
    assert found.is_clear


def test_a_mean_has_the_interval_of_welch() -> None:
    before = scores(*[40, 45, 50, 55, 60] * 3)
    after = scores(*[50, 55, 60, 65, 70] * 3)
    found = difference(before, after)
    assert found is not None
    assert found.value == pytest.approx(10)
    # Both have a variance of 53.57 over 15: an error of 2.673, and t of 2.048 with 28 degrees.
    assert found.high - found.value == pytest.approx(2.048 * 2.673, abs=0.02)
    assert found.is_clear


def test_too_few_on_either_side_give_no_difference() -> None:
    many, few = passed(5, 30), passed(5, LEAST - 1)
    assert difference(many, few) is None
    assert difference(few, many) is None
    assert difference(many, passed(5, LEAST)) is not None


def test_noise_and_equal_scores_are_not_clear() -> None:
    for before, after in (
        (passed(6, 12), passed(8, 12)),
        (passed(12, 12), passed(12, 12)),
        (scores(*[50, 60] * 6), scores(*[51, 61] * 6)),
    ):
        found = difference(before, after)
        assert found is not None
        assert not found.is_clear


def test_scores_of_people_are_added() -> None:
    assert scores(10, 0) + scores(100, 50) == scores(10, 100, 0, 50)
