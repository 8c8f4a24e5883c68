"""What is done with calibration profiles: kept, switched on and off, shown."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from sqlalchemy import ColumnElement, RowMapping, and_, func, select
from sqlalchemy.orm import Session

from app.calibration.fitting import Gain, Model
from app.calibration.models import CalibrationProfile, CalibrationSwitch
from app.core.clock import utc_now
from app.core.database.paging import Page, PageRequest, select_page
from app.core.database.session import Table
from app.core.errors import Conflict, NotFound
from app.core.ids import new_id

_OF = Table.metadata.tables[CalibrationProfile.__tablename__].c
_SORTABLE = {name: _OF[name] for name in ("created_at", "version")}
_SWITCH = Table.metadata.tables[CalibrationSwitch.__tablename__]
_NEWEST = _SWITCH.alias("newest")
_LAST = (
    select(func.max(_NEWEST.c.id))
    .where(_NEWEST.c.engagement_id == _OF.engagement_id)
    .scalar_subquery()
)
_SHOWN = select(
    *(column for column in _OF if column.key != "model"),
    select(_SWITCH.c.id)
    .where(_SWITCH.c.id == _LAST, _SWITCH.c.version == _OF.version)
    .exists()
    .label("active"),
)


def keep(
    session: Session,
    engagement_id: str,
    *,
    model: Model,
    gain: Gain,
    engine: Mapping[str, Any],
    label_source: str,
    label_count: int,
) -> CalibrationProfile:
    """Keep a fitted model as the engagement's next version; it is not switched on by that."""
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


def active(session: Session, engagement_id: str | None) -> CalibrationProfile | None:
    """Return the profile by which judgements of an engagement are calibrated now."""
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
    """Calibrate judgements by this version from now on; what is judged already stays.

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
    """Calibrate no more from now on; doing it twice is doing it once."""
    if active(session, engagement_id) is not None:
        _switch(session, engagement_id, None)


def roll_back(session: Session, engagement_id: str) -> int | None:
    """Go back to the version before the active one, or to none; return the one that is active now.

    Raises:
        Conflict: no version is active.
    """
    now = active(session, engagement_id)
    if now is None:
        raise Conflict("No version of the calibration is active.")
    before = session.scalar(
        select(func.max(CalibrationProfile.version)).where(
            CalibrationProfile.engagement_id == engagement_id,
            CalibrationProfile.version < now.version,
        )
    )
    _switch(session, engagement_id, before)
    return before


def list_page(
    session: Session, request: PageRequest, *, engagement_id: str | None = None
) -> Page[Any]:
    """List profiles with whether they are active, newest first unless asked otherwise."""
    wanted: list[ColumnElement[bool]] = []
    if engagement_id is not None:
        wanted.append(_OF.engagement_id == engagement_id)
    return select_page(session, _SHOWN.where(*wanted), request, sortable=_SORTABLE, tail=_OF.id)


def show(session: Session, profile_id: str) -> RowMapping:
    """Show one profile; `NotFound` where there is none."""
    row = session.execute(_SHOWN.where(_OF.id == profile_id)).mappings().first()
    if row is None:
        raise NotFound("There is no such calibration profile.")
    return row


def _switch(session: Session, engagement_id: str, version: int | None) -> None:
    session.add(CalibrationSwitch(engagement_id=engagement_id, version=version, at=utc_now()))
    session.flush()
