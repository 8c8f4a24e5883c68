"""The statistics of agreement: against published figures, and against plain definitions."""

import itertools
import statistics
from collections import Counter
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.reviews.agreement import alpha, bootstrap, two_raters
from app.reviews.agreement.alpha import Units
from app.reviews.agreement.two_raters import Pair, Pairs
from tests.sampling import examples

# (judge, human), as one public tool prints it: kappa 0.763 at 90 % raw agreement.
TABLE: dict[Pair, int] = {(1, 1): 78, (1, 0): 10, (0, 1): 2, (0, 0): 30}
# Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), section D: four observers.
OBSERVED = (
    (1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None),
    (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3),
    (None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None),
    (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None),
)
UNITS: Units = Counter(
    tuple(value for value in unit if value is not None) for unit in zip(*OBSERVED, strict=True)
)
ratings = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=30)
numbers = st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)), min_size=3, max_size=25)
rated = st.lists(st.lists(st.integers(0, 3), max_size=4).map(tuple), min_size=1, max_size=12)


def test_kappa_of_the_known_table() -> None:
    assert two_raters.share_equal(TABLE) == pytest.approx(0.9)
    assert two_raters.kappa(TABLE) == pytest.approx(0.763, abs=5e-4)
    # Over two categories all disagreements weigh the same.
    assert two_raters.weighted_kappa(TABLE) == pytest.approx(two_raters.kappa(TABLE))
    assert two_raters.confusion(TABLE, (0, 1)) == [[30, 10], [2, 78]]
    assert two_raters.mean_recall(TABLE) == pytest.approx((78 / 80 + 30 / 40) / 2)
    assert two_raters.mean_f1(TABLE) == pytest.approx((2 * 78 / 168 + 2 * 30 / 72) / 2)


def test_wilsons_interval_of_eight_in_ten() -> None:
    rate = two_raters.wilson(8, 10)
    assert (rate.value, rate.low, rate.high) == pytest.approx((0.8, 0.4902, 0.9433), abs=1e-4)
    assert two_raters.wilson(0, 5).low == 0
    assert two_raters.wilson(5, 5).high == 1
    assert two_raters.hit_rate(TABLE, 1) == two_raters.wilson(78, 80)
    assert two_raters.hit_rate({(1, 1): 3}, 0) is None


def test_alpha_of_the_published_example() -> None:
    assert alpha.nominal(UNITS) == pytest.approx(0.743, abs=5e-4)
    assert alpha.ordinal(UNITS) == pytest.approx(0.815, abs=5e-4)
    assert alpha.interval(UNITS) == pytest.approx(0.849, abs=5e-4)


def test_quadratic_weights_of_a_small_table() -> None:
    # 4 pairs: (0, 0), (1, 2), (2, 2), (2, 1): 1 - 4 * 2 / (sum over all 16 crossings of squares).
    pairs: Pairs = Counter([(0, 0), (1, 2), (2, 2), (2, 1)])
    crossed = sum((a - b) ** 2 for (a, _), (_, b) in itertools.product(pairs, pairs))
    assert two_raters.weighted_kappa(pairs) == pytest.approx(1 - 4 * 2 / crossed)


def test_nothing_and_sameness_have_no_figure() -> None:
    for figure in (
        two_raters.share_equal,
        two_raters.kappa,
        two_raters.weighted_kappa,
        two_raters.mean_f1,
        two_raters.mean_recall,
        two_raters.mean_distance,
        two_raters.bias,
        two_raters.pearson,
        two_raters.spearman,
    ):
        assert figure({}) is None
    assert two_raters.kappa({(1, 1): 40}) is None
    assert two_raters.pearson({(1, 2): 3, (1, 5): 2}) is None
    for level in (alpha.nominal, alpha.ordinal, alpha.interval):
        assert level({}) is None
        assert level({(1,): 9, (): 2}) is None
        assert level({(2, 2): 9}) is None


@given(ratings)
@settings(max_examples=examples(40))
def test_kappas_are_what_their_definitions_say(pairs: list[tuple[float, float]]) -> None:
    counted, size = Counter(pairs), len(pairs)
    crossed = [(a, b) for (a, _), (_, b) in itertools.product(pairs, pairs)]
    for figure, distance in (
        (two_raters.kappa, lambda a, b: float(a != b)),
        (two_raters.weighted_kappa, lambda a, b: float((a - b) ** 2)),
    ):
        expected = sum(distance(a, b) for a, b in crossed) / size**2
        value = figure(counted)
        if expected == 0:
            assert value is None
        else:
            met = sum(distance(a, b) for a, b in pairs) / size
            assert value == pytest.approx(1 - met / expected)


