"""Requests for the waveform of a recording that was processed without one."""

from functools import partial

from sqlalchemy.orm import Session

from app.audio_files import queries
from app.audio_files.enums import AudioStatus
from app.audio_files.models import WaveformJob
from app.audio_files.playback import objects
from app.core.database.session import ring_after_commit
from app.core.database.upserts import insert_missing
from app.core.errors import NotFound
from app.core.jobs.leases import JobState
from app.core.queue import Bell

QUEUE = "waveforms"
bell = partial(Bell, QUEUE)
# A recording in these states gets its waveform from the processing job.
_PROCESSING = (AudioStatus.QUEUED, AudioStatus.TRANSCRIBING)


def request_waveform(session: Session, audio_file_id: str) -> None:
    """Queue the drawing of a stored recording, once.

    Raises:
        NotFound: there is no such recording, its file was deleted, or it cannot be drawn.
        Conflict: it has not been uploaded.
    """
    audio = queries.find_stored(session, audio_file_id)
    if audio.status in _PROCESSING:
        return
    job_id = objects.wave_id(audio.id)
    job = session.get(WaveformJob, job_id)
    if job is not None and job.state == JobState.FAILED:
        raise NotFound("No waveform can be drawn of this recording.")
    if job is not None:
        return
    insert_missing(session, WaveformJob, id=job_id, audio_file_id=audio.id)
    ring_after_commit(session, bell(job_id))
