import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.judge.scorecard.values import Scorecard, scorecard_from
from app.judge.scoring.answers import Answer, failed, judged, not_applicable, unjudged
from app.judge.scoring.score import ErrorCode, band_of, round_half_up, score_of
from tests.talks import document


def made_of(*weights: float, verdict: float = 0, **changes: dict[int, str]) -> Scorecard:
    """Make a scorecard of those weights; `criticality={1: "section"}` and the like change it.

    `verdict` is the weight that must be judged for a verdict.
    """
    made = document("chat")
    template = next(item for item in made["criteria"] if item["key"] == "resolution.accuracy")
    made["criteria"] = []
    for index, weight in enumerate(weights):
        item = {**template, "key": f"c{index}", "weight": weight, "criticality": "none"}
        item["errorClass"] = "none"
        for name, by_index in changes.items():
            item[name] = by_index.get(index, item[name])
        made["criteria"].append(item)
    made["sections"].append({"key": "other", "title": "Other"})
    made["minimum"] = {"words": 0, "judgedWeightPercent": 0, "verdictWeightPercent": verdict}
    return scorecard_from(made)


def answered(*scores: float | Answer | None) -> dict[str, Answer]:
    found = {}
    for index, score in enumerate(scores):
        if score is None:
            found[f"c{index}"] = not_applicable("No occasion.")
        elif isinstance(score, Answer):
            found[f"c{index}"] = score
        else:
            found[f"c{index}"] = judged("yes", score, "So it is.", confidence=0.8)
    return found


UNJUDGED = unjudged("Rules can't tell.")
BROKEN = failed("engine_error", "No answer came.", by="model")
INVALID = failed("invalid_output", "The answer could not be read.", by="model")
SHARES = st.one_of(st.none(), st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1))


@st.composite
def weights_and_shares(draw: st.DrawFn) -> tuple[list[int], list[float | None]]:
    cuts = draw(st.lists(st.integers(1, 99), min_size=0, max_size=9, unique=True))
    edges = [0, *sorted(cuts), 100]
    weights = [after - before for before, after in pairwise(edges)]
    return weights, [draw(SHARES) for _ in weights]


def test_the_worked_example_scores_82() -> None:
    score = score_of(made_of(12, 8, 10, 20, 50), answered(1, 0.5, None, 1, 0.75))
    assert score.raw_score == 81.67
    assert score.score == 82
    assert score.band == "meets"
    assert score.passed is True


def test_with_too_little_judged_there_is_a_score_without_a_verdict() -> None:
    card = made_of(40, 10, 50, verdict=50)
    little = score_of(card, answered(1, UNJUDGED, UNJUDGED))
    assert (little.score, little.coverage) == (100, 0.4)
    assert (little.band, little.passed) == (None, None)
    assert little.no_verdict_reason == (
        "No verdict: only 40 % of the weight of the criteria that apply could be judged; "
        "a verdict needs at least 50 %."
    )
    enough = score_of(card, answered(1, 1, UNJUDGED))
    assert (enough.score, enough.coverage) == (100, 0.5)
    assert (enough.band, enough.passed, enough.no_verdict_reason) == ("exceeds", True, None)


def test_what_does_not_apply_is_not_a_gap_in_the_coverage() -> None:
    card = made_of(30, 30, 40, verdict=50)
    assert score_of(card, answered(1, UNJUDGED, None)).coverage == 0.5
    assert score_of(card, answered(1, None, None)).coverage == 1
    assert score_of(card, answered(1, None, BROKEN)).coverage == 0.4286
    assert score_of(card, answered(None, None, None)).coverage == 0


def test_a_critical_failure_is_shown_without_a_verdict_too() -> None:
    card = made_of(40, 60, verdict=50, criticality={0: "evaluation"})
    score = score_of(card, answered(0, UNJUDGED))
    assert (score.score, score.scope, score.passed) == (0, "evaluation", None)


@pytest.mark.parametrize(
    ("value", "rounded"), [(0.5, 1), (1.5, 2), (2.5, 3), (82.4999, 82), (74.5, 75), (100, 100)]
)
def test_halves_round_up(value: float, rounded: int) -> None:
    assert round_half_up(value) == rounded


def test_the_noise_of_floats_does_not_round_a_half_down() -> None:
    assert round_half_up(0.1 * 3 * 100 + 44.5 - 30) == 45
    assert round_half_up(74.49999999999999) == 75


@given(weights_and_shares())
def test_a_score_is_an_integer_from_0_to_100_or_there_is_a_problem(case) -> None:
    score = score_of(made_of(*case[0]), answered(*case[1]))
    assert (score.score is None) == (score.problem is not None)
    if score.score is not None:
        assert 0 <= score.score <= 100
        assert isinstance(score.score, int)
        assert abs(score.score - score.raw_score) <= 0.51


@given(weights_and_shares())
def test_what_is_not_applicable_changes_nothing(case) -> None:
    weights, shares = case
    known = [(w, s) for w, s in zip(weights, shares, strict=True) if s is not None]
    score = score_of(made_of(*weights), answered(*shares))
    if known:
        total = math.fsum(w for w, _ in known)
        assert score.raw_score == pytest.approx(
            100 * math.fsum(w * s for w, s in known) / total, abs=0.011
        )
    else:
        assert score.raw_score is None


