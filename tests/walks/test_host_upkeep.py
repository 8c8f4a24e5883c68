"""Upkeep of several hosts: what each does for itself, and what two may do at the same time."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import select, text

from app.conversations.models import Conversation
from app.core.database.session import Database
from app.core.ids import new_id
from app.core.runtime import Runtime
from app.core.settings import Settings
from app.core.storage import deployment
from app.privacy.jobs import repeat_erasures
from app.privacy.models import Erasure
from app.privacy.records import ErasureBatch, ErasureRecords
from app.wiring import build_runtime
from tests.caller import Caller
from tests.contacts import HELPFUL, put_chat
from tests.forked import ForkedProcess
from tests.sender_process import environment_of
from tests.waiting import wait_until
from tests.webhook_harness import WebhookHarness

pytestmark = pytest.mark.postgresql_only("SQLite has one host")


def repeat_erasures_on_a_host() -> None:
    repeat_erasures(build_runtime(Settings.from_env(os.environ)))


@pytest.fixture
def start_repeating(runtime: Runtime, tmp_path: Path) -> Iterator[Callable[[str], ForkedProcess]]:
    """Start a host of this name that repeats erasures."""
    started: list[ForkedProcess] = []

    def start(name: str) -> ForkedProcess:
        environment = environment_of(runtime.settings, CQE_HOST_ID=name)
        output = tmp_path / f"{name}.log"
        host = ForkedProcess(repeat_erasures_on_a_host, environment=environment, output=output)
        started.append(host)
        return host

    yield start
    for process in started:
        process.kill()


def waiting_for_locks(db: Database) -> int:
    with db.reading() as session:
        activity = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        return session.scalar(text(f"{activity} AND wait_event_type = 'Lock'")) or 0


def test_two_hosts_that_repeat_an_erasure_at_once_do_it_once(
    client: Caller, runtime: Runtime, start_repeating: Callable[[str], ForkedProcess]
) -> None:
    erased = [put_chat(client, f"chat-{number}")["id"] for number in range(3)]
    erasure_id = new_id("era")
    # As after a restore: there is the record of an erasure that the database does not know.
    ErasureRecords.of(runtime).add(erasure_id, ErasureBatch("conversations", erased))
    with runtime.db.writing() as session:
        deployment.lock(session)
        hosts = [start_repeating(name) for name in ("first", "second")]
        wait_until(lambda: waiting_for_locks(runtime.db) == len(hosts))
    assert [host.wait() for host in hosts] == [0, 0]
    with runtime.db.reading() as session:
        [erasure] = session.scalars(select(Erasure))
        erased_at = session.scalars(select(Conversation.erased_at)).all()
    assert (erasure.id, erasure.counts["conversations"]) == (erasure_id, len(erased))
    assert len(erased_at) == len(erased)
    assert None not in erased_at
    shown = client.get(f"/conversations/{erased[0]}/messages").text
    assert HELPFUL[0][1] not in shown


def test_a_web_host_without_a_worker_deletes_what_interrupted_uploads_left(
    harness: WebhookHarness,
) -> None:
    storage = harness.runtime.settings.data_dir / "storage"
    storage.mkdir(exist_ok=True)
    old, new = storage / ".old.part", storage / ".new.part"
    for file, age_days in ((old, 2), (new, 0)):
        file.write_bytes(b"half")
        modified_at = time.time() - age_days * 86_400
        os.utime(file, (modified_at, modified_at))
    harness.start_web()
    wait_until(lambda: not old.exists(), describe=(harness.folder / "web.log").read_text)
    assert new.exists()
