"""The active profile of an engagement, at work on a judgement."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sqlalchemy.orm import Session

from app.ai.judge import Judgement
from app.ai.scorecard.values import Scorecard
from app.ai.scoring.score import band_of, round_half_up
from app.calibration import service
from app.calibration.fitting import model_from
from app.calibration.models import CalibrationProfile


def calibrated(
    session: Session,
    judgement: Judgement,
    *,
    engagement_id: str | None,
    scorecard: Callable[[], Scorecard],
) -> Judgement:
    """Return a judgement with the score that people would give it, by the engagement's profile.

    It changes `score`, and `band` and `passed`, which follow from it where enough was judged for a
    verdict; raw score, sections, criteria and everything else stay as judged. A critical failure
    still counts: one that fails the evaluation leaves 0, one that fails a section lets the score
    fall and never rise.
    `quality.calibration` of the results says what was done, or why nothing was. Without an active
    profile the judgement stays the same.

    Args:
        scorecard: gives the version that was judged by; asked only when there is a profile.
    """
    profile = service.active(session, engagement_id)
    if profile is None or judgement.score is None:
        return judgement
    reason = _obstacle(profile, judgement)
    if reason is not None:
        return _noted(judgement, profile, applied=False, reason=reason)
    expected = round_half_up(model_from(profile.model).score(judgement.signals))
    auto_fail = judgement.results["autoFail"]
    score = min(expected, judgement.score) if auto_fail["triggered"] else expected
    noted = _noted(judgement, profile, applied=True, reason=None)
    changed: dict[str, Any] = {"score": score}
    if judgement.band is not None:
        changed["band"] = band_of(scorecard(), score)
        changed["passed"] = score >= judgement.pass_threshold and not judgement.auto_failed
    return replace(noted, **changed, results={**noted.results, **changed})


def _obstacle(profile: CalibrationProfile, judgement: Judgement) -> str | None:
    if profile.engine != judgement.engine.as_json():
        return "The profile was fitted to the judgements of another engine."
    if not judgement.signals:
        return "The words are not read, so there is nothing to calibrate by."
    return None


def _noted(
    judgement: Judgement, profile: CalibrationProfile, *, applied: bool, reason: str | None
) -> Judgement:
    note = {
        "profileId": profile.id,
        "version": profile.version,
        "applied": applied,
        "reason": reason,
        "scorecardScore": judgement.score,
    }
    quality = {**judgement.results["quality"], "calibration": note}
    return replace(judgement, results={**judgement.results, "quality": quality})
