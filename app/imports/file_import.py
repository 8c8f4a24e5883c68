"""Import of files by the command, with progress bars: texts in batches, recordings one by one."""

import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from typing import Any, BinaryIO, Self

import click
from sqlalchemy import RowMapping

from app.audio_files import jobs as audio_files
from app.audio_files import queries as recordings
from app.core import hosts
from app.core.clock import utc_now
from app.core.errors import ServiceUnavailable
from app.core.process import stopping
from app.core.runtime import Runtime
from app.evaluations import jobs as judging
from app.evaluations import service as evaluations
from app.imports import files, service
from app.imports.files import ImportFile, Pair, paired, whole_of
from app.imports.formats.records import BadLine
from app.imports.loading.input import Document, ImportOptions, entries_of
from app.imports.loading.load import DryRunRollback, ImportCounts, load_batch
from app.imports.loading.normalise import DiskSet, NormalisedRecord, batches_of, normalised
from app.imports.recordings import LoadedRecording, RecordingLoader, RecordingMetadata
from app.imports.schemas.records import validator

_RETRY_S = 1.0
_RETRIES = 2
_CHECKED_AT_ONCE = 500


class Progress:
    """A bar over the bytes of all files; hidden unless standard error is a terminal."""

    def __init__(self, files: Sequence[ImportFile]) -> None:
        length = sum(file.size_bytes for file in files)
        hidden = length == 0 or not sys.stderr.isatty()
        self._bar = click.progressbar(length=length, file=sys.stderr, hidden=hidden)
        self._stream: BinaryIO | None = None
        self._earlier_bytes = 0

    def __enter__(self) -> Self:
        self._bar.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: Any) -> None:
        if kind is None:
            self._bar.update((self._bar.length or 0) - self._bar.pos)
        self._bar.__exit__(kind, *error)

    def opened(self, stream: BinaryIO, earlier_bytes: int) -> None:
        """Note the file that is read now, and the bytes of the files before it."""
        self._stream, self._earlier_bytes = stream, earlier_bytes

    def update(self, received: int) -> None:
        """Show the number of records so far and the position in the files."""
        if self._stream is not None and not self._stream.closed:
            self._show(received, self._earlier_bytes + self._stream.tell())

    def finished(self, file: ImportFile, received: int) -> None:
        """Show that a file was loaded as a whole, as a recording is."""
        self._show(received, self._bar.pos + file.size_bytes)

    def _show(self, received: int, position: int) -> None:
        self._bar.label = f"{received} records"
        self._bar.update(max(0, position - self._bar.pos))


class FileImport:
    """One run of the command, and what it still waits for."""

    def __init__(
        self,
        runtime: Runtime,
        format_: str,
        options: ImportOptions,
        metadata: RecordingMetadata,
        *,
        pairs: bool = False,
    ) -> None:
        self._runtime = runtime
        self._format = format_
        self._options = options
        self._pairs = pairs
        self._metadata = metadata
        self._recordings = RecordingLoader(runtime, options)
        self.ended: Counter[str] = Counter()  # Evaluations that were waited for, by status.
        self.reasons: Counter[str] = Counter()  # Why evaluations have failed.
        self.failed_recordings = 0
        self._started_at = utc_now()
        self._awaited = DiskSet()
        self._awaited_recordings = DiskSet()

    def close(self) -> None:
        self._awaited.close()
        self._awaited_recordings.close()

    @property
    def waiting(self) -> int:
        """The number of evaluations and recordings that have not ended."""
        return len(self._awaited) + len(self._awaited_recordings)

    def load_files(self, sources: Sequence[ImportFile], progress: Progress) -> ImportCounts:
        """Load all files: first the texts, whose people and campaigns recordings may name."""
        texts = [file for file in sources if file.recording_type is None]
        opened = files.open_documents(texts, self._format, progress.opened)
        counts = self._load_documents(opened, progress)
        found = [file for file in sources if file.recording_type is not None]
        for item in paired(found) if self._pairs else found:
            self._load_recording(item, counts)
            if not isinstance(item, BadLine):
                file = whole_of(item) if isinstance(item, Pair) else item
                progress.finished(file, counts.received)
        return counts

    def load_stream(self, stream: BinaryIO) -> ImportCounts:
        document = files.document_of(stream, "standard input", self._format)
        return self._load_documents([document], Progress([]))

    def record(self, source: str, counts: ImportCounts) -> None:
        """Record the counts for the list of imports; a dry run leaves no record."""
        if self._options.dry_run:
            return
        with self._runtime.db.writing() as session:
            service.record_run(
                session,
                format=self._format,
                source=source,
                options=self._options,
                counts=counts,
                started_at=self._started_at,
            )

    def advance(self) -> Sequence[RowMapping]:
        """Forget the evaluations and recordings that have ended; return these recordings.

        Without a running worker, evaluations and recordings are processed here.
        """
        if not self.waiting:
            return []
        evaluation_ids = self._awaited.first(_CHECKED_AT_ONCE)
        audio_file_ids = self._awaited_recordings.first(_CHECKED_AT_ONCE)
        with self._runtime.db.reading() as session:
            ended = evaluations.ended_among(session, evaluation_ids) if evaluation_ids else {}
            results = recordings.results_among(session, audio_file_ids) if audio_file_ids else []
        self._awaited.remove(ended)
        self.ended.update(status for status, _ in ended.values())
        self.reasons.update(error for _, error in ended.values() if error)
        self._awaited_recordings.remove(row["id"] for row in results)
        self.failed_recordings += sum(1 for row in results if row["error"])
        is_idle = not ended and not results
        if is_idle and not hosts.is_running(self._runtime.db, hosts.WORKER):
            with stopping.on_interrupt():
                judging.judge(self._runtime)
                audio_files.process_audio(self._runtime, "")
        return results

    def _load_documents(
        self, documents: Iterable[Document | BadLine], progress: Progress
    ) -> ImportCounts:
        total = ImportCounts()
        with closing(DiskSet()) as seen_keys:
            entries = entries_of(documents, self._options)
            validate = validator(self._runtime, self._options)
            records = normalised(entries, seen_keys, validate)
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

    def _load_recording(
        self, item: ImportFile | Pair[ImportFile] | BadLine, counts: ImportCounts
    ) -> None:
        loaded: LoadedRecording
        if isinstance(item, BadLine):
            loaded = item
        elif isinstance(item, Pair):
            loaded = self._recordings.load_pair(item, self._metadata)
        else:
            loaded = self._recordings.load(item, self._metadata.fields_of)
        if isinstance(loaded, BadLine):
            counts.count_failure(loaded)
            return
        outcome, audio_file_id = loaded
        counts.count(outcome)
        if audio_file_id is not None and self._options.evaluate:
            self._awaited_recordings.add(audio_file_id)
