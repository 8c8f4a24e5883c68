"""Retention: what is older than its period is erased, a few at a time."""

import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from app.audio_files import erasure as audio_files
from app.conversations import erasure as conversations
from app.core.clock import utc_now
from app.core.runtime import Runtime
from app.core.settings import Settings
from app.privacy import erasing, service
from app.redaction import raw_texts
from app.voice_calls import erasure as voice_calls

_BETWEEN_BATCHES_S = 0.05
_ENOUGH = 500

Step = Callable[[Session, datetime], int]
OlderThan = Callable[..., Sequence[str]]


def run(runtime: Runtime) -> None:
    """Erase what is older than the settings allow."""
    erase_old(runtime, runtime.settings)
    erasing.purge_bytes(runtime)


def erase_old(runtime: Runtime, settings: Settings) -> None:
    """Erase what is older than these settings allow; a period of 0 days is for ever."""
    _all(runtime, settings.retention_raw_texts_days, _raw_texts)
    _all(runtime, settings.retention_audio_days, _bytes)
    for older_than, erase in (
        (conversations.older_than, service.erase_conversations),
        (voice_calls.older_than, service.erase_voice_calls),
        (audio_files.older_than, service.erase_recordings),
    ):
        _all(runtime, settings.retention_texts_days, _texts(older_than, erase))


def _all(runtime: Runtime, days: int, step: Step) -> None:
    if days == 0:
        return
    before = utc_now() - timedelta(days=days)
    while _once(runtime, before, step):
        time.sleep(_BETWEEN_BATCHES_S)


def _once(runtime: Runtime, before: datetime, step: Step) -> int:
    with runtime.db.writing() as session:
        return step(session, before)


def _raw_texts(session: Session, before: datetime) -> int:
    return raw_texts.purge(session, before=before, batch=_ENOUGH)


def _bytes(session: Session, before: datetime) -> int:
    old = audio_files.with_bytes_from_before(session, before, limit=_ENOUGH)
    audio_files.drop_bytes(session, old)
    return len(old)


def _texts(
    older_than: OlderThan, erase: Callable[[Session, Sequence[str]], dict[str, int]]
) -> Step:
    def step(session: Session, before: datetime) -> int:
        return len(erase(session, older_than(session, before, limit=service.BATCH)))

    return step
