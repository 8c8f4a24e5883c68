"""Pairs: two files of a call, one for each side, which a job joins to one recording."""

import hashlib
import io
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import timedelta
from tempfile import TemporaryFile
from typing import IO, Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.audio_files import queries, uploads
from app.audio_files.enums import ContentType
from app.audio_files.links import RecordingLinks
from app.audio_files.models import AudioFile, WaveformJob
from app.audio_files.playback import spool_dir, waveform_bell
from app.audio_files.processing import steps
from app.audio_files.stored_objects import join_id, recording_of, side_ids
from app.audio_files.uploads import AudioObjects
from app.core.clock import utc_now
from app.core.database.session import ring_after_commit
from app.core.errors import NotFound
from app.core.jobs.leases import OPEN_STATES, JobState, Lease, end, held
from app.core.jobs.runner import RunningJob
from app.core.runtime import Runtime
from app.core.storage.objects import StoredObject
from app.speech.errors import UnsupportedMedia
from app.speech.transcriber import join_sides

_AWAITED = "awaiting_upload"


def reserve(
    session: Session,
    runtime: Runtime,
    *,
    links: RecordingLinks,
    agent: Mapping[str, Any],
    customer: Mapping[str, Any],
    **fields: Any,
) -> dict[str, Any]:
    """Create a recording and return the links for the uploads of its two sides.

    Where it is known when both sides begin, the later one is silent until then.

    Args:
        agent: the file of the agent's side, as `SideCreate` describes it.
        customer: that of the customer's side.
        fields: other columns of the recording.

    Raises:
        InvalidInput: as `uploads.create`.
        Conflict: as `uploads.create`.
        DiskFull: as `uploads.create`.
    """
    sides = {"agent": agent, "customer": customer}
    starts = [start for side in sides.values() if (start := side.get("recorded_at"))]
    later = timedelta()
    if len(starts) == len(sides):
        later = starts[1] - starts[0]
        fields["recorded_at"] = min(starts)
    fields |= {
        "content_type": ContentType.WAV,
        "size_bytes": sum(side["size_bytes"] for side in sides.values()),
        "channel_map": {role: channel for channel, role in enumerate(sides)},
    }
    expires_at = links.expiry()
    audio = uploads.create(session, runtime, expires_at=expires_at, **fields)
    session.add(
        WaveformJob(
            id=join_id(audio.id),
            audio_file_id=audio.id,
            state=_AWAITED,
            due_at=expires_at,
            customer_later_ms=round(later.total_seconds() * 1000),
        )
    )
    ids = side_ids(audio.id)
    return {
        "audio_file_id": audio.id,
        "status": audio.status,
        "expires_at": expires_at,
        **{role: links.side(ids[role], expires_at, side) for role, side in sides.items()},
    }


def awaited(session: Session) -> Sequence[str]:
    """Return the ids of recordings whose sides have not both arrived."""
    is_awaited = WaveformJob.state == _AWAITED
    return session.scalars(select(WaveformJob.audio_file_id).where(is_awaited)).all()


def needless_among(session: Session, audio_file_ids: Sequence[str]) -> Sequence[str]:
    """Return the ids of these recordings that are not to be joined any more."""
    is_open = WaveformJob.state.in_((_AWAITED, *OPEN_STATES))
    joined_later = select(WaveformJob.audio_file_id).where(
        WaveformJob.customer_later_ms.is_not(None), is_open
    )
    return session.scalars(
        select(AudioFile.id).where(
            AudioFile.id.in_(audio_file_ids), AudioFile.id.not_in(joined_later)
        )
    ).all()


class SideObjects:
    """Stored sides of pairs; opens its own transactions."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def exists(self, object_id: str, _: str = "", /) -> bool:
        """Return whether a recording waits for this side."""
        with self._runtime.db.reading() as session:
            job = session.get(WaveformJob, join_id(object_id))
            return job is not None and job.state == _AWAITED

    def mark_stored(self, object_id: str, stored: StoredObject) -> None:
        """Queue the joining if both sides are there; raise `NotFound` if the recording is gone."""
        with self._runtime.db.reading() as session:
            job = session.get(WaveformJob, join_id(object_id))
            if job is None or job.state == JobState.FAILED:
                raise NotFound("There is no such audio file.")
        self.reconcile(object_id)

    def reconcile(self, object_id: str) -> None:
        """Queue the joining if both sides are there."""
        audio_file_id, job_id = recording_of(object_id), join_id(object_id)
        sizes = [self._runtime.storage.size_of(side) for side in side_ids(object_id).values()]
        if None in sizes:
            return
        with self._runtime.db.writing() as session:
            # The recording first, as its expiry and its erasure do.
            audio = session.get(AudioFile, audio_file_id, with_for_update=True)
            job = session.get(WaveformJob, job_id, with_for_update=True)
            if audio is not None and job is not None and job.state == _AWAITED:
                job.state, job.queued_at = JobState.QUEUED, utc_now()
                job.due_at, audio.expires_at = job.queued_at, None
                ring_after_commit(session, waveform_bell(job_id))


def join(job: RunningJob[WaveformJob]) -> None:
    """Store both sides as one recording, and delete them then."""
    with job.transaction() as session:
        row = held(session, job.lease)
        audio = queries.find(session, row.audio_file_id)
        audio_file_id, is_joined = audio.id, audio.uploaded_at is not None
        later_s = (row.customer_later_ms or 0) / 1000
    sides = side_ids(audio_file_id).values()
    storage, settings = job.runtime.storage, job.runtime.settings
    spool = spool_dir(settings)
    if not is_joined:
        with TemporaryFile(dir=spool) as whole, ExitStack() as opened:
            copies = [opened.enter_context(storage.local_copy(side)) for side in sides]
            paths = [copy.path for copy in copies if copy is not None]
            if len(paths) < len(copies):
                raise UnsupportedMedia(steps.BYTES_MISSING.message)
            agent, customer = paths
            join_sides(
                agent,
                customer,
                whole,
                spool_dir=spool,
                min_free_bytes=settings.min_free_bytes,
                second_later_s=later_s,
            )
            _store(job, audio_file_id, whole)
    with job.transaction() as session:
        end(held(session, job.lease), JobState.SUCCEEDED, utc_now())
    for side in sides:
        storage.delete(side)


def is_join(lease: Lease[WaveformJob]) -> bool:
    return lease.job_id == join_id(lease.job_id)


def fail(session: Session, lease: Lease[WaveformJob], error: Exception) -> None:
    """End the job; where it joins sides, its recording with the reason why they do not fit."""
    job = held(session, lease)
    if is_join(lease):
        uploads.fail(session, queries.find(session, job.audio_file_id), steps.failure_of(error))
    end(job, JobState.FAILED, utc_now())


def _store(job: RunningJob[WaveformJob], audio_file_id: str, whole: IO[bytes]) -> None:
    size_bytes = whole.seek(0, io.SEEK_END)
    whole.seek(0)
    digest = hashlib.file_digest(whole, "sha256").hexdigest()  # type: ignore[arg-type]
    whole.seek(0)
    with job.transaction() as session:
        held(session, job.lease)
        audio = queries.find(session, audio_file_id)
        audio.size_bytes, audio.sha256 = size_bytes, digest
    objects = AudioObjects(job.runtime)
    objects.store(audio_file_id, whole, size_bytes=size_bytes, sha256=digest)
