"""Calibration profiles: stored, activated, deactivated, listed, and applied to judgements."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from sqlalchemy import RowMapping, and_, func, select
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.database.paging import Page, PageRequest, select_page
from app.core.database.rows import find_mapping
from app.core.database.session import Table
from app.core.errors import NotFound
from app.core.ids import new_id
from app.judge.judge import Judgement
from app.judge.scorecard.values import Scorecard
from app.judge.scoring.score import band_of, round_half_up
from app.reviews.calibration.score_model import CalibrationModel, Gain, model_from
from app.reviews.models import CalibrationProfile, CalibrationSwitch

_COLUMNS = Table.metadata.tables[CalibrationProfile.__tablename__].c
_SORTABLE = {name: _COLUMNS[name] for name in ("created_at", "version")}
_SWITCHES = Table.metadata.tables[CalibrationSwitch.__tablename__]
_NEWEST = _SWITCHES.alias("newest")
_LAST = (
    select(func.max(_NEWEST.c.id))
    .where(_NEWEST.c.engagement_id == _COLUMNS.engagement_id)
    .scalar_subquery()
)
_SHOWN = select(
    *(column for column in _COLUMNS if column.key != "model"),
    select(_SWITCHES.c.id)
    .where(_SWITCHES.c.id == _LAST, _SWITCHES.c.version == _COLUMNS.version)
    .exists()
    .label("active"),
)


def add_profile(
    session: Session,
    engagement_id: str,
    *,
    model: CalibrationModel,
    gain: Gain,
    engine: Mapping[str, Any],
    label_source: str,
    label_count: int,
) -> CalibrationProfile:
    """Store a fitted model as the next version of an engagement, without activating it."""
    last = select(func.max(CalibrationProfile.version)).where(
        CalibrationProfile.engagement_id == engagement_id
    )
    profile = CalibrationProfile(
        id=new_id("cal"),
        engagement_id=engagement_id,
        version=(session.scalar(last) or 0) + 1,
        engine=dict(engine),
        label_source=label_source,
        label_count=label_count,
        figures=asdict(gain),
        model=model.as_json(),
        created_at=utc_now(),
    )
    session.add(profile)
    session.flush()
    return profile


def activate(session: Session, engagement_id: str, version: int) -> None:
    """Calibrate new judgements by this version; finished evaluations stay as they are."""
    known = select(CalibrationProfile.id).where(
        CalibrationProfile.engagement_id == engagement_id, CalibrationProfile.version == version
    )
    if session.scalar(known) is None:
        raise NotFound(f"There is no version {version} of the calibration.")
    _switch(session, engagement_id, version)


def deactivate(session: Session, engagement_id: str) -> None:
    """Stop calibrating new judgements; without an active profile nothing happens."""
    if active_profile(session, engagement_id) is not None:
        _switch(session, engagement_id, None)


def active_profile(session: Session, engagement_id: str | None) -> CalibrationProfile | None:
    """Return the profile that calibrates the judgements of an engagement now."""
    if engagement_id is None:
        return None
    last = (
        select(func.max(CalibrationSwitch.id))
        .where(CalibrationSwitch.engagement_id == engagement_id)
        .scalar_subquery()
    )
    return session.scalar(
        select(CalibrationProfile)
        .join(
            CalibrationSwitch,
            and_(
                CalibrationSwitch.engagement_id == CalibrationProfile.engagement_id,
                CalibrationSwitch.version == CalibrationProfile.version,
            ),
        )
        .where(CalibrationSwitch.id == last)
    )


def calibration(session: Session, engagement_id: str | None) -> Callable[..., Judgement]:
    """Return `_calibrated` by the active profile of an engagement."""
    return partial(_calibrated, active_profile(session, engagement_id))


def _calibrated(
    profile: CalibrationProfile | None, judgement: Judgement, *, scorecard: Callable[[], Scorecard]
) -> Judgement:
    """Return the judgement with the score that people would give it.

    `score` changes, and with it `band` and `passed` if enough was judged for a verdict; everything
    else stays as judged. A critical failure still counts: one that fails the evaluation leaves 0,
    one that fails a section may lower the score but not raise it. `quality.calibration` of the
    results names the profile, or says why it was not applied. Without an active profile nothing
    changes.

    Args:
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


def list_page(
    session: Session, request: PageRequest, *, engagement_id: str | None = None
) -> Page[Any]:
    """List profiles and whether each is active, by default the newest first."""
    statement = _SHOWN
    if engagement_id is not None:
        statement = statement.where(_COLUMNS.engagement_id == engagement_id)
    return select_page(session, statement, request, sortable=_SORTABLE, tail=_COLUMNS.id)


def show(session: Session, profile_id: str) -> RowMapping:
    """Return one profile; raise `NotFound` if it does not exist."""
    return find_mapping(session, _SHOWN.where(_COLUMNS.id == profile_id), "calibration profile")


def _switch(session: Session, engagement_id: str, version: int | None) -> None:
    session.add(CalibrationSwitch(engagement_id=engagement_id, version=version, at=utc_now()))
    session.flush()


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
