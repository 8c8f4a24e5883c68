"""Facts: one row for the current evaluation of each source, with the layout of its scores."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.analytics.models import EvaluationFact, ScoreLayout
from app.campaigns import merging
from app.core.database.upserts import insert_missing, upsert_into
from app.evaluations.models import Evaluation

# Columns of an evaluation that its fact has under the same names.
COPIED = tuple(
    column.key
    for column in EvaluationFact.__table__.c
    if column.key in Evaluation.__table__.c and column.key not in ("id", "topics")
)
METRICS = {
    "talk_ratio": "talkRatio",
    "silence_percent": "silencePercent",
    "dead_air_count": "deadAirCount",
    "interruptions": "interruptionsByAgent",
    "agent_wpm": "agentWpm",
    "first_response_seconds": "firstResponseSeconds",
}
CRITERION, SECTION = "criterion", "section"
Columns = list[dict[str, str]]


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


def record(
    session: Session, changed: Sequence[tuple[Evaluation, Mapping[str, Any] | None]]
) -> None:
    """Write the facts of evaluations that are current for their sources, with their results.

    Call it in every transaction that makes evaluations current or changes them.
    """
    layout_ids = LayoutIds(session)
    written = [fact_of(layout_ids, evaluation, document or {}) for evaluation, document in changed]
    write(session, written)


def write(session: Session, facts: Sequence[Mapping[str, Any]]) -> None:
    """Insert facts, or replace those of the same source; they become pending."""
    insert = upsert_into(session, EvaluationFact)
    changed = {name: insert.excluded[name] for name in facts[0] if name != "source_id"}
    changed |= {"version": EvaluationFact.version + 1, "is_pending": True}
    session.connection().execute(
        insert.on_conflict_do_update(index_elements=["source_id"], set_=changed), facts
    )


def move_some(session: Session) -> object:
    """Move facts of merged campaigns, which become pending; return None if there were none."""
    return merging.move_some(
        EvaluationFact, session, version=EvaluationFact.version + 1, is_pending=True
    )


def fact_of(layout_ids: LayoutIds, evaluation: Any, document: Mapping[str, Any]) -> dict[str, Any]:
    metrics = document.get("metrics") or {}
    return {
        **{name: getattr(evaluation, name) for name in COPIED},
        **{name: metrics.get(key) for name, key in METRICS.items()},
        "evaluation_id": evaluation.id,
        "topics": list(evaluation.topics or ()),
        "score_layout_id": layout_ids.of(columns_of(document)),
        "scores": scores_of(document),
    }


def columns_of(document: Mapping[str, Any]) -> Columns:
    """List the criteria and then the sections of a results document."""
    return [
        {"kind": kind, "key": item["key"], "title": item["title"], "section": item[section]}
        for kind, items, section in (
            (CRITERION, "criteria", "section"),
            (SECTION, "sections", "key"),
        )
        for item in document.get(items, ())
    ]


def scores_of(document: Mapping[str, Any]) -> list[float | None]:
    """List the scores of a results document, 0 to 100, in the order of its columns."""
    criteria = [criterion["normalizedScore"] for criterion in document.get("criteria", ())]
    return [
        *(None if score is None else round(100 * score, 4) for score in criteria),
        *(section["score"] for section in document.get("sections", ())),
    ]


def all_layouts(session: Session) -> dict[int, Columns]:
    """Map the id of every layout to its columns; there is about one per scorecard version."""
    return dict(session.execute(select(ScoreLayout.id, ScoreLayout.columns)).all())


def widest(layouts: Mapping[int, Columns]) -> int:
    """Return the largest number of scores that a fact has."""
    return max(map(len, layouts.values()), default=0)