@given(rated)
@settings(max_examples=examples(40))
def test_alpha_is_what_its_definition_says(units: list[tuple[float, ...]]) -> None:
    paired = [unit for unit in units if len(unit) > 1]
    every = [value for unit in paired for value in unit]
    for level, distance in (
        (alpha.nominal, lambda a, b: float(a != b)),
        (alpha.interval, lambda a, b: float((a - b) ** 2)),
        (alpha.ordinal, lambda a, b: _between(every, a, b) ** 2),
    ):
        value = level(Counter(units))
        expected = sum(distance(a, b) for a, b in itertools.permutations(every, 2))
        if not expected:
            assert value is None
            continue
        met = sum(
            sum(distance(a, b) for a, b in itertools.permutations(unit, 2)) / (len(unit) - 1)
            for unit in paired
        )
        assert value == pytest.approx(1 - (len(every) - 1) * met / expected)


def _between(every: list[float], one: float, other: float) -> float:
    low, high = sorted((one, other))
    inside = sum(low <= value <= high for value in every)
    return inside - (every.count(low) + every.count(high)) / 2


@given(numbers)
@settings(max_examples=examples(40))
def test_distances_and_correlations_are_what_the_library_says(
    pairs: list[tuple[float, float]],
) -> None:
    counted = Counter(pairs)
    differences = [judge - human for judge, human in pairs]
    assert two_raters.bias(counted) == pytest.approx(statistics.fmean(differences))
    distances = [abs(difference) for difference in differences]
    assert two_raters.mean_distance(counted) == pytest.approx(statistics.fmean(distances))
    assert two_raters.share_within(counted, 5) == sum(
        distance <= 5 for distance in distances
    ) / len(pairs)
    judges, humans = zip(*pairs, strict=True)
    if len(set(judges)) == 1 or len(set(humans)) == 1:
        assert two_raters.pearson(counted) is None
        assert two_raters.spearman(counted) is None
        return
    assert two_raters.pearson(counted) == pytest.approx(statistics.correlation(judges, humans))
    ranked = statistics.correlation(_ranks(judges), _ranks(humans))
    assert two_raters.spearman(counted) == pytest.approx(ranked)


def _ranks(values: tuple[float, ...]) -> list[float]:
    return [
        sum(other < value for other in values) + (values.count(value) + 1) / 2 for value in values
    ]


def test_intervals_are_reproducible_and_hold_the_truth() -> None:
    def of(table: Pairs) -> bootstrap.Estimate | None:
        return bootstrap.estimates(table, {"kappa": two_raters.kappa}, seed="x")["kappa"]

    first = of(TABLE)
    assert first is not None
    assert first == of(dict(reversed(TABLE.items())))
    assert first.low is not None
    assert first.high is not None
    # The large-sample standard error of kappa for this table is 0.062.
    assert first.low == pytest.approx(0.763 - 1.96 * 0.062, abs=0.04)
    assert first.high == pytest.approx(0.763 + 1.96 * 0.062, abs=0.04)
    assert of({}) is None


def test_an_interval_is_as_wide_with_units_one_by_one_as_counted() -> None:
    one_by_one = dict.fromkeys(enumerate(_told(TABLE)), 1)

    def share(units: Mapping[tuple[int, tuple[float, float]], int]) -> float | None:
        pairs: Counter[tuple[float, float]] = Counter()
        for (_, pair), count in units.items():
            pairs[pair] += count
        return two_raters.share_equal(pairs)

    alone = bootstrap.estimates(one_by_one, {"share": share}, seed="x")["share"]
    counted = bootstrap.estimates(TABLE, {"share": two_raters.share_equal}, seed="x")["share"]
    assert alone is not None
    assert counted is not None
    for one, other in ((alone.low, counted.low), (alone.high, counted.high)):
        assert one == pytest.approx(other, abs=0.02)


def _told(table: Pairs) -> list[tuple[float, float]]:
    return [pair for pair, count in table.items() for _ in range(count)]


def test_a_figure_that_most_draws_lack_has_no_bounds() -> None:
    def of_all_three(units: Mapping[str, int]) -> float | None:
        return 1.0 if len(units) == 3 else None

    # All three are drawn in a quarter of the cases: (1 - 1 / e) cubed.
    estimates = bootstrap.estimates({"a": 1, "b": 1, "c": 1}, {"all": of_all_three}, seed="x")
    assert estimates == {"all": bootstrap.Estimate(1.0, None, None)}
    sure = bootstrap.estimates(
        dict.fromkeys([(1.0, 1.0)], 30), {"share": two_raters.share_equal}, seed="x"
    )
    assert sure == {"share": bootstrap.Estimate(1.0, 1.0, 1.0)}
