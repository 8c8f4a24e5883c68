"""Where a kill may fall, one row each: real processes, killed right there, then all is counted."""

import fcntl
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
import requests
from sqlalchemy import func, select

from app.api_keys import service as api_keys
from app.core.clock import utc_now
from app.events.models import Event
from app.webhooks.models import Delivery
from tests import receiver as answers
from tests import toll
from tests.caller import Caller
from tests.receiver import Receiver
from tests.sending import Desk
from tests.web_process import WebProcess

MakeDesk = Callable[..., Desk]


def rotate(desk: Desk, web: WebProcess) -> requests.Response:
    """Rotate a key over the API; an event tells of it."""
    with desk.parts.db.writing() as session:
        issued = api_keys.create_key(session, desk.parts.keyring, name="one", scopes=["*"])
    caller = Caller(web.base, issued.pair.api_key, issued.pair.secret)
    try:
        return caller.post(f"/api-keys/{issued.key.id}/rotate", {})
    finally:
        caller.close()


def rotate_and_kill(desk: Desk, halt_at: str) -> list[object]:
    """Rotate a key at a server that is killed at a commit; return what the caller saw."""
    web = desk.start_web(HALT_AT=halt_at)
    seen: list[object] = []

    def call() -> None:
        try:
            seen.append(rotate(desk, web).status_code)
        except requests.RequestException as error:
            seen.append(error)

    caller = threading.Thread(target=call)
    caller.start()
    desk.wait_for_halt("web.log")
    web.kill()
    caller.join()
    return seen


def events(desk: Desk) -> int:
    with desk.parts.db.reading() as session:
        return session.scalar(select(func.count()).select_from(Event)) or 0


def account(desk: Desk, receiver: Receiver) -> toll.Toll:
    """Wait until all is settled and count."""
    until = time.monotonic() + 30
    while toll.open_deliveries(desk.parts.db):
        assert time.monotonic() < until, desk.log()
        time.sleep(0.02)
    with desk.parts.db.reading() as session:
        known = session.scalars(select(Event.id)).all()
    return toll.take(desk.parts.db, known, receiver.received())


def test_web_killed_before_the_commit_means_no_event_and_an_error(
    desk: Desk, receiver: Receiver
) -> None:
    desk.subscribe(receiver.url())
    desk.start_sender()
    [seen] = rotate_and_kill(desk, "before_commit:1")
    assert isinstance(seen, requests.ConnectionError)
    assert events(desk) == 0
    assert rotate(desk, desk.start_web()).status_code == 200
    receiver.wait_for(1)
    assert account(desk, receiver).received == 1


def test_web_killed_after_the_commit_and_before_the_bell_is_swept(
    desk: Desk, receiver: Receiver
) -> None:
    desk.subscribe(receiver.url())
    desk.start_sender()
    [seen] = rotate_and_kill(desk, "after_commit:1")
    # The caller cannot know, and may ask again; what is in the table is sent all the same.
    assert isinstance(seen, requests.ConnectionError)
    assert events(desk) == 1
    receiver.wait_for(1)
    found = account(desk, receiver)
    assert found.fair
    assert found.duplicates == 0


def test_sender_killed_between_claim_and_request_sends_once_and_counts_nothing(
    desk: Desk, receiver: Receiver
) -> None:
    subscription_id, _ = desk.subscribe(receiver.url())
    desk.publish()
    first = desk.start_sender(HALT_AT="after_commit:1")
    desk.wait_for_halt("sender.log")
    first.kill()
    assert receiver.received() == []
    [cut_off] = desk.history(subscription_id)
    assert (cut_off["status"], cut_off["attempt_count"]) == ("delivering", 0)
    desk.start_sender()
    desk.wait_for_status(subscription_id, "succeeded")
    found = account(desk, receiver)
    assert found.fair
    assert (found.received, found.most_attempts) == (1, 1)


