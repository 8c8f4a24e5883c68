"""Jobs that erase: on request, again after a restore, and what is older than the retention periods.

Transactions are short, and stored bytes are deleted after each commit.
"""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import TypeAlias

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.audio_files import erasure as audio_files
from app.audio_files import jobs as recordings
from app.audio_files import playback
from app.audio_files.models import AudioFile
from app.conversations.models import Conversation
from app.core.clock import utc_now
from app.core.ids import time_of
from app.core.jobs import leases
from app.core.jobs.purging import purge_older
from app.core.jobs.runner import JobType, RunningJob, answer_bell, list_due
from app.core.runtime import Runtime
from app.core.settings import Settings
from app.core.storage import deployment
from app.core.storage.objects import StorageAway
from app.evaluations import jobs as evaluations
from app.imports import service as imports
from app.intake import erasure as intake
from app.privacy import service
from app.privacy.models import Erasure
from app.privacy.records import ErasureBatch, ErasureRecords
from app.redaction import raw_texts
from app.voice_calls.models import VoiceCall

logger = logging.getLogger(__name__)

due_ids = partial(list_due, Erasure)

_BATCH = 500

_SourceTable: TypeAlias = type[Conversation | VoiceCall | AudioFile]


def run_erasure(runtime: Runtime, erasure_id: str) -> None:
    """Run this erasure, or the one that waits longest.

    Safe to run twice: the second run finds nothing more to erase.
    """
    job_type = JobType(claim=partial(leases.claim, table=Erasure), handle=_erase, fail=service.fail)
    answer_bell(runtime, job_type, service.bell(erasure_id))


def purge_bytes(runtime: Runtime) -> int:
    """Delete the bytes of erased recordings; return the number of recordings."""
    count = 0
    while True:
        with runtime.db.reading() as session:
            audio_file_ids = audio_files.to_purge(session)
        if not audio_file_ids:
            return count
        for audio_file_id in audio_file_ids:
            playback.delete(runtime.storage, audio_file_id)
            runtime.storage.delete(audio_file_id)
        with runtime.db.writing() as session:
            audio_files.note_purged(session, audio_file_ids)
        count += len(audio_file_ids)


def repeat_erasures(runtime: Runtime) -> int:
    """Erase again what the records of erasures name and a restored database contains.

    Returns:
        The number of erasures that the database did not contain.

    Raises:
        StorageAway: the storage of the records does not answer.
    """
    records = ErasureRecords.of(runtime)
    names = records.names()
    with runtime.db.reading() as session:
        erasure_ids = service.unknown(session, sorted(names))
    for erasure_id in erasure_ids:
        batches = [batch for name in names[erasure_id] for batch in records.read(name)]
        # One transaction, so that a crash repeats the whole erasure.
        with runtime.db.writing() as session:
            deployment.lock(session)
            if service.unknown(session, [erasure_id]):  # else another host was faster
                for batch in batches:
                    service.erase_again(session, erasure_id, batch)
                # Its record names no customer: what was sent before it may be of the same one.
                intake.erase_older(session, before=time_of(erasure_id))
                imports.erase_older(session, before=time_of(erasure_id))
    if erasure_ids:
        purge_bytes(runtime)
    return len(erasure_ids)


def repeat_erasures_at_start(runtime: Runtime) -> None:
    """Repeat recorded erasures; if their storage does not answer, a periodic task tries again."""
    try:
        repeat_erasures(runtime)
    except StorageAway as error:
        logger.warning("could not repeat erasures after a restore; this is tried again: %s", error)


def run_retention(runtime: Runtime) -> None:
    """Erase what is older than the settings allow."""
    erase_old(runtime, runtime.settings)
    purge_bytes(runtime)
    settings = runtime.settings
    if settings.retention_original_sound_days or not settings.keep_original_sound:
        days = settings.retention_original_sound_days if settings.keep_original_sound else 0
        recordings.delete_originals(runtime, before=utc_now() - timedelta(days=days))


def erase_old(runtime: Runtime, settings: Settings) -> None:
    """Erase what is older than these settings allow; a period of 0 days keeps it for ever."""
    texts_days = settings.retention_texts_days
    periods: tuple[tuple[int, Callable[..., int]], ...] = (
        (settings.retention_raw_texts_days, raw_texts.purge),
        (settings.retention_audio_days, _drop_bytes),
        (texts_days, partial(_erase_texts, Conversation, service.erase_conversations)),
        (texts_days, partial(_erase_texts, VoiceCall, service.erase_voice_calls)),
        (texts_days, partial(_erase_texts, AudioFile, service.erase_recordings)),
    )
    for days, erase in periods:
        if days:
            purge_older(runtime, days, erase)


def oldest_kept(
    session: Session, table: _SourceTable, before: datetime, *, limit: int
) -> Sequence[str]:
    """Return the ids of the oldest conversations before a time that are not erased."""
    return session.scalars(
        select(table.id)
        .where(table.conversation_at < before, table.erased_at.is_(None))
        .order_by(table.conversation_at, table.id)
        .limit(limit)
    ).all()


def _erase(job: RunningJob[Erasure]) -> None:
    """Erase batch by batch until a new search finds nothing of the customer."""
    with job.runtime.db.reading() as session:
        customer_ref = service.customer_of(session, job.lease.job_id)
    # What waits or has failed in the intake would come back when it is tried again.
    if customer_ref and (mentioning := intake.mentioning(job.runtime, customer_ref)):
        with job.transaction() as session:
            intake.erase(session, mentioning)
    records = ErasureRecords.of(job.runtime)
    # Also where nothing is stored: a backup may hold what waited then.
    records.add(job.lease.job_id, ErasureBatch("conversations", ()))
    while batches := _find_batches(job):
        for batch in batches:
            with job.runtime.db.reading() as session:
                confirmed = service.confirmed(session, job.lease.job_id, batch)
                recorded = service.recorded(session, confirmed)
            # Before the transaction: what is erased always has a record.
            for each in recorded:
                records.add(job.lease.job_id, each)
            with job.transaction() as session:
                service.erase_batch(session, job.lease, confirmed)
            purge_bytes(job.runtime)
            job.require_going_on()
    purge_bytes(job.runtime)
    evaluations.purge_words(job.runtime)
    with job.transaction() as session:
        service.finish(session, job.lease)


def _find_batches(job: RunningJob[Erasure]) -> Sequence[ErasureBatch]:
    with job.runtime.db.reading() as session:
        return service.find_batches(session, job.lease.job_id)


def _drop_bytes(session: Session, *, before: datetime) -> int:
    audio_file_ids = audio_files.with_bytes_from_before(session, before, limit=_BATCH)
    audio_files.drop_bytes(session, audio_file_ids)
    return len(audio_file_ids)


def _erase_texts(
    table: _SourceTable, erase: service.Erase, session: Session, *, before: datetime
) -> int:
    return len(erase(session, oldest_kept(session, table, before, limit=service.BATCH)))
