"""Kill matrix: real processes killed at each point; afterwards nothing is lost or doubled."""

import fcntl
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import TextIO

import pytest
import requests
from sqlalchemy import func, select

from app.api_keys import service as api_keys
from app.core.clock import utc_now
from app.events.models import Event
from app.webhooks.models import Delivery
from tests import delivery_audit
from tests import receiver as answers
from tests.caller import Caller
from tests.receiver import Receiver
from tests.waiting import wait_until
from tests.web_process import WebProcess
from tests.webhook_harness import WebhookHarness

MakeHarness = Callable[..., WebhookHarness]


def rotate(harness: WebhookHarness, web: WebProcess) -> requests.Response:
    """Rotate a key over the API; an event tells of it."""
    with harness.runtime.db.writing() as session:
        issued = api_keys.create_key(session, harness.runtime.keyring, name="one", scopes=["*"])
    caller = Caller(web.base, issued.pair.api_key, issued.pair.secret)
    try:
        return caller.post(f"/api-keys/{issued.key.id}/rotate", {})
    finally:
        caller.close()


def rotate_and_kill(harness: WebhookHarness, halt_at: str) -> list[object]:
    """Rotate a key at a server that is killed at a commit; return what the caller saw."""
    web = harness.start_web(HALT_AT=halt_at)
    seen: list[object] = []

    def call() -> None:
        try:
            seen.append(rotate(harness, web).status_code)
        except requests.RequestException as error:
            seen.append(error)

    caller = threading.Thread(target=call)
    caller.start()
    harness.wait_for_halt("web.log")
    web.kill()
    caller.join()
    return seen


def events(harness: WebhookHarness) -> int:
    with harness.runtime.db.reading() as session:
        return session.scalar(select(func.count()).select_from(Event)) or 0


def account(harness: WebhookHarness, receiver: Receiver) -> delivery_audit.DeliveryAudit:
    """Wait until all is settled and count."""
    wait_until(
        lambda: delivery_audit.open_deliveries(harness.runtime.db) == 0, describe=harness.log
    )
    with harness.runtime.db.reading() as session:
        known = session.scalars(select(Event.id)).all()
    return delivery_audit.audit(harness.runtime.db, known, receiver.received())


def test_web_killed_before_the_commit_means_no_event_and_an_error(
    harness: WebhookHarness, receiver: Receiver
) -> None:
    harness.subscribe(receiver.url())
    harness.start_sender()
    [seen] = rotate_and_kill(harness, "before_commit:1")
    assert isinstance(seen, requests.ConnectionError)
    assert events(harness) == 0
    assert rotate(harness, harness.start_web()).status_code == 200
    receiver.wait_for(1)
    assert account(harness, receiver).received == 1


def test_web_killed_after_the_commit_and_before_the_bell_is_swept(
    harness: WebhookHarness, receiver: Receiver
) -> None:
    harness.subscribe(receiver.url())
    harness.start_sender()
    [seen] = rotate_and_kill(harness, "after_commit:1")
    # The caller cannot know, and may ask again; what is in the table is sent all the same.
    assert isinstance(seen, requests.ConnectionError)
    assert events(harness) == 1
    receiver.wait_for(1)
    audit = account(harness, receiver)
    assert audit.fair
    assert audit.duplicates == 0


def test_sender_killed_between_claim_and_request_sends_once_and_counts_nothing(
    harness: WebhookHarness, receiver: Receiver
) -> None:
    subscription_id, _ = harness.subscribe(receiver.url())
    harness.publish()
    first = harness.start_sender(HALT_AT="after_commit:1")
    harness.wait_for_halt("sender.log")
    first.kill()
    assert receiver.received() == []
    [cut_off] = harness.history(subscription_id)
    assert (cut_off["status"], cut_off["attempt_count"]) == ("delivering", 0)
    harness.start_sender()
    harness.wait_for_status(subscription_id, "succeeded")
    audit = account(harness, receiver)
    assert audit.fair
    assert (audit.received, audit.most_attempts) == (1, 1)


