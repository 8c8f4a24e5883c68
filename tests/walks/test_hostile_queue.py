"""A worker whose queue server somebody else can write to: it does nothing but the known jobs."""

import json
import os
import pickle
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from rq import Callback, Queue
from rq.job import Job
from rq.serializers import JSONSerializer

from app.analytics.exports.service import QUEUE
from app.core.ids import new_id
from app.core.queue import CALL
from app.webhooks.service import SENDER_BELL
from tests.conftest import make_data_dir
from tests.queue_server import running_queue_server
from tests.waiting import wait_until
from tests.walks.service_process import ROOT, ServiceProcess

# Leaves a mark when it is imported, and when it is called.
HOSTILE_MODULE = """
import os
from pathlib import Path

Path(os.environ["MARK"]).touch()


def run(*arguments):
    Path(os.environ["MARK"]).touch()
"""


class Payload:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, (f"touch {self.mark}",)


@dataclass
class Attacked:
    """A running worker, its queue server, and the file that hostile code would make."""

    redis: Redis
    mark: Path

    def push(self, queue: str, job: str, *arguments: Any, **options: Any) -> Job:
        target = Queue(queue, connection=self.redis, serializer=JSONSerializer)
        return target.enqueue(job, *arguments, failure_ttl=600, result_ttl=600, **options)

    def push_data(self, queue: str, data: bytes) -> Job:
        """Push a job whose call is these bytes."""
        target = Queue(queue, connection=self.redis, serializer=JSONSerializer)
        job = Job.create("app.nothing", connection=self.redis, serializer=JSONSerializer)
        job.data = data
        job.origin = queue
        job.failure_ttl = 600
        self.redis.hset(job.key, mapping=job.to_dict(include_meta=False))
        self.redis.rpush(target.key, job.id)
        return job

    def outcome(self, job: Job) -> str:
        """Wait until the worker is done with the job; return how it ended."""
        ended = ("finished", "failed")
        wait_until(lambda: self._status(job) in ended)
        return self._status(job)

    def _status(self, job: Job) -> str:
        status: Any = self.redis.hget(job.key, "status") or b""
        return str(status, "ascii")


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory, empty_database: Path) -> Iterator[Attacked]:
    folder = tmp_path_factory.mktemp("attacked")
    data_dir = make_data_dir(folder, empty_database)
    (folder / "hostile.py").write_text(HOSTILE_MODULE)
    mark = folder / "mark"
    with running_queue_server() as server, server.client() as redis:
        worker = ServiceProcess(
            data_dir,
            command=[sys.executable, "-P", str(ROOT / "worker.py")],
            CQE_REDIS_URL=server.url,
            PYTHONPATH=f"{ROOT}:{folder}",
            MARK=str(mark),
        )
        try:
            yield Attacked(redis, mark)
        finally:
            worker.end()


@pytest.fixture(autouse=True)
def no_mark(attacked: Attacked) -> None:
    attacked.mark.unlink(missing_ok=True)


@pytest.mark.parametrize("queue", [QUEUE, SENDER_BELL.queue])
def test_a_function_that_is_not_the_queues_own_is_not_imported(
    attacked: Attacked, queue: str
) -> None:
    job = attacked.push(queue, "hostile.run", new_id("exp"))
    assert attacked.outcome(job) == "failed"
    assert not attacked.mark.exists()


@pytest.mark.parametrize("queue", [QUEUE, SENDER_BELL.queue])
def test_pickled_data_is_not_read(attacked: Attacked, queue: str) -> None:
    job = attacked.push_data(queue, pickle.dumps((CALL, None, (Payload(attacked.mark),), {})))
    assert attacked.outcome(job) == "failed"
    assert not attacked.mark.exists()


@pytest.mark.parametrize(
    "call",
    [
        [CALL, "instance", [], {}],
        [CALL, None, ["../../etc"], {}],
        [CALL, None, [{"id": "exp_1"}], {}],
        [CALL, None, [], {"job_id": "exp_1"}],
    ],
)
def test_anything_but_ids_is_refused(attacked: Attacked, call: list[Any]) -> None:
    assert attacked.outcome(attacked.push_data(QUEUE, json.dumps(call).encode())) == "failed"


def test_a_known_job_runs_without_the_callbacks_and_webhooks_that_redis_names(
    attacked: Attacked,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as receiver:
        receiver.settimeout(2)
        hook = {"url": f"http://127.0.0.1:{receiver.getsockname()[1]}/", "job_status": "finished"}
        job = Job.create(
            CALL,
            (new_id("exp"),),
            connection=attacked.redis,
            serializer=JSONSerializer,
            on_success=Callback("hostile.run"),
            on_failure=Callback("hostile.run"),
            result_ttl=600,
            origin=QUEUE,
        )
        stored = job.to_dict() | {"webhooks": json.dumps([{**hook, "method": "GET"}])}
        attacked.redis.hset(job.key, mapping=stored)
        attacked.redis.rpush(Queue(QUEUE, connection=attacked.redis).key, job.id)
        assert attacked.outcome(job) == "finished"
        with pytest.raises(TimeoutError):
            receiver.accept()
    assert not attacked.mark.exists()
