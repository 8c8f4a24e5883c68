"""Presets that were kept: columns, roles and times of the tables of one source, under a name."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.errors import Conflict, InvalidInput
from app.imports.formats.presets import PRESETS
from app.imports.loading.input import ImportOptions
from app.imports.models import ImportPreset

_MOST = 100
_LONGEST_NAME = 80


def list_names(session: Session) -> Sequence[str]:
    return session.scalars(select(ImportPreset.name).order_by(ImportPreset.name)).all()


def keep(session: Session, name: str, options: ImportOptions) -> None:
    """Keep the columns, roles, time zone and platform of these options; a name may be used again."""
    if name.casefold() in PRESETS or len(name) > _LONGEST_NAME:
        message = f"Choose another name, of at most {_LONGEST_NAME} characters."
        raise InvalidInput.field("presetName", message)
    row = session.get(ImportPreset, name)
    if row is None:
        if (session.scalar(select(func.count()).select_from(ImportPreset)) or 0) >= _MOST:
            raise Conflict(f"There are {_MOST} presets, which is the limit: use the name of one.")
        row = ImportPreset(name=name, created_at=utc_now())
        session.add(row)
    row.columns, row.roles = dict(options.columns), dict(options.roles)
    row.timezone, row.platform = options.timezone, options.defaults.get("platform")


def applied(session: Session, options: ImportOptions) -> ImportOptions:
    """Return the options with what their preset says; what they say themselves goes before."""
    if options.preset is None:
        return options
    shipped = PRESETS.get(options.preset)
    kept = None if shipped else session.get(ImportPreset, options.preset)
    if shipped is None and kept is None:
        known = ", ".join([*PRESETS, *list_names(session)])
        message = f"There is no preset {options.preset}; there are {known}."
        raise InvalidInput.field("preset", message)
    if kept is not None:
        options = replace(
            options,
            preset=None,
            kept_columns=kept.columns,
            roles={**kept.roles, **options.roles},
            timezone=options.timezone or kept.timezone,
        )
    platform = shipped.platform if shipped else kept.platform if kept else None
    defaults = {"platform": platform} if platform else {}
    return replace(options, defaults={**defaults, **options.defaults})