def test_sender_killed_between_the_answer_and_its_commit_sends_one_duplicate(
    desk: Desk, receiver: Receiver
) -> None:
    subscription_id, _ = desk.subscribe(receiver.url())
    desk.publish()
    first = desk.start_sender(HALT_AT="commit:2")
    receiver.wait_for(1)
    desk.wait_for_halt("sender.log")
    first.kill()
    desk.start_sender()
    desk.wait_for_status(subscription_id, "succeeded")
    found = account(desk, receiver)
    assert found.fair
    assert (found.duplicates, found.most_attempts) == (1, 1)


def test_a_locked_database_is_waited_for(desk: Desk, receiver: Receiver) -> None:
    if not desk.parts.settings.is_sqlite:
        pytest.skip("a lock of SQLite")
    desk.subscribe(receiver.url())
    desk.start_sender()
    desk.publish()
    receiver.wait_for(1)
    blocker = sqlite3.connect(desk.parts.settings.data_dir / "cqe.db", isolation_level=None)
    desk.publish()
    blocker.execute("BEGIN IMMEDIATE")
    time.sleep(1)
    blocker.execute("COMMIT")
    blocker.close()
    receiver.wait_for(2)
    found = account(desk, receiver)
    assert found.fair
    assert found.duplicates == 0


def test_a_lease_runs_from_the_claim_however_long_it_waited_for_a_lock(
    make_desk: MakeDesk, receiver: Receiver
) -> None:
    desk = make_desk(webhook_timeout_s=5.0)
    if not desk.parts.settings.is_sqlite:
        pytest.skip("a lock of SQLite")
    desk.subscribe(receiver.script("/hook", answers.hang))
    desk.publish()
    file = desk.parts.settings.data_dir / "cqe.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as blocker:
        blocker.execute("BEGIN IMMEDIATE")
        desk.start_sender()
        wait_for_a_writer(file.with_name("cqe.db.lock"))
        time.sleep(0.3)
        released_at = utc_now()
        blocker.execute("COMMIT")
    receiver.wait_for(1)
    with desk.parts.db.reading() as session:
        lease_until = session.scalars(select(Delivery.lease_until)).one()
    assert lease_until is not None
    assert lease_until - released_at >= timedelta(seconds=25)


def wait_for_a_writer(turn_file: Path) -> None:
    """Wait until a process has its turn to write."""
    until = time.monotonic() + 30
    with turn_file.open("a") as turn:
        while time.monotonic() < until:
            try:
                fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            fcntl.flock(turn, fcntl.LOCK_UN)
            time.sleep(0.01)
    raise AssertionError("nobody writes")


def test_a_full_disk_stops_the_claim_before_the_request(desk: Desk, receiver: Receiver) -> None:
    if not desk.parts.settings.is_sqlite:
        pytest.skip("the file size limit of a process that writes the file itself")
    desk.subscribe(receiver.url())
    sender = desk.start_sender()
    desk.publish()
    receiver.wait_for(1)
    before = sender.limit_file_size(8192)
    desk.publish(3)
    desk.wait_for_log("busy or away")
    assert len(receiver.received()) == 1
    assert sender.process.poll() is None
    sender.limit_file_size(before)
    receiver.wait_for(4)
    found = account(desk, receiver)
    assert found.fair
    assert found.duplicates == 0


def test_a_disk_that_is_full_when_the_answer_comes_delays_its_record_alone(
    make_desk: MakeDesk, receiver: Receiver
) -> None:
    desk = make_desk(webhook_timeout_s=5.0)
    if not desk.parts.settings.is_sqlite:
        pytest.skip("the file size limit of a process that writes the file itself")
    receiver.script("/hook", answers.status(200, after_s=0.3))
    subscription_id, _ = desk.subscribe(receiver.url())
    desk.publish()
    sender = desk.start_sender()
    receiver.wait_for(1)
    before = sender.limit_file_size(8192)
    time.sleep(1.5)
    assert desk.history(subscription_id)[0]["status"] == "delivering"
    sender.limit_file_size(before)
    desk.wait_for_status(subscription_id, "succeeded")
    found = account(desk, receiver)
    assert found.fair
    assert found.duplicates == 0
