"""Jobs that draw the waveforms of recordings which were processed without one."""

from collections.abc import Sequence
from functools import partial

from app.ai.speech.errors import TranscriptionError, UnsupportedMedia
from app.ai.speech.transcriber import TranscriptionOptions, decoded
from app.audio_files import queries
from app.audio_files.models import WaveformJob
from app.audio_files.playback import objects, requests
from app.audio_files.processing.failures import BYTES_MISSING
from app.audio_files.uploads import lifecycle
from app.core.clock import utc_now
from app.core.jobs.leases import JobState, claim, end, held
from app.core.jobs.runner import JobType, RunningJob, answer_bell, list_due
from app.core.runtime import Runtime

due_ids = partial(list_due, WaveformJob)


def draw_waveform(runtime: Runtime, job_id: str) -> None:
    """Run this drawing, or another that is due."""
    job_type = JobType(
        claim=lambda session, wanted_id: claim(session, WaveformJob, wanted_id),
        handle=_draw,
        fail=lambda session, lease, _: end(held(session, lease), JobState.FAILED, utc_now()),
        is_final=lambda error: isinstance(error, TranscriptionError) and not error.retryable,
    )
    answer_bell(runtime, job_type, requests.bell(job_id))


def orphaned(runtime: Runtime, object_ids: Sequence[str]) -> Sequence[str]:
    """Return those of these waveforms or play copies whose recordings have no file any more."""
    by_recording = objects.by_recording(object_ids)
    with runtime.db.reading() as session:
        orphans = lifecycle.orphaned_among(session, list(by_recording))
    return [by_recording[audio_file_id] for audio_file_id in orphans]


def _draw(job: RunningJob[WaveformJob]) -> None:
    """Decode one recording for its waveform and its play copy."""
    storage, settings = job.runtime.storage, job.runtime.settings
    with job.transaction() as session:
        audio = queries.find(session, held(session, job.lease).audio_file_id)
        options = TranscriptionOptions(
            content_type=audio.content_type, max_duration_s=settings.audio_max_duration_s
        )
        audio_file_id = audio.id
    with storage.local_copy(audio_file_id) as copy:
        if copy is None:
            raise UnsupportedMedia(BYTES_MISSING.message)
        with (
            decoded(
                copy.path,
                options,
                spool_dir=objects.spool_dir(settings),
                min_free_bytes=settings.min_free_bytes,
                should_stop=job.should_stop,
            ) as sound,
            objects.stored(storage, audio_file_id, sound),
            job.transaction() as session,
        ):
            end(held(session, job.lease), JobState.SUCCEEDED, utc_now())
