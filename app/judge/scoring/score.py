"""From answers to a score: weights, sections, critical criteria and bands (docs/scorecards.md)."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from app.judge.scorecard.values import Criterion, Scorecard
from app.judge.scoring.answers import Answer
from app.judge.wording import sentence


class ErrorCode(StrEnum):
    """Why an evaluation has no score."""

    EMPTY_TRANSCRIPT = "EMPTY_TRANSCRIPT"
    INSUFFICIENT_CONTENT = "INSUFFICIENT_CONTENT"
    UNSUPPORTED_LANGUAGE = "UNSUPPORTED_LANGUAGE"
    ENGINE_UNAVAILABLE = "ENGINE_UNAVAILABLE"
    ENGINE_OUTPUT_INVALID = "ENGINE_OUTPUT_INVALID"


@dataclass(frozen=True, slots=True)
class Problem:
    """Why there is no score; `message` is for people."""

    code: ErrorCode
    message: str


@dataclass(frozen=True, slots=True)
class Judged:
    """A criterion with its answer; `share` of its weight, 0 to 1, None where nothing is known of it.

    The share is what the answer is worth, or its estimate, and 0 where a critical criterion has failed the section.
    """

    criterion: Criterion
    answer: Answer
    share: float | None

    @property
    def points(self) -> float | None:
        if self.share is None or not self.answer.applicable:
            return None
        return self.criterion.weight * self.share

    @property
    def failed(self) -> bool:
        return self.answer.score is not None and self.answer.score <= self.criterion.fails_at


@dataclass(frozen=True, slots=True)
class SectionScore:
    """`raw_score` is before and `score` after a critical criterion has failed, 0 to 100."""

    key: str
    title: str
    weight: float
    score: float | None
    raw_score: float | None
    auto_failed: bool
    criteria_count: int

    @property
    def applicable(self) -> bool:
        return self.raw_score is not None


@dataclass(frozen=True, slots=True)
class Score:
    """`score` is an integer 0 to 100, or None exactly where there is a `problem`.

    `raw_score` is the weighted mean of what the answers are worth, before critical criteria take effect. `scope` is
    how far their effect reaches (section, pass, evaluation, None). `confidence` is the weighted mean over
    everything that should have been judged, where what was not counts 0. `coverage` is the share,
    0 to 1, that was judged or estimated of the weight of all criteria that apply; where it is too little, there is
    a score without a verdict: no band, and neither passed nor failed.
    """

    score: int | None
    raw_score: float | None
    compliance_score: float | None
    coverage: float
    no_verdict_reason: str | None
    band: str | None
    passed: bool | None
    scope: str | None
    critical_failures: tuple[str, ...]
    failed_criteria: tuple[str, ...]
    confidence: float
    sections: tuple[SectionScore, ...]
    judged: tuple[Judged, ...]
    problem: Problem | None


# How far a failure reaches, the farthest first; with the first two nothing passes.
_SCOPES = ("evaluation", "pass", "section")
_FAILING = frozenset(_SCOPES[:2])


def round_half_up(value: float) -> int:
    """Round to an integer, .5 upwards; differences below a billionth are noise of floats."""
    return math.floor(round(value, 9) + 0.5)


def score_of(
    scorecard: Scorecard, answers: Mapping[str, Answer], problem: Problem | None = None
) -> Score:
    """Score the answers, one for each criterion of the scorecard.

    `problem` is one that is known before; without it too little judged weight, or too much weight
    whose judge failed, leaves the evaluation without a score.
    """
    judged = _with_points(scorecard, answers)
    raw = _mean((item.criterion.weight, item.answer.worth) for item in judged)
    problem = problem or _problem(scorecard, judged)
    failures = [item for item in judged if item.failed and item.criterion.criticality != "none"]
    scopes = {item.criterion.criticality for item in failures}
    evaluation_failed, kept = "evaluation" in scopes, "pass" in scopes
    after = _mean((item.criterion.weight, item.share) for item in judged)
    most = 0 if evaluation_failed else max(0, scorecard.pass_threshold - 1) if kept else 100
    score = min(most, round_half_up(after or 0))
    no_verdict = _no_verdict(scorecard, judged)
    has_verdict = problem is None and no_verdict is None
    return Score(
        score=None if problem else score,
        raw_score=_round(raw),
        compliance_score=_round(
            _mean(
                (item.criterion.weight, item.answer.score)
                for item in judged
                if item.criterion.error_class == "compliance"
            )
        ),
        coverage=round(_coverage(judged), 4),
        no_verdict_reason=None if problem else no_verdict,
        band=band_of(scorecard, score) if has_verdict else None,
        passed=score >= scorecard.pass_threshold and not scopes & _FAILING if has_verdict else None,
        scope=next((scope for scope in _SCOPES if scope in scopes), None),
        critical_failures=tuple(item.criterion.key for item in failures),
        failed_criteria=tuple(item.criterion.key for item in judged if item.failed),
        confidence=_confidence(judged),
        sections=tuple(_sections(scorecard, judged)),
        judged=judged,
        problem=problem,
    )


def unscored(score: Score, problem: Problem) -> Score:
    """Take the score back, for a reason that is known only afterwards."""
    return replace(
        score, score=None, band=None, passed=None, no_verdict_reason=None, problem=problem
    )


def band_of(scorecard: Scorecard, score: int) -> str:
    """Name the band of a score; there is always one, since one band starts at 0."""
    return next(band.key for band in scorecard.bands if score >= band.lowest)


def _with_points(scorecard: Scorecard, answers: Mapping[str, Answer]) -> tuple[Judged, ...]:
    plain = [Judged(item, _as_shown(answers[item.key]), None) for item in scorecard.criteria]
    failed_sections = {
        item.criterion.section
        for item in plain
        if item.failed and item.criterion.criticality == "section"
    }
    return tuple(
        Judged(item.criterion, item.answer, _share(item, failed_sections)) for item in plain
    )


def _as_shown(answer: Answer) -> Answer:
    # Rounded as in the results, so that the score can be recomputed from them.
    return replace(answer, score=_four(answer.score), estimate=_four(answer.estimate))


def _four(share: float | None) -> float | None:
    return None if share is None else round(share, 4)


def _share(item: Judged, failed_sections: set[str]) -> float | None:
    lost = item.answer.worth is not None and item.criterion.section in failed_sections
    return 0.0 if lost else item.answer.worth


def _mean(weighted: Iterable[tuple[float, float | None]]) -> float | None:
    # 100 * sum(w * s) / sum(w) over what is applicable and has a weight.
    pairs = [(weight, score) for weight, score in weighted if score is not None]
    total = math.fsum(weight for weight, _ in pairs)
    if not total:
        return None
    return 100 * math.fsum(weight * score for weight, score in pairs) / total


def _problem(scorecard: Scorecard, judged: tuple[Judged, ...]) -> Problem | None:
    applicable = _weight(item for item in judged if item.answer.worth is not None)
    broken = [item for item in judged if item.answer.failure is not None]
    lost = _weight(broken)
    # Relative to the expected weight: criteria that never apply must not hide an outage.
    if lost and 100 * lost / (lost + applicable) > scorecard.max_failed_weight_percent:
        outage = any(item.answer.failure == "engine_error" for item in broken)
        code = ErrorCode.ENGINE_UNAVAILABLE if outage else ErrorCode.ENGINE_OUTPUT_INVALID
        if all(item.answer.failure == "insufficient_content" for item in broken):
            code = ErrorCode.INSUFFICIENT_CONTENT
        return Problem(code, sentence("no_score.judge_failed"))
    if not applicable:
        return Problem(ErrorCode.INSUFFICIENT_CONTENT, sentence("no_score.nothing_judged"))
    percent = round(100 * _coverage(judged), 2)
    if percent < scorecard.minimum.judged_weight_percent:
        return Problem(
            ErrorCode.INSUFFICIENT_CONTENT,
            sentence(
                "no_score.little_judged",
                percent=f"{percent:g}",
                least=f"{scorecard.minimum.judged_weight_percent:g}",
            ),
        )
    return None


def _no_verdict(scorecard: Scorecard, judged: tuple[Judged, ...]) -> str | None:
    percent, needed = round(100 * _coverage(judged), 2), scorecard.minimum.verdict_weight_percent
    if percent >= needed:
        return None
    return sentence("no_verdict.little_judged", percent=f"{percent:g}", least=f"{needed:g}")


def _coverage(judged: tuple[Judged, ...]) -> float:
    expected = _expected_weight(judged)
    judged_weight = _weight(item for item in judged if item.answer.worth is not None)
    return judged_weight / expected if expected else 0.0


def _expected_weight(judged: tuple[Judged, ...]) -> float:
    """Add up the weights of the criteria that should have been judged."""
    return _weight(
        item
        for item in judged
        if item.answer.applicable or item.answer.unjudged or item.answer.failure
    )


def _weight(judged: Iterable[Judged]) -> float:
    return math.fsum(item.criterion.weight for item in judged)


def _confidence(judged: tuple[Judged, ...]) -> float:
    expected = _expected_weight(judged)
    sure = math.fsum(item.criterion.weight * (item.answer.confidence or 0) for item in judged)
    return round(sure / expected, 4) if expected else 0.0


def _sections(scorecard: Scorecard, judged: tuple[Judged, ...]) -> Iterable[SectionScore]:
    for section in scorecard.sections:
        items = [item for item in judged if item.criterion.section == section.key]
        yield SectionScore(
            key=section.key,
            title=section.title,
            weight=_round(math.fsum(item.criterion.weight for item in items)) or 0,
            score=_round(_mean((item.criterion.weight, item.share) for item in items)),
            raw_score=_round(_mean((item.criterion.weight, item.answer.worth) for item in items)),
            auto_failed=any(
                item.failed and item.criterion.criticality in ("section", "evaluation")
                for item in items
            ),
            criteria_count=len(items),
        )


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 2)
