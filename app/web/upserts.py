"""Endpoints that create or replace a record of another system under its own key."""

from collections.abc import Callable, Iterable
from typing import Any

from app.core.database.rows import NamedTable, ids_of_names
from app.core.database.upserts import (
    EXTERNAL_ID_PATTERN,
    MAX_EXTERNAL_ID,
    Upserted,
    normalised_external_id,
)
from app.web.current import current_runtime

_EXTERNAL_ID: dict[str, Any] = {
    "in": "path",
    "name": "external_id",
    "required": True,
    "description": "Your own key of the record, percent-encoded UTF-8.",
    "schema": {
        "type": "string",
        "minLength": 1,
        "maxLength": MAX_EXTERNAL_ID,
        "pattern": f"^{EXTERNAL_ID_PATTERN}$",
    },
}


def upsert_of(tag: str) -> dict[str, Any]:
    """Return the documentation of an upsert in a group of endpoints."""
    return {"parameters": [_EXTERNAL_ID], "tags": ["imports", "extension", tag]}


def put(
    upsert: Callable[..., Upserted[Any]],
    external_id: str,
    body: dict[str, Any],
    references: Iterable[NamedTable[Any]] = (),
    **options: Any,
) -> tuple[Any, int]:
    """Create or replace a record in a transaction; return it and the status.

    Args:
        upsert: takes a session, the external id, the columns and the options.
        body: what a `RecordUpsert` has loaded.
        references: what the record may refer to by name.
    """
    external_id = normalised_external_id(external_id, body.pop("external_id", None))
    names = body.pop("names")
    db = current_runtime().db
    with db.writing() as session:
        stored = upsert(
            session, external_id, body | ids_of_names(session, names, references), **options
        )
    if not stored.changed:
        db.confirm_earlier_commits()
    return stored.record, 201 if stored.created else 200