def test_sender_killed_between_the_answer_and_its_commit_sends_one_duplicate(
    harness: WebhookHarness, receiver: Receiver
) -> None:
    subscription_id, _ = harness.subscribe(receiver.url())
    harness.publish()
    first = harness.start_sender(HALT_AT="commit:2")
    receiver.wait_for(1)
    harness.wait_for_halt("sender.log")
    first.kill()
    harness.start_sender()
    harness.wait_for_status(subscription_id, "succeeded")
    audit = account(harness, receiver)
    assert audit.fair
    assert (audit.duplicates, audit.most_attempts) == (1, 1)


@pytest.mark.sqlite_only("a lock of SQLite")
def test_a_locked_database_is_waited_for(harness: WebhookHarness, receiver: Receiver) -> None:
    harness.subscribe(receiver.url())
    harness.start_sender()
    harness.publish()
    receiver.wait_for(1)
    blocker = sqlite3.connect(harness.runtime.settings.data_dir / "cqe.db", isolation_level=None)
    harness.publish()
    blocker.execute("BEGIN IMMEDIATE")
    time.sleep(1)
    blocker.execute("COMMIT")
    blocker.close()
    receiver.wait_for(2)
    audit = account(harness, receiver)
    assert audit.fair
    assert audit.duplicates == 0


@pytest.mark.sqlite_only("a lock of SQLite")
def test_a_lease_runs_from_the_claim_however_long_it_waited_for_a_lock(
    make_harness: MakeHarness, receiver: Receiver
) -> None:
    harness = make_harness(webhook_timeout_s=5.0)
    harness.subscribe(receiver.script("/hook", answers.hang))
    harness.publish()
    file = harness.runtime.settings.data_dir / "cqe.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as blocker:
        blocker.execute("BEGIN IMMEDIATE")
        harness.start_sender()
        wait_for_a_writer(file.with_name("cqe.db.lock"))
        time.sleep(0.3)
        released_at = utc_now()
        blocker.execute("COMMIT")
    receiver.wait_for(1)
    with harness.runtime.db.reading() as session:
        lease_until = session.scalars(select(Delivery.lease_until)).one()
    assert lease_until is not None
    assert lease_until - released_at >= timedelta(seconds=25)


def wait_for_a_writer(turn_file: Path) -> None:
    """Wait until a process has its turn to write."""
    with turn_file.open("a") as turn:
        wait_until(lambda: is_locked(turn))


def is_locked(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(file, fcntl.LOCK_UN)
    return False


@pytest.mark.sqlite_only("the file size limit of a process that writes the file itself")
def test_a_full_disk_stops_the_claim_before_the_request(
    harness: WebhookHarness, receiver: Receiver
) -> None:
    harness.subscribe(receiver.url())
    sender = harness.start_sender()
    harness.publish()
    receiver.wait_for(1)
    before = sender.limit_file_size(8192)
    harness.publish(3)
    harness.wait_for_log("wait for the database")
    assert len(receiver.received()) == 1
    assert sender.process.poll() is None
    sender.limit_file_size(before)
    receiver.wait_for(4)
    audit = account(harness, receiver)
    assert audit.fair
    assert audit.duplicates == 0


@pytest.mark.sqlite_only("the file size limit of a process that writes the file itself")
def test_a_disk_that_is_full_when_the_answer_comes_delays_its_record_alone(
    make_harness: MakeHarness, receiver: Receiver
) -> None:
    harness = make_harness(webhook_timeout_s=60.0)
    disk_is_full = threading.Event()
    receiver.script("/hook", answers.held(disk_is_full, answers.status(200)))
    subscription_id, _ = harness.subscribe(receiver.url())
    harness.publish()
    sender = harness.start_sender()
    receiver.wait_for(1)
    before = sender.limit_file_size(8192)
    disk_is_full.set()
    time.sleep(1.5)
    assert harness.history(subscription_id)[0]["status"] == "delivering"
    sender.limit_file_size(before)
    harness.wait_for_status(subscription_id, "succeeded")
    audit = account(harness, receiver)
    assert audit.fair
    assert audit.duplicates == 0
