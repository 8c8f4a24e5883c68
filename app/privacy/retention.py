"""Retention: erases what is older than the retention periods, a few records at a time."""

import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import TypeAlias

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.audio_files import erasure as audio_files
from app.audio_files.models import AudioFile
from app.conversations.models import Conversation
from app.core.clock import utc_now
from app.core.runtime import Runtime
from app.core.settings import Settings
from app.privacy import jobs, service
from app.redaction import raw_texts
from app.voice_calls.models import VoiceCall

_BETWEEN_BATCHES_S = 0.05
_BATCH = 500

# Erases a batch from before a time; returns 0 if nothing was left.
Step: TypeAlias = Callable[[Session, datetime], int]
_SourceTable: TypeAlias = type[Conversation | VoiceCall | AudioFile]


def run(runtime: Runtime) -> None:
    """Erase what is older than the settings allow."""
    erase_old(runtime, runtime.settings)
    jobs.purge_bytes(runtime)


def erase_old(runtime: Runtime, settings: Settings) -> None:
    """Erase what is older than these settings allow; a period of 0 days keeps it for ever."""
    _repeat(runtime, settings.retention_raw_texts_days, _erase_raw_texts)
    _repeat(runtime, settings.retention_audio_days, _drop_bytes)
    for table, erase in (
        (Conversation, service.erase_conversations),
        (VoiceCall, service.erase_voice_calls),
        (AudioFile, service.erase_recordings),
    ):
        step = partial(_erase_texts, table=table, erase=erase)
        _repeat(runtime, settings.retention_texts_days, step)


def oldest_kept(
    session: Session, table: _SourceTable, before: datetime, *, limit: int
) -> Sequence[str]:
    """Return the ids of the oldest rows created before a time that are not erased."""
    return session.scalars(
        select(table.id)
        .where(table.created_at < before, table.erased_at.is_(None))
        .order_by(table.created_at, table.id)
        .limit(limit)
    ).all()


def _repeat(runtime: Runtime, days: int, step: Step) -> None:
    """Run a step in short transactions until it finds nothing more."""
    if days == 0:
        return
    before = utc_now() - timedelta(days=days)
    while True:
        with runtime.db.writing() as session:
            count = step(session, before)
        if count == 0:
            return
        time.sleep(_BETWEEN_BATCHES_S)


def _erase_raw_texts(session: Session, before: datetime) -> int:
    return raw_texts.purge(session, before=before, batch=_BATCH)


def _drop_bytes(session: Session, before: datetime) -> int:
    audio_file_ids = audio_files.with_bytes_from_before(session, before, limit=_BATCH)
    audio_files.drop_bytes(session, audio_file_ids)
    return len(audio_file_ids)


def _erase_texts(
    session: Session, before: datetime, *, table: _SourceTable, erase: service.Erase
) -> int:
    return len(erase(session, oldest_kept(session, table, before, limit=service.BATCH)))
