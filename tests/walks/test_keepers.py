"""Keepers on two hosts: the tasks of one of them take longer than its lease."""

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import select

from app.core.clock import utc_now
from app.core.hosts import Keeper, KeeperLease
from app.core.runtime import Runtime
from app.core.settings import Settings
from app.operations.processes.metrics import registry_of
from app.operations.processes.workers import PeriodicTask, run_tasks
from app.wiring import build_runtime
from tests.forked import ForkedProcess
from tests.sender_process import environment_of
from tests.waiting import wait_until

pytestmark = pytest.mark.postgresql_only("SQLite has one host, without leases")


def keep_with_a_long_task(is_running: Path) -> None:
    """Run the periodic tasks, of which the only one runs until a file is removed."""

    def task(_: Runtime) -> None:
        is_running.touch()
        wait_until(lambda: not is_running.exists())

    run_tasks(build_runtime(Settings.from_env(os.environ)), [PeriodicTask("long", 3600, task)])


@pytest.fixture
def runtime(make_settings: Callable[..., Settings]) -> Iterator[Runtime]:
    runtime = build_runtime(make_settings())
    yield runtime
    runtime.db.engine.dispose()


@pytest.fixture
def other_host(
    make_settings: Callable[..., Settings], tmp_path: Path
) -> Iterator[tuple[ForkedProcess, Path]]:
    """Another host, in the middle of its task, and the file that says so."""
    environment = environment_of(make_settings(), CQE_HOST_ID="other")
    is_running, log = tmp_path / "is-running", tmp_path / "other.log"
    process = ForkedProcess(keep_with_a_long_task, is_running, environment=environment, output=log)
    wait_until(is_running.exists, describe=log.read_text)
    yield process, is_running
    process.kill()


def lease_end(runtime: Runtime) -> float:
    with runtime.db.reading() as session:
        until = session.scalars(select(KeeperLease.until).where(KeeperLease.name == "tasks")).one()
    return until.timestamp()


def test_a_lease_is_renewed_while_a_task_runs(
    runtime: Runtime, other_host: tuple[ForkedProcess, Path]
) -> None:
    process, is_running = other_host
    here = Keeper(runtime.db, "tasks")
    until = lease_end(runtime)
    wait_until(lambda: lease_end(runtime) > until)
    assert is_running.exists()
    assert not here.take_or_renew()
    is_running.unlink()
    process.terminate()
    assert process.wait() == 0
    # A keeper that ends properly steps down.
    assert Keeper(runtime.db, "tasks").take_or_renew()


def test_one_host_reports_what_the_database_says(runtime: Runtime) -> None:
    def reports() -> bool:
        registry = registry_of(runtime, Keeper(runtime.db, "figures"))
        return any(metric.name == "cqe_jobs_due" for metric in registry.collect())

    def lease_of_another_host(ends_in: timedelta) -> None:
        with runtime.db.writing() as session:
            lease = KeeperLease(name="figures", holder="other:1:1", until=utc_now() + ends_in)
            session.merge(lease)

    lease_of_another_host(timedelta(minutes=1))
    assert not reports()
    lease_of_another_host(timedelta(0))
    assert reports()
