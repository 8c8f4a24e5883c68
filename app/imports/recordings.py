"""Recordings as records of an import: their metadata, their storage and their processing."""

import hashlib
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path, PurePath
from typing import Any, TypeAlias

from sqlalchemy.orm import Session

from app.audio_files import uploads
from app.audio_files.enums import AudioStatus
from app.audio_files.models import AudioFile
from app.audio_files.playback import spool_dir
from app.audio_files.processing import requests
from app.audio_files.processing.requests import ProcessingRequest
from app.audio_files.uploads import AudioObjects
from app.core.clock import iso_utc, utc_now
from app.core.database.locks import one_at_a_time
from app.core.errors import AppError, Conflict, InvalidInput, ServiceUnavailable
from app.core.runtime import Runtime
from app.core.storage.objects import UploadIncomplete
from app.core.storage.untrusted import UntrustedFolder
from app.imports.call_records import FROM, TO, CallRecords
from app.imports.files import ImportFile, Pair, sidecar_of, unreadable, whole_of
from app.imports.formats.file_names import NamePattern
from app.imports.formats.lines import json_file
from app.imports.formats.records import BadLine, Fault, Unreadable
from app.imports.formats.table_rows import with_labels, with_offset
from app.imports.loading.input import ImportOptions
from app.imports.loading.load import RecordOutcome
from app.imports.loading.normalise import ValidRecord, summary_of
from app.imports.loading.references import NameResolver
from app.imports.schemas.records import validate_recording
from app.speech.errors import TranscriptionError
from app.speech.transcriber import join_sides

_TIME_TO_STORE = timedelta(hours=1)
_CHANNELS = {"agentChannel": "agent", "customerChannel": "customer"}
# What telephone systems call the directions.
DIRECTIONS = {
    **dict.fromkeys(("inbound", "incoming", "in", "trunking-originating"), "inbound"),
    **dict.fromkeys(("outbound", "outgoing", "out", "outbound-api", "outbound-dial"), "outbound"),
    **dict.fromkeys(("internal", ""), "unknown"),
    "trunking-terminating": "outbound",
}
_MAX_SIDECAR_BYTES = 64 * 1024
# Numbers join a recording to its call and are not stored.
_JOINED = frozenset({"number", FROM, TO})
# What a dry run shows of a recording.
SHOWN = ("externalId", "recordedAt", "direction", "executive", "number")
_MOST_SHOWN = 100
# The fields of a recording in the words of the API.
FieldsOf: TypeAlias = Callable[[ImportFile], Mapping[str, Any]]
# The outcome and the id of a recording, or the reason why it could not be stored.
LoadedRecording: TypeAlias = tuple[RecordOutcome, str | None] | BadLine


class RecordingMetadata:
    """Metadata of recordings by file; a log of calls wins over the name, and a JSON file over both.

    `understood` are the first recordings, as `SHOWN` in the words of the API.
    """

    def __init__(
        self,
        *,
        options: ImportOptions,
        calls: CallRecords | None = None,
        pattern: NamePattern | None = None,
        agents: Mapping[str, str] | None = None,
        directions: Mapping[str, str] | None = None,
    ) -> None:
        """Read metadata; `agents` are names by extensions, `directions` those of words."""
        self._calls = calls
        self._pattern = pattern
        self._agents = agents or {}
        self._directions = {**DIRECTIONS, **(directions or {})}
        self._timezone = options.timezone
        self.files_without_row: list[str] = []
        self.understood: list[dict[str, str]] = []

    @property
    def rows_without_file(self) -> list[str]:
        """The names of the rows of the log that no recording has."""
        return self._calls.unused if self._calls else []

    def fields_of(self, file: ImportFile) -> dict[str, Any]:
        """Return the fields of a recording in the words of the API."""
        fields = self.fields_of_name(file.name)
        sidecar = sidecar_of(file.path)
        if sidecar is not None:
            fields |= _document_of(file.folder, sidecar)
        if isinstance(recorded_at := fields.get("recordedAt"), str):
            fields["recordedAt"] = with_offset(recorded_at, self._timezone)
        return fields

    def start_of(self, half: ImportFile) -> datetime | None:
        """Return when one side of a call begins, where the JSON file next to it says so."""
        sidecar = sidecar_of(half.path)
        recorded_at = _document_of(half.folder, sidecar).get("recordedAt") if sidecar else None
        if not isinstance(recorded_at, str):
            return None
        with suppress(ValueError):
            start = datetime.fromisoformat(with_offset(recorded_at, self._timezone))
            return start if start.tzinfo else None
        return None

    def fields_of_name(self, name: str) -> dict[str, Any]:
        """Return the fields of a recording by its name and the log alone.

        Raises:
            Unreadable: the name has another form than the pattern.
        """
        named = self._pattern.values_of(name) if self._pattern else {}
        if "recordedAt" in named:
            named["recordedAt"] = with_offset(named["recordedAt"], self._timezone)
        row = self._calls.row_of(name, named) if self._calls else {}
        if row is None:
            self.files_without_row.append(name)
        given = self._with_agent({**named, **(row or {})})
        if len(self.understood) < _MOST_SHOWN:
            self.understood.append({"file": name, **{key: given.get(key, "") for key in SHOWN}})
        return _shaped({key: value for key, value in given.items() if key not in _JOINED})

    def _with_agent(self, given: Mapping[str, str]) -> dict[str, str]:
        """Name the agent of an extension, and the direction of a word or by the agent's side."""
        fields = dict(given)
        sides = {"outbound": fields.get(FROM, ""), "inbound": fields.get(TO, "")}
        sides = {side: number for side, number in sides.items() if number in self._agents}
        if len(sides) == 1:
            side, number = next(iter(sides.items()))
            fields.setdefault("executive", number)
            if fields.get("direction", "unknown") == "unknown":
                fields["direction"] = side
        if "executive" in fields:
            fields["executive"] = self._agents.get(fields["executive"], fields["executive"])
        if direction := fields.get("direction"):
            fields["direction"] = self._directions.get(direction.casefold(), direction)
        return fields


