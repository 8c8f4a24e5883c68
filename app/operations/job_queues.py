"""Job queues of the worker: the functions that run a job, and that find the due rows, of each."""

from app.analytics import jobs as exports
from app.analytics.exports import service as export_service
from app.audio_files import jobs as audio_files
from app.audio_files.playback import jobs as playback
from app.audio_files.playback import requests as drawings
from app.audio_files.processing import requests as processing
from app.evaluations import jobs as evaluations
from app.evaluations.judging import judgements
from app.imports import jobs as imports
from app.imports import service as importing
from app.operations.processes.sweep import JobQueue
from app.privacy import jobs as erasures
from app.privacy import service as erasing

JOB_QUEUES: tuple[JobQueue, ...] = (
    JobQueue(processing.QUEUE, audio_files.process_audio, audio_files.due_ids),
    JobQueue(drawings.QUEUE, playback.draw_waveform, playback.due_ids),
    JobQueue(judgements.QUEUE, evaluations.judge, evaluations.due_ids),
    JobQueue(importing.QUEUE, imports.run_import, imports.due_ids),
    JobQueue(export_service.QUEUE, exports.run_export, exports.due_ids),
    JobQueue(erasing.QUEUE, erasures.run_erasure, erasures.due_ids),
)
