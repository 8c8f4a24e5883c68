"""Calibration profiles: stored, activated, deactivated and listed."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from sqlalchemy import RowMapping, and_, func, select
from sqlalchemy.orm import Session

from app.calibration.models import CalibrationProfile, CalibrationSwitch
from app.calibration.score_model import CalibrationModel, Gain
from app.core.clock import utc_now
from app.core.database.paging import Page, PageRequest, select_page
from app.core.database.rows import find_mapping
from app.core.database.session import Table
from app.core.errors import Conflict, NotFound
from app.core.ids import new_id

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


def activate(session: Session, engagement_id: str, version: int) -> None:
    """Calibrate new judgements by this version; finished evaluations stay as they are.

    Raises:
        NotFound: the engagement has no such version.
    """
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


def roll_back(session: Session, engagement_id: str) -> int | None:
    """Activate the version before the active one, or none; return the version that is now active.

    Raises:
        Conflict: no version is active.
    """
    active = active_profile(session, engagement_id)
    if active is None:
        raise Conflict("No version of the calibration is active.")
    before = session.scalar(
        select(func.max(CalibrationProfile.version)).where(
            CalibrationProfile.engagement_id == engagement_id,
            CalibrationProfile.version < active.version,
        )
    )
    _switch(session, engagement_id, before)
    return before


def list_page(
    session: Session, request: PageRequest, *, engagement_id: str | None = None
) -> Page[Any]:
    """List profiles and whether each is active, by default the newest first."""
    statement = _SHOWN
    if engagement_id is not None:
        statement = statement.where(_COLUMNS.engagement_id == engagement_id)
    return select_page(session, statement, request, sortable=_SORTABLE, tail=_COLUMNS.id)


def show(session: Session, profile_id: str) -> RowMapping:
    """Return one profile; raise `NotFound` if there is none."""
    return find_mapping(session, _SHOWN.where(_COLUMNS.id == profile_id), "calibration profile")


def _switch(session: Session, engagement_id: str, version: int | None) -> None:
    session.add(CalibrationSwitch(engagement_id=engagement_id, version=version, at=utc_now()))
    session.flush()
