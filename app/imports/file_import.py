"""Import of files by the command: texts in batches, recordings one by one."""

import time
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import BinaryIO

from app.audio_files import jobs as audio_files
from app.audio_files import queries as recordings
from app.core import hosts
from app.core.errors import ServiceUnavailable
from app.core.process import stopping
from app.core.runtime import Runtime
from app.evaluations import jobs as evaluations
from app.imports import files, service
from app.imports.files import ImportFile
from app.imports.loading.disk_set import DiskSet
from app.imports.loading.documents import Document, entries_of
from app.imports.loading.import_counts import ImportCounts
from app.imports.loading.load import DryRunRollback, load_batch
from app.imports.loading.normalise import NormalisedRecord, batches_of, normalised
from app.imports.options import ImportOptions
from app.imports.progress import Progress
from app.imports.recordings.load import RecordingLoader
from app.imports.recordings.metadata import RecordingMetadata

_RETRY_S = 1.0
_RETRIES = 2
_CHECKED_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class EndedRecording:
    """A recording with its score, or the reason why it has none."""

    file_name: str
    score: int | None
    reason: str | None


class FileImport:
    """One run of the command, and what it still waits for."""

    def __init__(
        self, runtime: Runtime, format_: str, options: ImportOptions, metadata: RecordingMetadata
    ) -> None:
        self._runtime = runtime
        self._format = format_
        self._options = options
        self._recordings = RecordingLoader(runtime, options, metadata)
        self._awaited = DiskSet()
        self._awaited_recordings = DiskSet()

    def close(self) -> None:
        """Delete the sets on disk."""
        self._awaited.close()
        self._awaited_recordings.close()

    @property
    def waiting(self) -> int:
        """The number of evaluations and recordings that have not ended."""
        return len(self._awaited) + len(self._awaited_recordings)

    def load_files(self, sources: Sequence[ImportFile], progress: Progress) -> ImportCounts:
        """Load all files: first the texts, whose people and campaigns recordings may name.

        Raises:
            UnknownFormat: the format of a file cannot be detected.
        """
        texts = [file for file in sources if file.recording_type is None]
        opened = files.open_documents(texts, self._format, progress.opened)
        counts = self._load_documents(opened, progress)
        for file in sources:
            if file.recording_type is not None:
                self._load_recording(file, counts)
                progress.finished(file, counts.received)
        return counts

    def load_stream(self, stream: BinaryIO) -> ImportCounts:
        """Load a stream such as standard input."""
        document = files.document_of(stream, "standard input", self._format)
        return self._load_documents([document], Progress([]))

    def advance(self) -> list[EndedRecording]:
        """Forget the evaluations and recordings that have ended; return those recordings.

        Without a running worker, evaluations and recordings are processed here.
        """
        if not self.waiting:
            return []
        evaluation_ids = self._awaited.first(_CHECKED_AT_ONCE)
        audio_file_ids = self._awaited_recordings.first(_CHECKED_AT_ONCE)
        with self._runtime.db.reading() as session:
            ended = service.ended_evaluations(session, evaluation_ids) if evaluation_ids else []
            results = recordings.results_among(session, audio_file_ids) if audio_file_ids else []
        self._awaited.remove(ended)
        self._awaited_recordings.remove(row["id"] for row in results)
        is_idle = not ended and not results
        if is_idle and not hosts.is_running(self._runtime.db, hosts.WORKER):
            with stopping.on_interrupt():
                evaluations.judge(self._runtime)
                audio_files.process_audio(self._runtime, "")
        return [
            EndedRecording(row["file_name"], row["score"], (row["error"] or {}).get("message"))
            for row in results
        ]

    def _load_documents(self, documents: Iterable[Document], progress: Progress) -> ImportCounts:
        total = ImportCounts()
        with closing(DiskSet()) as seen_keys:
            entries = entries_of(documents, self._options)
            validate = self._runtime.hooks.check_import_record
            records = normalised(entries, self._options, seen_keys, validate)
            for batch in batches_of(records):
                counts = self._load(batch)
                total.add(counts)
                for evaluation_id in counts.evaluation_ids:
                    self._awaited.add(evaluation_id)
                progress.update(total.received)
        return total

    def _load(self, batch: Sequence[NormalisedRecord]) -> ImportCounts:
        """Load a batch; retry while the database is busy."""
        for _ in range(_RETRIES):
            with suppress(ServiceUnavailable):
                return self._try_load(batch)
            time.sleep(_RETRY_S)
        return self._try_load(batch)

    def _try_load(self, batch: Sequence[NormalisedRecord]) -> ImportCounts:
        try:
            with self._runtime.db.writing() as session:
                return load_batch(session, batch, self._options)
        except DryRunRollback as rollback:
            return rollback.counts

    def _load_recording(self, file: ImportFile, counts: ImportCounts) -> None:
        loaded = self._recordings.load(file)
        loaded.count_in(counts)
        if loaded.audio_file_id is not None and self._options.evaluate:
            self._awaited_recordings.add(loaded.audio_file_id)
