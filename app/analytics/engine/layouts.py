"""Score layouts: the criterion or section of each place in the scores of a fact."""

import hashlib
from collections.abc import Mapping
from typing import Any

import orjson
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.analytics.models import ScoreLayout
from app.core.database.upserts import insert_missing

CRITERION, SECTION = "criterion", "section"

Columns = list[dict[str, str]]


def columns_of(document: Mapping[str, Any]) -> Columns:
    """List the criteria and then the sections of a results document."""
    criteria = [
        {"kind": CRITERION, "key": item["key"], "title": item["title"], "section": item["section"]}
        for item in document.get("criteria", ())
    ]
    sections = [
        {"kind": SECTION, "key": item["key"], "title": item["title"], "section": item["key"]}
        for item in document.get("sections", ())
    ]
    return criteria + sections


def scores_of(document: Mapping[str, Any]) -> list[float | None]:
    """List the scores of a results document, 0 to 100, in the order of its columns."""
    criteria = [criterion["normalizedScore"] for criterion in document.get("criteria", ())]
    return [
        *(None if score is None else round(100 * score, 4) for score in criteria),
        *(section["score"] for section in document.get("sections", ())),
    ]


class LayoutIds:
    """Ids of layouts within one transaction; each is looked up once, and created if it is new."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._ids: dict[str, int | None] = {}

    def of(self, columns: Columns) -> int | None:
        """Return the id of the layout with these columns; None without columns."""
        if not columns:
            return None
        digest = hashlib.sha256(orjson.dumps(columns)).hexdigest()
        if digest not in self._ids:
            self._ids[digest] = self._stored_id(digest, columns)
        return self._ids[digest]

    def _stored_id(self, digest: str, columns: Columns) -> int | None:
        statement = select(ScoreLayout.id).where(ScoreLayout.digest == digest)
        known = self._session.scalar(statement)
        if known is None:
            insert_missing(self._session, ScoreLayout, digest=digest, columns=columns)
            known = self._session.scalar(statement)
        return known


def all_layouts(session: Session) -> dict[int, Columns]:
    """Map the id of every layout to its columns; there is about one per scorecard version."""
    return dict(session.execute(select(ScoreLayout.id, ScoreLayout.columns)).all())


def widest(session: Session) -> int:
    """Return the largest number of scores that a fact has."""
    return max(map(len, all_layouts(session).values()), default=0)