def _document_of(folder: UntrustedFolder, sidecar: Path) -> dict[str, Any]:
    with folder.open(sidecar) as file:
        document = json_file(file, sidecar.name, _MAX_SIDECAR_BYTES)
    if not isinstance(document, dict):
        raise Unreadable(Fault.MALFORMED, f"{sidecar.name} must hold one JSON object.")
    return document


def _shaped(fields: Mapping[str, str]) -> dict[str, Any]:
    """Move labels and channels of cells to where the API has them."""
    shaped = with_labels(fields)
    channels = {
        _CHANNELS[name]: int(value) if value.isdecimal() else value
        for name in _CHANNELS.keys() & shaped.keys()
        for value in [shaped.pop(name)]
    }
    return {**shaped, "channelMap": channels} if channels else shaped


class RecordingLoader:
    """Stores recordings under their `externalId`, or else under the digest of their bytes.

    A killed import leaves a recording that waits for its file; the next run finds it by its key and
    completes it.
    """

    def __init__(self, runtime: Runtime, options: ImportOptions) -> None:
        self._runtime = runtime
        self._options = options

    def load(self, file: ImportFile, fields_of: FieldsOf) -> LoadedRecording:
        """Store a file and queue its processing; a file that was stored before is skipped.

        Args:
            fields_of: returns the fields of the recording in the words of the API.

        Returns:
            The outcome with the id of the recording, which a dry run has not, or the reason why it
            failed.

        Raises:
            ServiceUnavailable: the database does not answer, or the disk is full.
        """
        return self._explained(file, lambda: self._load_file(file, fields_of(file)))

    def load_pair(self, pair: Pair[ImportFile], metadata: RecordingMetadata) -> LoadedRecording:
        """Store two sides of a call as one recording of two channels, as `load` does one file."""
        whole = whole_of(pair)
        return self._explained(whole, lambda: self._load_pair(pair, whole, metadata))

    def _load_pair(
        self, pair: Pair[ImportFile], whole: ImportFile, metadata: RecordingMetadata
    ) -> tuple[RecordOutcome, str | None]:
        fields = metadata.fields_of(whole)
        sides = pair.by_role(fields.get("direction") or self._options.defaults.get("direction"))
        fields["channelMap"] = {"agent": 0, "customer": 1}
        starts = [start for side in sides if (start := metadata.start_of(side)) is not None]
        later_s = 0.0
        if len(starts) == len(sides):
            later_s = (starts[1] - starts[0]).total_seconds()
            fields["recordedAt"] = iso_utc(min(starts))
        settings = self._runtime.settings
        with tempfile.TemporaryDirectory(dir=spool_dir(settings)) as folder, ExitStack() as opened:
            # By descriptor, so that a link that takes the place of a file is not followed.
            agent, customer = (
                Path(f"/dev/fd/{opened.enter_context(side.open()).fileno()}") for side in sides
            )
            path = Path(folder) / PurePath(whole.name).name
            with path.open("wb") as target:
                join_sides(
                    agent,
                    customer,
                    target,
                    spool_dir=spool_dir(settings),
                    min_free_bytes=settings.min_free_bytes,
                    second_later_s=later_s,
                )
            joined = replace(
                whole,
                folder=UntrustedFolder(path.parent),
                path=path,
                size_bytes=path.stat().st_size,
            )
            return self._load_file(joined, fields)

    def _load_file(
        self, file: ImportFile, known: Mapping[str, Any]
    ) -> tuple[RecordOutcome, str | None]:
        with file.open() as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        fields = self._fields_of(file, digest, known)
        return self._load(file, digest, validate_recording(fields, self._options.defaults))

    def _explained(
        self, file: ImportFile, load: Callable[[], tuple[RecordOutcome, str | None]]
    ) -> LoadedRecording:
        try:
            return load()
        except Unreadable as error:
            code, message = error.code, error.message
        except InvalidInput as error:
            code, message = Fault.VALIDATION_ERROR, summary_of(error)
        except TranscriptionError as error:
            code, message = Fault.VALIDATION_ERROR, error.message
        except ServiceUnavailable:
            raise
        except AppError as error:
            code, message = Fault.CONFLICT, error.message
        except OSError as error:
            code, message = Fault.MALFORMED, unreadable(error)
        except UploadIncomplete as error:
            code, message = Fault.MALFORMED, f"The file could not be read: {error}."
        return BadLine(0, code, message, file=file.name)

    def _fields_of(self, file: ImportFile, digest: str, known: Mapping[str, Any]) -> dict[str, Any]:
        fields = dict(known)
        if not file.size_bytes:
            raise Unreadable(Fault.MALFORMED, "The file is empty.")
        own = {"fileName", "contentType", "sizeBytes", "sha256", "autoProcess"} & fields.keys()
        if own:
            message = f"The file itself says {', '.join(sorted(own))}: leave it out."
            raise Unreadable(Fault.VALIDATION_ERROR, message)
        if fields.get("externalId") is None:
            fields["externalId"] = f"sha256:{digest}"
        return {
            **fields,
            "fileName": file.path.name,
            "contentType": file.recording_type,
            "sizeBytes": file.size_bytes,
            "sha256": digest,
            # Without a scorecard of its own, a recording is processed even if this import ends
            # before it has requested the processing.
            "autoProcess": self._options.evaluate and self._options.scorecard_id is None,
        }

    def _load(
        self, file: ImportFile, digest: str, valid: ValidRecord
    ) -> tuple[RecordOutcome, str | None]:
        if self._options.dry_run:
            return self._tried(valid), None
        with self._runtime.db.writing() as session:
            audio = self._reserved(session, valid)
            audio_file_id, is_new = audio.id, audio.status == AudioStatus.PENDING_UPLOAD
            if audio.sha256 != digest and not is_new:
                message = (
                    f"Another recording has the externalId {valid.external_id}: give this one "
                    "an externalId of its own."
                )
                raise Conflict(message)
        if is_new:
            with file.open() as source:
                AudioObjects(self._runtime).store(
                    audio_file_id, source, size_bytes=file.size_bytes, sha256=digest
                )
        self._request_processing(audio_file_id)
        return RecordOutcome.CREATED if is_new else RecordOutcome.SKIPPED, audio_file_id

    def _tried(self, valid: ValidRecord) -> RecordOutcome:
        with self._runtime.db.reading() as session:
            if not self._options.create_missing:
                NameResolver(session, self._options).ids_of(valid.names)
            uploads.check_space(session, self._runtime, valid.values["size_bytes"])
            known = uploads.of_external_id(session, valid.external_id)
        return RecordOutcome.CREATED if known is None else RecordOutcome.SKIPPED

    def _reserved(self, session: Session, valid: ValidRecord) -> AudioFile:
        resolver = NameResolver(session, self._options)
        missing = resolver.missing([valid.names])
        one_at_a_time(session, f"import recording {valid.external_id}", *missing)
        known = uploads.of_external_id(session, valid.external_id)
        if known is not None:
            return known
        return uploads.create(
            session,
            self._runtime,
            external_id=valid.external_id,
            expires_at=utc_now() + _TIME_TO_STORE,
            **{**valid.values, **resolver.ids_of(valid.names)},
        )

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
