"""Two hosts on one PostgreSQL and one Redis: one of them fails, and the other works on."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
import sqlalchemy
from redis import Redis

from app.core import hosts
from app.core.hosts import BEAT_EVERY_S
from app.core.runtime import Runtime
from app.core.settings import Settings
from app.webhooks import service as webhooks
from app.webhooks.sender.receiver_queues import MOST_IN_FLIGHT
from tests import receiver as answers
from tests.caller import Caller, error_code
from tests.conftest import new_database
from tests.contacts import put_chat
from tests.receiver import Receiver, write_ca_bundle
from tests.recordings import CALL, SPEECH, ask, reserve, send, show, upload
from tests.waiting import wait_until
from tests.walks.two_hosts.cluster import (
    Balancer,
    Shared,
    TestHost,
    make_caller,
    new_master_keys,
)
from tests.walks.two_hosts.work import (
    attempts,
    busy_hosts,
    calls_billed,
    count_of_evaluations,
    deliveries_billed,
    publish,
    subscribe,
    wait_for_events,
    wait_for_judgement,
    was_put_off,
)

pytestmark = [pytest.mark.postgresql_only("needs a PostgreSQL server"), pytest.mark.long]
# Silence is the harder one: nothing tells that the server is away.
FAULTS = [pytest.param("cut", marks=pytest.mark.nightly("the easier fault")), "fall_silent"]


@pytest.fixture(scope="module")
def shared(
    postgresql_template: tuple[sqlalchemy.Engine, str],
    redis_port: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Shared]:
    admin, template = postgresql_template
    folder = tmp_path_factory.mktemp("shared")
    with new_database(admin, template) as name:
        url = admin.url.set(database=name, drivername="postgresql")
        yield Shared(
            database_url=url.render_as_string(hide_password=False),
            redis_port=redis_port,
            storage_url=f"file://{folder}/storage",
            master_keys=new_master_keys(),
            ca_bundle=write_ca_bundle(folder),
        )


def test_each_host_sees_the_other_and_its_recordings(
    pair: tuple[TestHost, TestHost], callers: tuple[Caller, Caller], runtime: Runtime
) -> None:
    def running() -> set[tuple[str, str]]:
        with runtime.db.reading() as session:
            return {(host.name, host.service) for host in hosts.list_running(session)}

    services = (hosts.WEB, hosts.WORKER, hosts.SENDER)
    expected = {(host.name, service) for host in pair for service in services}
    wait_until(lambda: running() == expected, describe=running)
    audio_file_id = upload(callers[0], SPEECH.read_bytes())
    link = callers[1].get(f"/audio-files/{audio_file_id}/download-url").json()["data"]
    path = link["downloadUrl"].removeprefix(callers[1].base)
    assert callers[1].plain("GET", path).content == SPEECH.read_bytes()


def test_what_a_lost_host_was_doing_is_done_by_the_other(
    pair: tuple[TestHost, TestHost],
    callers: tuple[Caller, Caller],
    runtime: Runtime,
    receiver: Receiver,
) -> None:
    receiver.script("/hook", answers.status(200, after_s=0.3))
    subscription_id = subscribe(runtime, receiver)
    judged = count_of_evaluations(runtime)
    # Enough for both hosts.
    for _ in range(3):
        ask(callers[0], upload(callers[0], CALL.read_bytes()))
    published = publish(runtime, 100)
    _lose_a_busy_host(pair, runtime)
    received = wait_for_events(receiver, published)
    # The receiver may be behind by now, and gets several requests at once.
    assert len(received) <= len(published) + MOST_IN_FLIGHT
    assert max(attempts(runtime)) >= 2
    wait_for_judgement(runtime, judged + 3)
    assert deliveries_billed(runtime, subscription_id) == len(published)
    key_id = callers[0].key_id
    # Three uploads were reserved and requested to be processed: six calls.
    wait_until(
        lambda: calls_billed(runtime, key_id) == 6, describe=lambda: calls_billed(runtime, key_id)
    )
    with runtime.db.writing() as session:
        webhooks.remove(session, subscription_id)


def _lose_a_busy_host(pair: tuple[TestHost, TestHost], runtime: Runtime) -> None:
    """Kill a host in the midst of its work: cut off from the database first, it can't end it."""

    def is_cut_off_amid_its_work(host: TestHost) -> bool:
        if host.name not in busy_hosts(runtime):
            return False
        host.database.fall_silent()
        is_busy = host.name in busy_hosts(runtime)
        if is_busy:
            host.kill()
        host.database.recover()
        return is_busy

    wait_until(
        lambda: any(is_cut_off_amid_its_work(host) for host in pair),
        describe=lambda: pair[0].running.text,
    )


