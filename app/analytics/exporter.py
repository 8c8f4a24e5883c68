"""The work on exports: rows are read in short transactions and written into a file beside them."""

from contextlib import closing
from pathlib import Path

from app.analytics import exporting
from app.analytics.datasets import catalogue
from app.analytics.exporting import Task
from app.analytics.formats.writers import TooManyRows, open_writer
from app.analytics.models import ExportJob
from app.analytics.wishes import Wish
from app.core import stopping
from app.core.leased_work import Interrupted, LeasedWork, take
from app.core.leases import LeaseLost
from app.core.runtime import Runtime
from app.core.storage import StoredObject


def work(parts: Runtime, job_id: str = "") -> None:
    """Work on this export or on one that is due, and go on until none is left."""
    while not stopping.requested() and take(parts, job_id, exporting.claim, _Exporting):
        pass


def clear_spool(parts: Runtime) -> None:
    """Delete what the work on exports has left behind when it was killed."""
    files = [*_spool(parts).glob("exp_*")]
    with parts.db.reading() as session:
        kept = exporting.at_work(session)
    for file in files:
        if file.name.partition(".")[0] not in kept:
            file.unlink(missing_ok=True)


class _Exporting(LeasedWork[ExportJob]):
    def work(self) -> None:
        task = self.write(exporting.begin)
        if task.left is not None:
            self.parts.storage.delete(task.left)
            clear_spool(self.parts)
        stored, row_count = self._stored(task)
        try:
            self.write(exporting.finish, stored=stored, row_count=row_count)
        except LeaseLost:
            self.parts.storage.delete(task.object_id)
            raise

    def is_final(self, error: Exception) -> bool:
        return isinstance(error, TooManyRows)

    def give_up(self, error: Exception) -> None:
        code, message = "INTERNAL", "The export failed on our side."
        if isinstance(error, Interrupted):
            code, message = "INTERRUPTED", "The export was interrupted too often."
        if isinstance(error, TooManyRows):
            message = "A sheet cannot hold so many rows: take csv, jsonl or parquet."
            code = "TOO_MANY_ROWS"
        self.write(exporting.fail, code=code, message=message)

    def _stored(self, task: Task) -> tuple[StoredObject, int]:
        path = _spool(self.parts) / task.object_id
        copy = path.with_name(path.name + ".copy")
        try:
            row_count = self._write_rows(task.wish, path, copy)
            with path.open("rb") as file:
                stored = self.parts.storage.write(
                    task.object_id, file, size_bytes=path.stat().st_size
                )
        finally:
            path.unlink(missing_ok=True)
            copy.unlink(missing_ok=True)
        return stored, row_count

    def _write_rows(self, wish: Wish, path: Path, copy: Path) -> int:
        columns = catalogue.columns_of(wish)
        writer = open_writer(wish.format, path, columns, delimiter=wish.delimiter)
        row_count = 0
        with (
            closing(writer),
            closing(catalogue.batches(self.parts, wish, copy, lambda: self.must_end)) as found,
        ):
            for batch in found:
                self.require_going_on()
                writer.write(batch.columns)
                row_count += batch.row_count
                self.tell(int(batch.done * 99))
        return row_count


def _spool(parts: Runtime) -> Path:
    spool = parts.settings.data_dir / "spool"
    spool.mkdir(mode=0o700, exist_ok=True)
    return spool
