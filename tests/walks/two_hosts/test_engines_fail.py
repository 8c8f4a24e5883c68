"""Two hosts whose object storage or PostgreSQL server fails in the middle of their work."""

import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, select

from app.analytics.exports.service import QUEUE
from app.core.ids import new_id
from app.core.queue import Bell, Doorbell
from app.core.runtime import Runtime
from app.engagements.models import Engagement
from app.webhooks import service as webhooks
from tests import object_stores
from tests import receiver as answers
from tests.caller import Caller
from tests.conftest import make_tables
from tests.receiver import Receiver, write_ca_bundle
from tests.recordings import CALL, ask, reserve, send, show
from tests.waiting import wait_until
from tests.walks.test_postgresql_recovery import SERVER
from tests.walks.two_hosts.cluster import (
    Balancer,
    Shared,
    TestHost,
    make_caller,
    new_master_keys,
)
from tests.walks.two_hosts.work import (
    attempts,
    count_of_evaluations,
    deliveries_billed,
    is_processing,
    publish,
    subscribe,
    wait_for_events,
    wait_for_judgement,
    was_put_off,
)

pytestmark = [
    pytest.mark.postgresql_only("needs a PostgreSQL server"),
    pytest.mark.long,
    pytest.mark.skipif(
        not any(Path("/usr/lib/postgresql").glob("*/bin/initdb")),
        reason="there is no PostgreSQL server to start",
    ),
]
RECORDING = CALL.read_bytes()


@pytest.fixture(scope="module")
def server() -> Iterator[Path]:
    """The folder of a PostgreSQL server that the tests may restart."""
    folder = Path(tempfile.mkdtemp())
    yield folder
    subprocess.run([SERVER, "stop", folder], check=True)


@pytest.fixture(scope="module")
def shared(
    server: Path, redis_port: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shared]:
    # A restart must lose no commit.
    start = [str(SERVER), "start", str(server), "synchronous_commit = on"]
    url = subprocess.run(start, check=True, capture_output=True, text=True).stdout.strip()
    engine = create_engine(url)
    make_tables(engine)
    engine.dispose()
    folder = tmp_path_factory.mktemp("shared")
    with object_stores.s3(folder) as store:
        yield Shared(
            database_url=url.replace("+psycopg", ""),
            redis_port=redis_port,
            storage_url=store.settings["storage_url"],
            master_keys=new_master_keys(),
            ca_bundle=write_ca_bundle(folder),
        )


def upload(caller: Caller) -> str:
    """Upload a recording straight to the storage; return its id."""
    reserved = reserve(caller, len(RECORDING))
    assert send(reserved, RECORDING).status_code == 200
    return str(reserved["audioFileId"])


def complete_upload(caller: Caller) -> str:
    """Upload a recording and report it to the service; return its id."""
    audio_file_id = upload(caller)
    assert caller.post(f"/audio-files/{audio_file_id}/complete").status_code == 200
    return audio_file_id


@pytest.mark.nightly("waits for a storage")
def test_a_storage_that_answers_503_fails_no_recording(
    pair: tuple[TestHost, TestHost], callers: tuple[Caller, Caller], runtime: Runtime
) -> None:
    judged = count_of_evaluations(runtime)
    audio_file_id = complete_upload(callers[0])
    for host in pair:
        host.storage.answer_503()
    ask(callers[0], audio_file_id)
    wait_until(lambda: was_put_off(runtime), describe=lambda: pair[0].running.text)
    late = upload(callers[0])
    assert callers[0].post(f"/audio-files/{late}/complete").status_code == 503
    for host in pair:
        host.recover()
    assert attempts(runtime)
    assert show(callers[1], audio_file_id)["status"] == "processed"
    assert callers[1].post(f"/audio-files/{late}/complete").status_code == 200
    wait_for_judgement(runtime, judged + 1)


@pytest.mark.nightly("waits for a storage")
def test_a_silent_storage_stops_nothing_else(
    pair: tuple[TestHost, TestHost], callers: tuple[Caller, Caller], runtime: Runtime
) -> None:
    judged = count_of_evaluations(runtime)
    audio_file_id = complete_upload(callers[0])
    for host in pair:
        host.storage.fall_silent()
    ask(callers[0], audio_file_id)
    wait_until(lambda: is_processing(runtime))
    for host, caller in zip(pair, callers, strict=True):
        wait_until(lambda host=host: host.status_of("/health") == 200)  # type: ignore[misc]
        assert caller.get("/engagements").status_code == 200
    assert show(callers[0], audio_file_id)["status"] not in ("processed", "failed")
    for host in pair:
        host.recover()
    wait_for_judgement(runtime, judged + 1)
    assert show(callers[1], audio_file_id)["status"] == "processed"


def test_a_killed_postgresql_server_loses_and_repeats_nothing(
    pair: tuple[TestHost, TestHost],
    callers: tuple[Caller, Caller],
    runtime: Runtime,
    receiver: Receiver,
    server: Path,
) -> None:
    judged = count_of_evaluations(runtime)
    receiver.script("/hook", answers.status(200, after_s=0.2))
    subscription_id = subscribe(runtime, receiver)
    reserved = reserve(callers[0], len(RECORDING), autoProcess=True)
    ask(callers[0], upload(callers[0]))
    published = publish(runtime, 40)
    balancer = Balancer(pair)
    balancer.start(lambda base: make_caller(runtime, base))
    wait_until(lambda: is_processing(runtime) and receiver.received() and 201 in balancer.statuses)
    assert send(reserved, RECORDING).status_code == 200
    subprocess.run([SERVER, "restart", server], check=True)
    runtime.db.engine.dispose()
    acknowledged = balancer.statuses.count(201)
    wait_until(lambda: balancer.statuses.count(201) > acknowledged)
    statuses = balancer.stop()
    assert set(statuses) <= {201, 503}
    # Nobody reports the upload: the keeper finds it.
    wait_for_judgement(runtime, judged + 2)
    assert attempts(runtime)
    wait_for_events(receiver, published)
    assert deliveries_billed(runtime, subscription_id) == len(published)
    with runtime.db.reading() as session:
        stored = set(session.scalars(select(Engagement.name)))
    created = {f"engagement {number}" for number, code in enumerate(statuses, 1) if code == 201}
    assert created <= stored
    with runtime.db.writing() as session:
        webhooks.remove(session, subscription_id)


def test_bells_while_postgresql_restarts_are_warnings(
    pair: tuple[TestHost, TestHost], server: Path, redis_port: int
) -> None:
    doorbell, ended = Doorbell(f"redis://127.0.0.1:{redis_port}/0"), threading.Event()
    before = [len(host.running.text) for host in pair]

    def ring() -> None:
        while not ended.wait(0.1):
            doorbell.ring(Bell(QUEUE, new_id("exp")))

    def logged() -> str:
        texts = (host.running.text for host in pair)
        return "".join(text[start:] for text, start in zip(texts, before, strict=True))

    def met_a_restart() -> bool:
        subprocess.run([SERVER, "restart", server], check=True)
        return f"the jobs of {QUEUE} have to wait" in logged()

    bells = threading.Thread(target=ring)
    bells.start()
    try:
        wait_until(met_a_restart, describe=logged)
    finally:
        ended.set()
        bells.join()
    for host in pair:
        host.wait_ready()
    assert [line for line in logged().splitlines() if "Traceback" in line] == []