@pytest.mark.parametrize("fault", FAULTS)
def test_a_host_without_its_database_lives_and_is_not_ready(
    pair: tuple[TestHost, TestHost], callers: tuple[Caller, Caller], fault: str
) -> None:
    getattr(pair[0].database, fault)()
    wait_until(lambda: pair[0].status_of("/health/ready") == 503)
    assert pair[0].status_of("/health/live") == 200
    assert callers[0].get("/engagements").status_code == 503
    assert pair[1].status_of("/health/ready") == 200
    assert callers[1].get("/engagements").status_code == 200
    pair[0].database.recover()
    pair[0].wait_ready()
    wait_until(lambda: callers[0].get("/engagements").status_code == 200)


def test_a_database_that_restarts_loses_nothing(
    pair: tuple[TestHost, TestHost], callers: tuple[Caller, Caller], runtime: Runtime
) -> None:
    judged = count_of_evaluations(runtime)
    put_chat(callers[0], "before the restart")
    for host in pair:
        host.database.cut()
    assert callers[0].get("/conversations").status_code == 503
    for host in pair:
        host.database.recover()
    wait_until(lambda: callers[1].get("/conversations").status_code == 200)
    put_chat(callers[1], "after the restart")
    wait_for_judgement(runtime, judged + 2)


@pytest.mark.parametrize("fault", FAULTS)
def test_without_redis_work_goes_on_and_a_revoked_key_is_refused_at_once(
    pair: tuple[TestHost, TestHost], callers: tuple[Caller, Caller], runtime: Runtime, fault: str
) -> None:
    revoked = make_caller(runtime, pair[0].base)
    assert revoked.get("/engagements").status_code == 200
    for host in pair:
        getattr(host.redis, fault)()
    assert callers[0].get("/engagements").status_code == 200
    path = f"/api-keys/{revoked.key_id}"
    assert callers[1].delete(path).status_code == 204
    assert revoked.get("/engagements").status_code == 401
    revoked.close()
    judged = count_of_evaluations(runtime)
    put_chat(callers[0], f"without Redis: {fault}")
    wait_for_judgement(runtime, judged + 1)
    nonce = {"nonce": uuid4().hex, "timestamp": int(time.time())}
    assert callers[0].get("/engagements", **nonce).status_code == 200
    replayed = Caller(pair[1].base, callers[0].api_key, callers[0].secret)
    assert error_code(replayed.get("/engagements", **nonce)) == "INVALID_SIGNATURE"
    replayed.close()
    assert pair[0].status_of("/health/ready") == 200


@pytest.mark.nightly("waits for a minute")
def test_a_storage_that_is_not_mounted_fails_no_recording(
    pair: tuple[TestHost, TestHost],
    callers: tuple[Caller, Caller],
    runtime: Runtime,
    shared: Shared,
) -> None:
    audio_file_id = upload(callers[0], CALL.read_bytes())
    storage = Path(urlsplit(shared.storage_url).path)
    away = storage.with_name("away")
    reserved = reserve(callers[0], 1000)
    storage.rename(away)
    try:
        ask(callers[0], audio_file_id)
        assert send(reserved, bytes(1000)).status_code == 503
        wait_until(lambda: was_put_off(runtime))
    finally:
        away.rename(storage)
    assert attempts(runtime)
    assert show(callers[1], audio_file_id)["status"] == "processed"


