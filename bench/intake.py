"""Intake benchmark: conversations per second and core, from file to announced evaluation.

`python -m bench.intake [conversations]`: a file of conversations of 10 messages is imported, judged by
the rules, stored and announced to one webhook, in this process, in a new data folder. All times are CPU
of this process, so that a busy machine matters little. The shares are: read (parse, validate,
mask), load (store the conversations and queue their judgements), judge, store (the evaluations and their
events), announce (the deliveries of the events).
"""

import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from app.core.process import background
from app.core.process.stopping import never_stop
from app.core.runtime import Runtime, open_runtime
from app.evaluations.jobs import judge_batch
from app.evaluations.judging.model_answers import StoredAnswers
from app.evaluations.models import Evaluation
from app.events.catalogue import EventType
from app.imports import files
from app.imports.file_import import FileImport, Progress
from app.imports.loading.input import ImportOptions, entries_of
from app.imports.loading.normalise import DiskSet, batches_of, normalised
from app.imports.recordings import RecordingMetadata
from app.imports.schemas.records import validator
from app.judge.context import Context
from app.judge.judge import Judge, Judgement
from app.judge.judges import build_judge
from app.judge.scorecard.values import Scorecard
from app.transcript import Transcript
from app.webhooks import service as webhooks
from app.webhooks.models import Delivery
from bench.service import new_runtime

OPTIONS = ImportOptions(defaults={"engagement": "Bench"}, create_missing=True)
TALK = (
    ("agent", "Good morning, this is Asha of Northwind. How can I help you?"),
    ("customer", "Hello, my parcel {number} has not arrived. I have been waiting for a week."),
    ("agent", "I am sorry to hear that. May I have your postcode, please?"),
    ("customer", "It is 4711. This is the second time, and I am annoyed."),
    ("agent", "Thank you. I understand, a week is long. I am looking it up for you."),
    ("agent", "The parcel is at the depot. It was damaged, so a new one was sent yesterday."),
    ("customer", "So when does it arrive? And who pays for the express delivery?"),
    ("agent", "It arrives on Tuesday before noon, and the express delivery is on us."),
    ("customer", "All right, that helps. Thank you very much."),
    ("agent", "You are welcome. Is there anything else? Have a good day!"),
)


class CpuShares:
    """CPU seconds by the name of the work; inner work does not count for the outer one."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._inner = 0.0

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Add what the block takes."""
        outer_inner, self._inner = self._inner, 0.0
        started = time.process_time()
        yield
        taken = time.process_time() - started
        self.seconds[name] = self.seconds.get(name, 0.0) + taken - self._inner
        self._inner = outer_inner + taken

    def timed(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with its calls counted under a name."""

        def timed(*args: Any, **kwargs: Any) -> Any:
            with self.of(name):
                return call(*args, **kwargs)

        return timed


class TimedJudge:
    """A judge whose judgements count as `judge`."""

    def __init__(self, judge: Judge, shares: CpuShares) -> None:
        self._judge = judge
        self._shares = shares

    def judge(
        self,
        transcript: Transcript,
        scorecard: Scorecard,
        context: Context,
        *,
        should_stop: Callable[[], bool] = never_stop,
    ) -> Judgement:
        """Judge, and add the CPU that it takes."""
        with self._shares.of("judge"):
            return self._judge.judge(transcript, scorecard, context, should_stop=should_stop)


def main(number: int) -> None:
    background.collect_rarely()  # as the command and the workers do
    with tempfile.TemporaryDirectory() as folder:
        shares = CpuShares()
        runtime = stage(Path(folder), shares)
        source = Path(folder) / "conversations.jsonl"
        write(source, number)
        started = time.perf_counter()
        read(runtime, source, shares)
        load(runtime, source, shares)
        judge = TimedJudge(build_judge(runtime.settings, StoredAnswers(runtime.db)), shares)
        with shares.of("store"):
            while judge_batch(runtime, judge):
                pass
        wall_s = time.perf_counter() - started
        report(runtime, shares, number, wall_s)


def stage(folder: Path, shares: CpuShares) -> Runtime:
    """Return the runtime of a new data folder with one webhook."""
    runtime = new_runtime(folder, redis_url="none")
    on_publish = tuple(shares.timed("announce", hook) for hook in runtime.hooks.on_publish)
    hooks = replace(runtime.hooks, on_publish=on_publish)
    runtime = open_runtime(runtime.settings, runtime.keyring, hooks, runtime.counts)
    with runtime.db.writing() as session:
        events = [EventType.EVALUATION_COMPLETED]
        webhooks.create(
            session, runtime.keyring, url="https://receiver.example/events", events=events
        )
    return runtime


def write(source: Path, number: int) -> None:
    """Write the conversations."""
    with source.open("w") as file:
        for index in range(number):
            record = {
                "externalId": f"c{index}",
                "campaign": f"Campaign {index % 5}",
                "executive": f"Agent {index % 20}",
                "messages": [
                    {"role": role, "text": text.format(number=index)} for role, text in TALK
                ],
            }
            file.write(json.dumps(record) + "\n")


def read(runtime: Runtime, source: Path, shares: CpuShares) -> None:
    """Read the file without storing anything."""
    documents = files.open_documents(files.list_files(source), files.AUTO, lambda *_: None)
    with shares.of("read"), closing(DiskSet()) as seen:
        check = validator(runtime, OPTIONS)
        for _ in batches_of(normalised(entries_of(documents, OPTIONS), seen, check)):
            pass


def load(runtime: Runtime, source: Path, shares: CpuShares) -> None:
    """Import the file; reading it is not a part of the share."""
    described = RecordingMetadata(options=OPTIONS)
    with closing(FileImport(runtime, files.AUTO, OPTIONS, described)) as run, shares.of("load"):
        run.load_files(files.list_files(source), Progress([]))
    shares.seconds["load"] -= shares.seconds["read"]


def report(runtime: Runtime, shares: CpuShares, number: int, wall_s: float) -> None:
    """Check that all is stored, and print the figures."""
    with runtime.db.reading() as session:
        completed = session.scalar(
            select(func.count()).select_from(Evaluation).where(Evaluation.status == "completed")
        )
        announced = session.scalar(select(func.count()).select_from(Delivery))
    assert (completed, announced) == (number, number)
    total_s = sum(shares.seconds.values())
    memory_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{number:,} conversations of {len(TALK)} messages; memory at most {memory_mib:.0f} MiB")
    for name, seconds in shares.seconds.items():
        per_ms = seconds / number * 1000
        print(f"  {name:9} {per_ms:6.2f} ms of CPU a conversation, {seconds / total_s:4.0%}")
    print(f"  {'all':9} {total_s / number * 1000:6.2f} ms of CPU a conversation")
    print(
        f"{number / total_s:.0f} conversations a second and core ({number / wall_s:.0f} by the clock)"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000)
