"""Stage of the webhook benches: the service's side, with its history, and receivers in another process."""

import multiprocessing
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from ipaddress import ip_network
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import insert

from app.core.clock import utc_now
from app.core.database.session import Database
from app.events import outbox
from app.events.catalogue import CATALOGUE, EventType, example_of
from app.events.models import Event
from app.webhooks import service
from app.webhooks.models import Attempt, Delivery
from bench.service import new_runtime
from tests.receiver import Receiver, hang, status, write_ca_bundle
from tests.sender_process import SenderProcess, environment_of

EVENT = EventType.EVALUATION_COMPLETED
_BATCH = 20_000
_DAYS = 29


class Receivers:
    """One HTTPS server in a process of its own; each path is a receiver.

    `/hang…` never answers, `/after100` answers after 100 ms, any other at once.
    """

    def __init__(self, folder: Path) -> None:
        ours, theirs = multiprocessing.Pipe()
        self._pipe = ours
        self._process = multiprocessing.get_context("fork").Process(
            target=_receive, args=(folder, theirs), daemon=True
        )
        self._process.start()
        self._port: int = ours.recv()

    def url(self, path: str) -> str:
        return f"https://localhost:{self._port}{path}"

    def count(self) -> int:
        """Return how many requests came in, except those that hang."""
        self._pipe.send("count")
        return int(self._pipe.recv())

    def arrivals(self) -> dict[str, list[float]]:
        """Return when each event came in, by its id, except for requests that hang."""
        self._pipe.send("arrivals")
        arrivals: dict[str, list[float]] = self._pipe.recv()
        return arrivals

    def close(self) -> None:
        self._process.terminate()
        self._process.join()


def _receive(folder: Path, pipe: Connection) -> None:
    write_ca_bundle(folder)
    receiver = Receiver()
    receiver.scripts = _Scripts()
    pipe.send(receiver.port)
    while True:
        question = pipe.recv()
        answered = [
            request for request in list(receiver.requests) if not request.path.startswith("/hang")
        ]
        if question == "count":
            pipe.send(len(answered))
            continue
        arrivals: dict[str, list[float]] = {}
        for request in answered:
            event_id = request.headers.get("x-webhook-id", "")
            arrivals.setdefault(event_id, []).append(request.at)
        pipe.send(arrivals)


class _Scripts(dict[str, Any]):
    def get(self, path: str, default: Any = None) -> Any:
        if path.startswith("/hang"):
            return [hang]
        delay_ms = int(path.removeprefix("/after")) if path.startswith("/after") else 0
        return [status(200, after_s=delay_ms / 1000)]


class Stage:
    """A database with subscriptions, and a sender when it is started."""

    def __init__(self, folder: Path, receivers: Receivers, redis_url: str) -> None:
        self.receivers = receivers
        self._log = folder / "sender.log"
        self.runtime = new_runtime(
            folder / "instance",
            redis_url=redis_url,
            sqlite_synchronous="NORMAL",
            webhook_allowed_cidrs=(ip_network("127.0.0.0/8"), ip_network("::1/128")),
            webhook_ca_bundle=str(folder / "webhook-ca.pem"),
        )

    def subscribe(self, paths: Sequence[str]) -> list[str]:
        """Create a subscription for each path; return their ids."""
        ids = []
        with self.runtime.db.writing() as session:
            for path in paths:
                url = self.receivers.url(path)
                subscription = service.create(
                    session, self.runtime.keyring, url=url, events=[EVENT]
                )
                ids.append(subscription["id"])
        return ids

    def publish(self, count: int, *, in_one: int = 1) -> dict[str, float]:
        """Publish events, `in_one` a transaction; return when each was committed, by its id."""
        committed: dict[str, float] = {}
        while len(committed) < count:
            with self.runtime.db.writing() as session:
                ids = [
                    outbox.publish(session, EVENT, CATALOGUE[EVENT].sample).id
                    for _ in range(min(in_one, count - len(committed)))
                ]
            committed.update(dict.fromkeys(ids, time.time()))
        return committed

    @contextmanager
    def sender(self) -> Iterator[SenderProcess]:
        """Run a sender; print its log, which should be empty."""
        sender = SenderProcess(environment_of(self.runtime.settings), self._log)
        try:
            yield sender
        finally:
            sender.stop()
            if told := self._log.read_text():
                print(told[-2000:])

    def wait_for(self, count: int, *, within_s: float = 300) -> None:
        """Wait until so many requests came in."""
        until = time.monotonic() + within_s
        while self.receivers.count() < count:
            if time.monotonic() > until:
                raise TimeoutError(f"{self.receivers.count()} of {count} came in")
            threading.Event().wait(0.01)


def fill(db: Database, subscription_ids: Sequence[str], count: int) -> None:
    """Write finished deliveries over the past 29 days, to measure whether they slow the sender."""
    body = orjson.dumps(example_of(EVENT))
    first = utc_now() - timedelta(days=_DAYS)
    step = timedelta(days=_DAYS) / count
    for start in range(0, count, _BATCH):
        events: list[dict[str, Any]] = []
        deliveries: list[dict[str, Any]] = []
        attempts: list[dict[str, Any]] = []
        for number in range(start, min(start + _BATCH, count)):
            at = first + number * step
            event_id, delivery_id = f"evt_{number:026d}", f"dlv_{number:026d}"
            events.append({"id": event_id, "type": EVENT.value, "occurred_at": at, "body": body})
            deliveries.append(
                {
                    "id": delivery_id,
                    "event_id": event_id,
                    "subscription_id": subscription_ids[number % len(subscription_ids)],
                    "event_type": EVENT.value,
                    "trigger": "event",
                    "state": "succeeded",
                    "attempts": 1,
                    "metered": True,
                    "due_at": at,
                    "created_at": at,
                    "finished_at": at,
                }
            )
            attempts.append(
                {
                    "delivery_id": delivery_id,
                    "number": 1,
                    "started_at": at,
                    "duration_ms": 12,
                    "url": "https://receiver.example.com/hook",
                    "ip": "203.0.113.7",
                    "status_code": 200,
                    "outcome": "success",
                    "error": None,
                    "response_excerpt": "ok",
                    "truncated": False,
                }
            )
        with db.writing() as session:
            session.execute(insert(Event), events)
            session.execute(insert(Delivery), deliveries)
            session.execute(insert(Attempt), attempts)
    if db.engine.dialect.name == "sqlite":
        # As the service does each minute; so much at once would burden what is measured next.
        with db.engine.connect() as connection:
            connection.exec_driver_sql("COMMIT")
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
