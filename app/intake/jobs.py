"""Jobs that turn what sources have sent into conversations, calls and recordings."""

import re
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from app.audio_files.playback import spool_dir
from app.core.clock import utc_now
from app.core.errors import ServiceUnavailable
from app.core.jobs import leases
from app.core.jobs.leases import Lease
from app.core.jobs.purging import delete_older, purge_older
from app.core.jobs.runner import Interrupted, JobType, RunningJob, answer_bell, list_due
from app.core.runtime import Runtime
from app.imports import files
from app.imports.files import ImportFile
from app.imports.formats.records import BadLine, Fault, NativeRecord, Unreadable
from app.imports.loading.input import ImportOptions
from app.imports.loading.load import RecordOutcome, load_batch
from app.imports.loading.normalise import DiskSet, normalised
from app.imports.recordings import LoadedRecording, RecordingLoader
from app.imports.schemas.records import validator
from app.intake import sealing, service
from app.intake.catalogue import VENDORS
from app.intake.fetching import FetchRefused, HostFetch
from app.intake.models import IntakeDelivery
from app.intake.vendor import Config, Document, Sound, Vendor

_KEPT_DAYS = 90
# A vendor that is away is asked for so long.
_GIVEN_UP_AFTER = timedelta(days=1)
# A call whose words have arrived waits so long for its sound.
_SOUND_AWAITED = timedelta(hours=1)
_EMPTY = "empty"
_LONGEST_NAME = 100
due_ids = partial(list_due, IntakeDelivery)


class _Refused(Exception):
    """The delivery cannot be stored; another attempt would end alike."""

    def __init__(self, code: str, message: str) -> None:
        self.code, self.message = code, message
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class _Task:
    vendor: Vendor
    config: Config
    options: ImportOptions
    document: Document
    waited: timedelta


def run_intake(runtime: Runtime, delivery_id: str) -> None:
    """Store the records of this delivery, or of the one that waits longest."""
    answer_bell(runtime, _JOB_TYPE, service.bell(delivery_id))


def purge(runtime: Runtime) -> None:
    """Delete the bodies of what has failed days ago, and deliveries that ended 90 days ago."""
    with runtime.db.writing() as session:
        service.forget_bodies(session, before=utc_now() - service.BODY_KEPT_FOR)
    purge_older(runtime, _KEPT_DAYS, partial(delete_older, moment=IntakeDelivery.completed_at))


def _handle(job: RunningJob[IntakeDelivery]) -> None:
    task = _task_of(job)
    with TemporaryDirectory(prefix="intake_", dir=spool_dir(job.runtime.settings)) as folder:
        fetch = HostFetch(job.runtime, task.vendor.hosts(task.config), Path(folder))
        collected = _collected(task, fetch)
        if isinstance(collected, Sound):
            _store_sound(job, task, collected)
        elif collected is not None:
            _store_record(job, task, *_with_sound(job, task, collected, fetch))
    if collected is None:
        with job.transaction() as session:
            service.finish(session, job.lease, _EMPTY, None)


def _task_of(job: RunningJob[IntakeDelivery]) -> _Task:
    keyring, settings = job.runtime.keyring, job.runtime.settings
    with job.transaction() as session:
        row = leases.held(session, job.lease)
        configured = service.config_of(session, keyring, row.source)
        if configured is None or row.source not in VENDORS:
            raise _Refused(
                "SWITCHED_OFF", "The source is switched off: switch it on, and try again."
            )
        config, defaults = configured
        options = ImportOptions(
            defaults=defaults,
            create_missing=True,
            engagement_type=next(iter(settings.engagement_types), "imported"),
        )
        vendor = VENDORS[row.source]
        document = vendor.document_of(sealing.unseal_body(keyring, row))
        return _Task(vendor, config, options, document, utc_now() - row.queued_at)


