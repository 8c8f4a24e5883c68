"""Stored answers of language models, by the hash of the prompt, so that none is paid for twice."""

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import JSON, delete, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from app.core.clock import utc_now
from app.core.database.session import Database, Table, UtcDateTime
from app.core.database.upserts import insert_missing
from app.core.errors import ServiceUnavailable
from app.evaluations.enums import ENDED
from app.evaluations.models import Evaluation

logger = logging.getLogger(__name__)

_MOST_ROWS = 100_000
_MOST_BYTES = 64 * 1024
_A_BATCH = 1000


class ModelAnswer(Table):
    """One answer; it quotes the conversation, so it names its evaluation.

    `key` is the SHA-256 over the prompt, the model and its address.
    """

    __tablename__ = "model_answers"

    key: Mapped[str] = mapped_column(primary_key=True)
    evaluation_id: Mapped[str | None] = mapped_column(index=True)
    document: Mapped[dict[str, Any]] = mapped_column(JSON)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)


class StoredAnswers:
    """Finds and stores answers, each in a short transaction of its own."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def find(self, key: str) -> Mapping[str, Any] | None:
        with self._db.reading() as session:
            return session.scalar(select(ModelAnswer.document).where(ModelAnswer.key == key))

    def keep(self, key: str, document: Mapping[str, Any], *, evaluation_id: str | None) -> None:
        """Store a document unless it is too long; the first one of a key stays.

        An answer that comes when its evaluation has ended is not kept: the words that it quotes may
        have been erased meanwhile. If the database is too busy to store an answer, the question is
        asked again next time; the judgement does not fail.
        """
        if len(orjson.dumps(document)) > _MOST_BYTES:
            return
        values = {"evaluation_id": evaluation_id, "document": dict(document)}
        try:
            with self._db.writing() as session:
                if evaluation_id is None or _is_open(session, evaluation_id):
                    insert_missing(session, ModelAnswer, key=key, created_at=utc_now(), **values)
        except ServiceUnavailable as error:
            logger.warning("an answer of the language model was not stored: %s", error)


def _is_open(session: Session, evaluation_id: str) -> bool:
    """Return whether an evaluation is open, and stays open until the commit."""
    status = select(Evaluation.status).where(Evaluation.id == evaluation_id)
    return session.scalar(status.with_for_update(read=True)) not in (None, *ENDED)


def purge(session: Session, *, before: datetime, most: int = _MOST_ROWS) -> int:
    """Delete a batch of the oldest answers: those before a moment, and those beyond `most`."""
    newest_first = select(ModelAnswer.created_at).order_by(ModelAnswer.created_at.desc())
    surplus = session.scalar(newest_first.offset(most).limit(1))
    limit = before if surplus is None else max(before, surplus)
    oldest = (
        select(ModelAnswer.key)
        .where(ModelAnswer.created_at <= limit)
        .order_by(ModelAnswer.created_at)
        .limit(_A_BATCH)
    )
    deleted = session.execute(
        delete(ModelAnswer)
        .where(ModelAnswer.key.in_(oldest.scalar_subquery()))
        .returning(ModelAnswer.key)
    )
    return len(deleted.all())
