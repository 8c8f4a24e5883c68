"""Retention: erases what is older than the retention periods, a few records at a time."""

import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from app.audio_files import erasure as audio_files
from app.conversations import erasure as conversations
from app.core.clock import utc_now
from app.core.runtime import Runtime
from app.core.settings import Settings
from app.privacy import jobs, service
from app.redaction import raw_texts
from app.voice_calls import erasure as voice_calls

_BETWEEN_BATCHES_S = 0.05
_BATCH = 500

# Erases a batch from before a time; returns 0 if nothing was left.
Step = Callable[[Session, datetime], int]
OlderThan = Callable[..., Sequence[str]]


def run(runtime: Runtime) -> None:
    """Erase what is older than the settings allow."""
    erase_old(runtime, runtime.settings)
    jobs.purge_bytes(runtime)


def erase_old(runtime: Runtime, settings: Settings) -> None:
    """Erase what is older than these settings allow; a period of 0 days keeps it for ever."""
    _repeat(runtime, settings.retention_raw_texts_days, _erase_raw_texts)
    _repeat(runtime, settings.retention_audio_days, _drop_bytes)
    for older_than, erase in (
        (conversations.older_than, service.erase_conversations),
        (voice_calls.older_than, service.erase_voice_calls),
        (audio_files.older_than, service.erase_recordings),
    ):
        _repeat(runtime, settings.retention_texts_days, _text_step(older_than, erase))


def _repeat(runtime: Runtime, days: int, step: Step) -> None:
    """Run a step in short transactions until it finds nothing more."""
    if days == 0:
        return
    before = utc_now() - timedelta(days=days)
    while _run_step(runtime, before, step):
        time.sleep(_BETWEEN_BATCHES_S)


def _run_step(runtime: Runtime, before: datetime, step: Step) -> int:
    with runtime.db.writing() as session:
        return step(session, before)


def _erase_raw_texts(session: Session, before: datetime) -> int:
    return raw_texts.purge(session, before=before, batch=_BATCH)


def _drop_bytes(session: Session, before: datetime) -> int:
    audio_file_ids = audio_files.with_bytes_from_before(session, before, limit=_BATCH)
    audio_files.drop_bytes(session, audio_file_ids)
    return len(audio_file_ids)


def _text_step(older_than: OlderThan, erase: service.Erase) -> Step:
    def step(session: Session, before: datetime) -> int:
        return len(erase(session, older_than(session, before, limit=service.BATCH)))

    return step
