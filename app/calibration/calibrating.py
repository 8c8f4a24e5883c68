"""Calibration of a judgement by the active profile of its engagement."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from app.ai.judge import Judgement
from app.ai.scorecard.values import Scorecard
from app.ai.scoring.score import band_of, round_half_up
from app.calibration.models import CalibrationProfile
from app.calibration.score_model import model_from


def calibrated(
    judgement: Judgement,
    profile: CalibrationProfile | None,
    *,
    scorecard: Callable[[], Scorecard],
) -> Judgement:
    """Return the judgement with the score that people would give it.

    `score` changes, and with it `band` and `passed` if enough was judged for a verdict; everything
    else stays as judged. A critical failure still counts: one that fails the evaluation leaves 0,
    one that fails a section may lower the score but not raise it. `quality.calibration` of the
    results names the profile, or says why it was not applied. Without an active profile nothing
    changes.

    Args:
        profile: the active profile of the engagement.
        scorecard: loads the version that was judged by; called only if there is a profile.
    """
    if profile is None or judgement.score is None:
        return judgement
    reason = _problem(profile, judgement)
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


def _problem(profile: CalibrationProfile, judgement: Judgement) -> str | None:
    if profile.engine != judgement.engine.as_json():
        return "The profile was fitted to judgements of another engine."
    if not judgement.signals:
        return "The language of the conversation is not supported, so there is nothing to calibrate by."
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
