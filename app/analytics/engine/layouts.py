"""Score layouts: which criterion or section each place in the scores of a fact belongs to."""

import hashlib
from collections.abc import Mapping
from typing import Any

import orjson
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.analytics.models import ScoreLayout
from app.core.database.upserts import upsert_into

CRITERION, SECTION = "criterion", "section"

Columns = list[dict[str, str]]


def columns_of(document: Mapping[str, Any]) -> Columns:
    """List the criteria and then the sections of a results document."""
    criteria = [
        {"kind": CRITERION, "key": each["key"], "title": each["title"], "section": each["section"]}
        for each in document.get("criteria", ())
    ]
    sections = [
        {"kind": SECTION, "key": each["key"], "title": each["title"], "section": each["key"]}
        for each in document.get("sections", ())
    ]
    return criteria + sections


def scores_of(document: Mapping[str, Any]) -> list[float | None]:
    """List the scores of a results document, 0 to 100, in the order of its columns."""
    criteria = [each["normalizedScore"] for each in document.get("criteria", ())]
    return [
        *(None if score is None else round(100 * score, 4) for score in criteria),
        *(each["score"] for each in document.get("sections", ())),
    ]


def layout_id(session: Session, columns: Columns) -> int | None:
    """Return the id of the layout with these columns, created where it is new; None without any."""
    if not columns:
        return None
    digest = hashlib.sha256(orjson.dumps(columns)).hexdigest()
    wanted = select(ScoreLayout.id).where(ScoreLayout.digest == digest)
    known = session.scalar(wanted)
    if known is None:
        new = upsert_into(session, ScoreLayout).values(digest=digest, columns=columns)
        session.execute(new.on_conflict_do_nothing())
        known = session.scalar(wanted)
    return known


def all_layouts(session: Session) -> dict[int, Columns]:
    """Map the id of every layout to its columns; there is about one per scorecard version."""
    return dict(session.execute(select(ScoreLayout.id, ScoreLayout.columns)).all())


def widest(session: Session) -> int:
    """Return how many scores a fact has at most."""
    return max(map(len, all_layouts(session).values()), default=0)
