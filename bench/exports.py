"""Speed of exports next to a bare loop, their memory, and the latency of the API meanwhile.

python -m bench.exports FOLDER [--formats csv,parquet] [--seconds 10]

FOLDER is the data folder of `python -m bench.analytics EVALUATIONS FOLDER`. The bare loop, which
only reads rows from sqlite3 and writes them with csv.writer, runs before and after each export; each
export runs in its own process, as in a worker. CPU is user and system time.
"""

import argparse
import contextlib
import csv
import os
import resource
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from app.analytics import jobs as export_work
from app.analytics.enums import Dataset, Format
from app.analytics.exports import service as export_service
from app.analytics.exports.request import ExportRequest
from app.analytics.models import ExportJob
from app.core.runtime import Runtime
from app.core.settings import Settings
from app.wiring import build_runtime
from bench.load import Load, run
from bench.service import (
    SERVICE_OPTIONS,
    Signer,
    environment_of,
    memory_mib,
    new_key,
    serving,
)

LIST = "/api/v1/evaluations"


@dataclass(frozen=True)
class Effort:
    """Seconds by the clock and of the processor, and by how many MiB the memory grew."""

    wall_s: float
    cpu_s: float
    grown_mib: float

    def told(self, name: str, rows: int) -> str:
        """Return a line of the table."""
        return (
            f"{name:20}{self.wall_s:8.1f} s {rows / self.wall_s:9,.0f} rows/s"
            f"{self.cpu_s:8.1f} s CPU {rows / self.cpu_s:9,.0f} rows a CPU second"
            f"{self.grown_mib:+7.0f} MiB"
        )


def apart(work: Callable[[], None]) -> Effort:
    """Do something in a process of its own."""
    reading, writing = os.pipe()
    started = time.perf_counter()
    child = os.fork()
    if not child:
        before = memory_mib("VmRSS")
        work()
        os.write(writing, str(memory_mib("VmHWM") - before).encode())
        os._exit(0)
    _, status, used = os.wait4(child, 0)
    os.close(writing)
    with os.fdopen(reading) as told:
        grown = told.read()
    if status:
        raise SystemExit("the work failed")
    return Effort(time.perf_counter() - started, _cpu_s(used), float(grown))


def bare(file: Path, to: Path) -> None:
    """Do what nobody could do faster in plain Python: one select, one writer."""
    with closing(sqlite3.connect(file)) as connection, to.open("w", newline="") as out:
        writer = csv.writer(out)
        cursor = connection.execute("SELECT * FROM evaluations ORDER BY id")
        while rows := cursor.fetchmany(1000):
            writer.writerows(rows)
    to.unlink()


def export(runtime: Runtime, format_: Format) -> None:
    """Make one export and throw it away."""
    with runtime.db.writing() as session:
        request = ExportRequest(Dataset.EVALUATIONS, format_)
        job_id = export_service.create(session, request, file_name=None, created_by="bench").id
    export_work.run_export(runtime, job_id)
    with runtime.db.reading() as session:
        job = session.get_one(ExportJob, job_id)
    if job.state != "succeeded":
        raise SystemExit(f"the export failed: {job.error}")
    runtime.storage.delete(str(job.object_id))


def rates(runtime: Runtime, file: Path, formats: list[Format]) -> None:
    """Print a line for each format, and the bare loop before each and at the end."""
    with closing(sqlite3.connect(file)) as connection:
        (rows,) = connection.execute("SELECT count(*) FROM evaluations").fetchone()
    print(f"{rows:,} evaluations")
    scratch = file.with_name("bare.csv")
    for format_ in formats:
        print(apart(lambda: bare(file, scratch)).told("bare loop", rows), flush=True)
        made = apart(lambda chosen=format_: export(runtime, chosen))  # type: ignore[misc]
        print(made.told(f"export {format_}", rows), flush=True)
    print(apart(lambda: bare(file, scratch)).told("bare loop", rows), flush=True)


def latency(runtime: Runtime, folder: Path, seconds: float) -> None:
    """Print how long a list takes with nothing else to do, and while an export runs."""
    signed = Signer(new_key(runtime))
    environment = environment_of(folder, CQE_REDIS_URL="none")
    with serving("wsgi:app", environment, *SERVICE_OPTIONS) as (port, group):

        def measure() -> Load:
            build = lambda: signed("GET", LIST)  # noqa: E731
            return run(port, build, connections=1, seconds=seconds, group=group)

        measure()
        _tell("list, idle", measure())
        with _exporting(runtime):
            _tell("list, during a CSV", measure())
        _tell("list, idle again", measure())


@contextlib.contextmanager
def _exporting(runtime: Runtime) -> Iterator[None]:
    """Make one export after the other in a process of their own."""
    child = os.fork()
    if not child:
        while True:
            export(runtime, Format.CSV)
    try:
        time.sleep(0.5)
        yield
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)


def _tell(name: str, load: Load) -> None:
    if set(load.statuses) != {200}:
        raise SystemExit(f"unexpected answers: {load.statuses}")
    p50, p99 = load.percentile_ms(0.5), load.percentile_ms(0.99)
    print(f"{name:20}p50 {p50:6.1f} ms  p99 {p99:6.1f} ms  {load.per_second:6.0f} a second")


def _cpu_s(used: resource.struct_rusage) -> float:
    return used.ru_utime + used.ru_stime


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--formats", default="csv,parquet,jsonl")
    options.add_argument("--seconds", type=float, default=10)
    chosen = options.parse_args()
    folder: Path = chosen.folder.resolve()
    runtime = build_runtime(
        Settings(data_dir=folder, redis_url="none", sqlite_synchronous="NORMAL")
    )
    rates(runtime, folder / "cqe.db", [Format(each) for each in chosen.formats.split(",")])
    latency(runtime, folder, chosen.seconds)


if __name__ == "__main__":
    main()