@pytest.mark.nightly("waits for a minute")
def test_a_host_with_a_wrong_clock_is_not_ready_and_takes_no_job(
    pair: tuple[TestHost, TestHost],
    callers: tuple[Caller, Caller],
    runtime: Runtime,
    receiver: Receiver,
) -> None:
    assert pair[1].running.stop() == 0
    pair[1].start(clock_ahead_s=30)
    wait_until(lambda: pair[1].status_of("/health/live") == 200)
    wait_until(lambda: pair[1].status_of("/health") == 200)
    assert pair[1].status_of("/health/ready") == 503
    subscription_id = subscribe(runtime, receiver)
    ask(callers[0], upload(callers[0], CALL.read_bytes()))
    published = publish(runtime, 20)
    assert sorted(wait_for_events(receiver, published)) == sorted(published)
    assert attempts(runtime)[-1] == 1
    with runtime.db.writing() as session:
        webhooks.remove(session, subscription_id)
    assert pair[1].running.stop() == 0


def test_a_rolling_restart_fails_no_request(
    pair: tuple[TestHost, TestHost], runtime: Runtime
) -> None:
    balancer = Balancer(pair)
    balancer.start(lambda base: make_caller(runtime, base))
    for host in pair:
        port = host.running.port
        assert host.running.stop() == 0
        host.start(port=port)
        host.wait_ready()
    statuses = balancer.stop()
    assert set(statuses) == {201}


@pytest.mark.nightly("waits for half a minute")
def test_a_host_with_another_queue_server_is_not_ready(
    pair: tuple[TestHost, TestHost], runtime: Runtime
) -> None:
    first, second = pair
    second.kill()
    second.start(CQE_REDIS_URL="none", CQE_WORKER_ROLES="audio")
    callers = [make_caller(runtime, host.base) for host in pair]
    wait_until(lambda: second.status_of("/health/live") == 200)
    wait_until(lambda: second.status_of("/health/ready") == 503)
    assert second.running.health()["checks"]["sharedQueue"] == "failing"
    assert second.running.health()["checks"]["queue"] == "ok"
    assert first.status_of("/health/ready") == 200
    assert first.running.health()["checks"]["sharedQueue"] == "ok"
    for host in pair:
        (line,) = [line for line in doctor_of(host).splitlines() if "shared queue" in line]
        assert line.startswith("fail"), line
        assert "first / second" in line or "second / first" in line
        assert "set CQE_REDIS_URL of all hosts" in line
    # A proxy that does not ask: half of the limit for each of two hosts, and revoked keys are known.
    shared_out = str(Settings().rate_limit_default.limit // 2)
    wait_until(lambda: callers[1].get("/engagements").headers["X-RateLimit-Limit"] == shared_out)
    assert callers[0].delete(f"/api-keys/{callers[1].key_id}").status_code == 204
    assert callers[1].get("/engagements").status_code == 401
    second.kill()
    second.start()
    second.wait_ready()
    assert "ok    shared queue" in doctor_of(first)


@pytest.mark.nightly("waits for half a minute")
def test_hosts_share_a_queue_server_that_forgets_everything_or_is_away(
    pair: tuple[TestHost, TestHost], redis_port: int
) -> None:
    # By their second beat, hosts that have just started know the server.
    time.sleep(2 * BEAT_EVERY_S)
    with contextlib.closing(Redis(port=redis_port)) as redis:
        before = redis.get("cqe:server")
        redis.flushall()
        until = time.monotonic() + 2 * BEAT_EVERY_S
        while time.monotonic() < until:
            assert {host.status_of("/health/ready") for host in pair} == {200}
        assert redis.get("cqe:server") == before
    pair[1].redis.cut()
    wait_until(lambda: pair[1].running.health()["checks"]["queue"] == "failing")
    assert {host.status_of("/health/ready") for host in pair} == {200}


def doctor_of(host: TestHost) -> str:
    """Return what `doctor` prints on a host."""
    command = [sys.executable, "-P", "-m", "app.cli", "doctor"]
    told = subprocess.run(
        command, env=host.running.environment, capture_output=True, text=True, check=False
    )
    return told.stdout