@given(weights_and_shares(), st.data())
def test_a_better_answer_never_lowers_the_score(case, data) -> None:
    weights, shares = case
    index = data.draw(st.integers(0, len(weights) - 1))
    if shares[index] is None:
        return
    better = [*shares]
    better[index] = data.draw(st.floats(shares[index], 1))
    before = score_of(made_of(*weights), answered(*shares))
    after = score_of(made_of(*weights), answered(*better))
    assert after.score >= before.score


@given(weights_and_shares())
def test_points_sum_to_the_score(case) -> None:
    score = score_of(made_of(*case[0]), answered(*case[1]))
    known = [item for item in score.judged if item.points is not None]
    if known:
        total = sum(item.criterion.weight for item in known)
        assert score.score == round_half_up(100 * sum(item.points for item in known) / total)


def test_a_critical_criterion_of_the_evaluation_sets_the_score_to_0_and_keeps_raw_score() -> None:
    score = score_of(made_of(10, 90, criticality={0: "evaluation"}), answered(0, 1))
    assert score.score == 0
    assert score.raw_score == 90
    assert score.passed is False
    assert score.band == "critical"
    assert score.scope == "evaluation"
    assert score.critical_failures == ("c0",)


def test_a_critical_criterion_of_a_section_sets_only_its_section_to_0() -> None:
    scorecard = made_of(10, 30, 60, criticality={0: "section"}, section={2: "other"})
    score = score_of(scorecard, answered(0, 1, 1))
    assert score.raw_score == 90
    assert score.score == 60
    assert score.scope == "section"
    sections = {section.key: section for section in score.sections}
    assert sections["resolution"].score == 0
    assert sections["resolution"].raw_score == 75
    assert sections["resolution"].auto_failed is True
    assert sections["other"].score == 100
    assert sections["closing"].applicable is False


def test_a_critical_criterion_that_does_not_apply_fails_nothing() -> None:
    score = score_of(made_of(10, 90, criticality={0: "evaluation"}), answered(None, 1))
    assert score.score == 100
    assert score.scope is None


def test_half_an_answer_does_not_fail_a_critical_criterion() -> None:
    score = score_of(made_of(10, 90, criticality={0: "evaluation"}), answered(0.5, 1))
    assert score.score == 95


def test_the_compliance_score_is_the_same_formula_over_its_class() -> None:
    scorecard = made_of(20, 20, 60, errorClass={0: "compliance", 1: "compliance"})
    score = score_of(scorecard, answered(1, 0.5, 0))
    assert score.compliance_score == 75
    assert score_of(scorecard, answered(None, None, 1)).compliance_score is None


def test_nothing_applicable_has_no_score() -> None:
    score = score_of(made_of(40, 60), answered(None, None))
    assert score.score is None
    assert score.passed is None
    assert score.band is None
    assert score.problem.code is ErrorCode.INSUFFICIENT_CONTENT


def test_less_judged_weight_than_the_minimum_has_no_score() -> None:
    made = document("chat")
    scorecard = scorecard_from(made)
    few = {item.key: UNJUDGED for item in scorecard.criteria}
    few["opening.greeting"] = judged("yes", 1, "So it is.", confidence=1)
    assert score_of(scorecard, few).problem.code is ErrorCode.INSUFFICIENT_CONTENT
    few["discovery.understanding"] = judged(2, 1, "So it is.", confidence=1)
    assert score_of(scorecard, few).score == 100


def test_a_failed_answer_is_not_applicable_and_lowers_confidence() -> None:
    whole = score_of(made_of(20, 80), answered(1, 1))
    partly = score_of(made_of(20, 80), answered(BROKEN, 1))
    assert partly.score == 100
    assert partly.confidence < whole.confidence


def test_more_than_30_percent_of_failed_weight_leaves_no_score() -> None:
    assert score_of(made_of(30, 70), answered(BROKEN, 1)).score == 100
    problem = score_of(made_of(31, 69), answered(BROKEN, 1)).problem
    assert problem.code is ErrorCode.ENGINE_UNAVAILABLE
    problem = score_of(made_of(31, 69), answered(INVALID, 1)).problem
    assert problem.code is ErrorCode.ENGINE_OUTPUT_INVALID


def test_an_outage_does_not_hide_behind_what_never_applied() -> None:
    score = score_of(made_of(25, 25, 50), answered(BROKEN, 1, None))
    assert score.problem.code is ErrorCode.ENGINE_UNAVAILABLE


def test_what_the_engine_could_not_judge_lowers_confidence_and_what_never_applied_does_not() -> (
    None
):
    assert score_of(made_of(50, 50), answered(1, None)).confidence == 0.8
    assert score_of(made_of(50, 50), answered(1, UNJUDGED)).confidence == 0.4


@pytest.mark.parametrize(
    ("score", "band"),
    [
        (100, "exceeds"),
        (90, "exceeds"),
        (89, "meets"),
        (75, "meets"),
        (74, "needs_improvement"),
        (50, "needs_improvement"),
        (49, "critical"),
        (0, "critical"),
    ],
)
def test_bands_start_at_their_lowest_score(score: int, band: str) -> None:
    assert band_of(scorecard_from(document("voice")), score) == band
