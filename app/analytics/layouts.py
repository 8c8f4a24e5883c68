"""The shares of a fact: the score of each criterion and section, by their place in a layout.

Evaluations with the same criteria and sections share a layout. Every number has two bytes: a
criterion's score times `SCALE`, a section's score times 100, and `NULL` where nothing applied.
"""

import hashlib
from array import array
from collections.abc import Mapping
from typing import Any

import orjson
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.analytics.figures import joined
from app.analytics.models import FactLayout
from app.core.database.upserts import upsert_into

SCALE = 10_000
SECTION_SCALE = 100
NULL = 2**16 - 1
CRITERION, SECTION = "criterion", "section"


def lanes_of(document: Mapping[str, Any]) -> list[dict[str, str]]:
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


def packed(document: Mapping[str, Any]) -> bytes:
    """Pack the scores of a results document in the order of its lanes."""
    criteria = [_number(each["normalizedScore"], SCALE) for each in document.get("criteria", ())]
    sections = [_number(each["score"], SECTION_SCALE) for each in document.get("sections", ())]
    return joined(array("H", criteria + sections))


def layout_of(session: Session, lanes: list[dict[str, str]]) -> int | None:
    """Return the id of a layout, made where it is new; None without any lane."""
    if not lanes:
        return None
    digest = hashlib.sha256(orjson.dumps(lanes)).hexdigest()
    wanted = select(FactLayout.id).where(FactLayout.digest == digest)
    found = session.scalar(wanted)
    if found is None:
        new = upsert_into(session, FactLayout).values(digest=digest, lanes=lanes)
        session.execute(new.on_conflict_do_nothing())
        found = session.scalar(wanted)
    return found


def lanes_by_layout(session: Session) -> dict[int, list[dict[str, str]]]:
    """Return the lanes of every layout; there is about one for each version of a scorecard."""
    return dict(session.execute(select(FactLayout.id, FactLayout.lanes)).all())


def scale_of(lane: Mapping[str, str]) -> int:
    """Return by how much a lane's numbers are to be divided for a score of 0 to 100."""
    return SECTION_SCALE if lane["kind"] == SECTION else SCALE // 100


def _number(score: float | None, scale: int) -> int:
    return NULL if score is None else min(max(round(score * scale), 0), NULL - 1)