def _collected(task: _Task, fetch: HostFetch) -> NativeRecord | Sound | None:
    """Return the records of a delivery; None for a call or a conversation without words."""
    try:
        return task.vendor.collect(task.document, task.config, fetch)
    except Unreadable as error:
        if error.code == Fault.NO_MESSAGES:
            return None
        raise _Refused(error.code, error.message) from error
    except FetchRefused as error:
        raise _Refused("VENDOR_REFUSED", str(error)) from error
    except ServiceUnavailable as error:
        if task.waited > _GIVEN_UP_AFTER:
            raise _Refused("VENDOR_AWAY", error.message) from error
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        message = f"What {task.vendor.title} sent has another form than its documentation says."
        raise _Refused(Fault.MALFORMED, message) from error


def _with_sound(
    job: RunningJob[IntakeDelivery], task: _Task, call: NativeRecord, fetch: HostFetch
) -> tuple[NativeRecord, str | None]:
    """Store the sound of a call and add it to its record, or say why it is stored without."""
    name = re.sub(r"[^A-Za-z0-9_-]", "_", call.external_id or "call")[:_LONGEST_NAME]
    try:
        place = task.vendor.sound(task.document, task.config)
        if place is None:
            return call, None
        (file,) = files.list_files(fetch.sound(place.url, place.headers, name + place.ending))
    except FetchRefused as error:
        return call, f"The sound is missing: {error}"
    except (KeyError, TypeError, ValueError, AttributeError):
        return call, "The sound is missing: its address has another form than documented."
    except ServiceUnavailable as error:
        if task.waited > _SOUND_AWAITED:
            return call, f"The sound is missing: {error.message}"
        raise
    # The words are judged with the call.
    options = replace(task.options, evaluate=False)
    fields = {"externalId": f"{task.vendor.name}:{call.external_id}"} | {
        theirs: call.fields[ours]
        for ours, theirs in (("startedAt", "recordedAt"), ("direction", "direction"))
        if call.fields.get(ours)
    }
    loaded = _loaded(job, options, file, fields)
    if isinstance(loaded, BadLine):
        return call, f"The sound is missing: {loaded.message}"
    return replace(call, fields={**call.fields, "recording": {"audioFileId": loaded[1]}}), None


def _store_record(
    job: RunningJob[IntakeDelivery], task: _Task, record: NativeRecord, missing: str | None
) -> None:
    with closing(DiskSet()) as seen_keys:
        validate = validator(job.runtime, task.options)
        batch = list(normalised([(record, None)], seen_keys, validate))
    with job.transaction() as session:
        counts = load_batch(session, batch, task.options)
        if not counts.errors:
            outcome = next(outcome for outcome, number in counts.by_outcome.items() if number)
            service.finish(session, job.lease, outcome, record.external_id, missing)
    if counts.errors:
        raise _Refused(counts.errors[0]["code"], counts.errors[0]["message"])


def _store_sound(job: RunningJob[IntakeDelivery], task: _Task, sound: Sound) -> None:
    (file,) = files.list_files(sound.path)
    loaded = _loaded(job, task.options, file, sound.fields)
    if isinstance(loaded, BadLine):
        raise _Refused(loaded.code, loaded.message)
    outcome: RecordOutcome = loaded[0]
    with job.transaction() as session:
        service.finish(session, job.lease, outcome, sound.fields["externalId"])


def _loaded(
    job: RunningJob[IntakeDelivery],
    options: ImportOptions,
    file: ImportFile,
    fields: Mapping[str, Any],
) -> LoadedRecording:
    """Store fetched sound, unless the customer was erased while it was fetched."""
    with job.transaction() as session:
        leases.held(session, job.lease)
    return RecordingLoader(job.runtime, options).load(file, lambda _: fields)


def _fail(session: Any, lease: Lease[IntakeDelivery], error: Exception) -> None:
    if isinstance(error, _Refused):
        service.fail(session, lease, error.code, error.message)
        return
    reason = (
        "was interrupted too often"
        if isinstance(error, Interrupted)
        else "failed inside the service"
    )
    service.fail(session, lease, "INTERNAL", f"The delivery {reason}; try it again.")


_JOB_TYPE = JobType(
    claim=partial(leases.claim, table=IntakeDelivery),
    handle=_handle,
    fail=_fail,
    is_final=lambda error: isinstance(error, _Refused),
)
