"""Loading of recordings: each file becomes one recording, and no file a second one."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy.orm import Session

from app.audio_files.enums import AudioStatus
from app.audio_files.models import AudioFile
from app.audio_files.processing import requests
from app.audio_files.processing.requests import ProcessingRequest
from app.audio_files.uploads import lifecycle
from app.audio_files.uploads.audio_objects import AudioObjects
from app.audio_files.uploads.limits import upload_limits
from app.core.clock import utc_now
from app.core.database.locks import one_at_a_time
from app.core.errors import AppError, Conflict, InvalidInput, ServiceUnavailable
from app.core.runtime import Runtime
from app.core.storage.objects import ObjectExists, UploadIncomplete
from app.imports.files import ImportFile
from app.imports.formats.records import BadLine, Fault, Unreadable
from app.imports.loading.import_counts import ImportCounts, RecordOutcome
from app.imports.loading.named_references import NAMED_REFERENCES, NameResolver
from app.imports.loading.normalise import summary_of, with_default_references
from app.imports.options import ImportOptions
from app.imports.recordings.metadata import RecordingMetadata
from app.imports.schemas.validate import validate_recording

_TIME_TO_STORE = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class LoadedRecording:
    """A file with the id of its recording, or the reason why it has none."""

    file: ImportFile
    outcome: RecordOutcome
    audio_file_id: str | None = None
    error: BadLine | None = None

    def count_in(self, counts: ImportCounts) -> None:
        """Add the file to the counts of an import."""
        if self.error is not None:
            counts.count_failure(self.error, self.file.name)
        else:
            counts.count(self.outcome)


class RecordingLoader:
    """Stores recordings under their `externalId`, or else under the digest of their bytes.

    A killed import leaves a recording that waits for its file; the next run finds it by its key and
    completes it.
    """

    def __init__(
        self, runtime: Runtime, options: ImportOptions, metadata: RecordingMetadata
    ) -> None:
        self._runtime = runtime
        self._options = options
        self._metadata = metadata

    def load(self, file: ImportFile) -> LoadedRecording:
        """Store a file and queue its processing; a file that was stored before is skipped.

        Raises:
            ServiceUnavailable: the database does not answer, or the disk is full.
        """
        try:
            with file.path.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
            fields = self._fields_of(file, digest)
            return self._load(file, digest, *validate_recording(fields))
        except Unreadable as error:
            code, message = error.code, error.message
        except InvalidInput as error:
            code, message = Fault.VALIDATION_ERROR, summary_of(error)
        except ServiceUnavailable:
            raise
        except AppError as error:
            code, message = Fault.CONFLICT, error.message
        except (OSError, UploadIncomplete) as error:
            code, message = Fault.MALFORMED, f"The file could not be read: {error}."
        return LoadedRecording(file, RecordOutcome.FAILED, error=BadLine(0, code, message))

    def _fields_of(self, file: ImportFile, digest: str) -> dict[str, Any]:
        if not file.size_bytes:
            raise Unreadable(Fault.MALFORMED, "The file is empty.")
        defaults = self._options.defaults
        fields = self._metadata.fields_of(file)
        own = {"fileName", "contentType", "sizeBytes", "sha256", "autoProcess"} & fields.keys()
        if own:
            message = f"The file itself says {', '.join(sorted(own))}: leave it out."
            raise Unreadable(Fault.VALIDATION_ERROR, message)
        completed = with_default_references(fields, NAMED_REFERENCES, defaults)
        if completed.get("language") is None:
            completed["language"] = defaults.get("language")
        if completed.get("externalId") is None:
            completed["externalId"] = f"sha256:{digest}"
        return {
            **completed,
            "fileName": file.path.name,
            "contentType": file.recording_type,
            "sizeBytes": file.size_bytes,
            "sha256": digest,
            # Without a scorecard of its own, a recording is processed even if this import ends
            # before it has requested the processing.
            "autoProcess": self._options.evaluate and self._options.scorecard_id is None,
        }

    def _load(
        self, file: ImportFile, digest: str, values: dict[str, Any], names: Mapping[str, str]
    ) -> LoadedRecording:
        if self._options.dry_run:
            return self._tried(file, values, names)
        with self._runtime.db.writing() as session:
            audio = self._reserved(session, values, names)
            audio_file_id, status = audio.id, audio.status
            if audio.sha256 != digest and status != AudioStatus.PENDING_UPLOAD:
                message = (
                    f"Another recording has the externalId {values['external_id']}: give this one "
                    "an externalId of its own."
                )
                raise Conflict(message)
        if status == AudioStatus.PENDING_UPLOAD:
            self._store(file, audio_file_id, digest)
        self._request_processing(audio_file_id)
        is_stored_now = status == AudioStatus.PENDING_UPLOAD
        outcome = RecordOutcome.CREATED if is_stored_now else RecordOutcome.SKIPPED
        return LoadedRecording(file, outcome, audio_file_id)

    def _tried(
        self, file: ImportFile, values: Mapping[str, Any], names: Mapping[str, str]
    ) -> LoadedRecording:
        with self._runtime.db.reading() as session:
            if not self._options.create_missing:
                NameResolver(session).ids_of(names)
            upload_limits(self._runtime).check(session, values["size_bytes"])
            known = lifecycle.of_external_id(session, values["external_id"])
        outcome = RecordOutcome.CREATED if known is None else RecordOutcome.SKIPPED
        return LoadedRecording(file, outcome)

    def _reserved(
        self, session: Session, values: Mapping[str, Any], names: Mapping[str, str]
    ) -> AudioFile:
        resolver = NameResolver(session, self._options)
        one_at_a_time(
            session, f"import recording {values['external_id']}", *resolver.missing([names])
        )
        known = lifecycle.of_external_id(session, values["external_id"])
        if known is not None:
            return known
        fields = {**values, **resolver.ids_of(names)}
        expires_at = utc_now() + _TIME_TO_STORE
        limits = upload_limits(self._runtime)
        return lifecycle.create(session, limits=limits, expires_at=expires_at, **fields)

    def _store(self, file: ImportFile, audio_file_id: str, digest: str) -> None:
        objects = AudioObjects(self._runtime)
        try:
            with file.path.open("rb") as source:
                stored = self._runtime.storage.write(
                    audio_file_id, source, size_bytes=file.size_bytes, sha256=digest
                )
        except ObjectExists:
            objects.reconcile(audio_file_id)
        else:
            objects.mark_stored(audio_file_id, stored)

    def _request_processing(self, audio_file_id: str) -> None:
        """Queue the processing of a stored recording that was never processed."""
        if not self._options.evaluate:
            return
        with self._runtime.db.writing() as session:
            audio = session.get(AudioFile, audio_file_id)
            if audio is not None and audio.status == AudioStatus.UPLOADED:
                requests.request_processing(
                    session,
                    audio_file_id,
                    ProcessingRequest(scorecard_id=self._options.scorecard_id),
                    redact_by_default=self._runtime.settings.redaction,
                )
