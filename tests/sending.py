"""What the walks of the sender share: subscriptions, events, and a look into the history."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.database.paging import PageRequest
from app.core.runtime import Runtime
from app.core.settings import Settings
from app.events import outbox
from app.events.catalogue import EventType
from app.events.payloads import ApiKeyRotated
from app.webhooks import claims, deliveries, history, service
from app.webhooks.models import Subscription
from app.wiring import build_runtime
from tests import halting
from tests.receiver import Receiver, write_ca_bundle
from tests.sender_process import SenderProcess, environment_of
from tests.web_process import WebProcess

LEASE = timedelta(seconds=30)
LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))


@dataclass
class Desk:
    """The service's side of the walks: the database, and senders in processes of their own."""

    runtime: Runtime
    folder: Path
    senders: list[SenderProcess] = field(default_factory=list)
    webs: list[WebProcess] = field(default_factory=list)

    def start_sender(self, **variables: Any) -> SenderProcess:
        environment = environment_of(self.runtime.settings, **variables)
        sender = SenderProcess(environment, self.folder / "sender.log")
        self.senders.append(sender)
        return sender

    def start_web(self, **variables: Any) -> WebProcess:
        environment = environment_of(self.runtime.settings, **variables)
        web = WebProcess(environment, self.folder / "web.log")
        self.webs.append(web)
        return web

    def wait_for_halt(self, log: str) -> None:
        """Wait until a process stands still where `HALT_AT` says."""
        until = time.monotonic() + 30
        while halting.WORD not in (self.folder / log).read_text():
            assert time.monotonic() < until, (self.folder / log).read_text()
            time.sleep(0.02)

    def wait_for_log(self, words: str) -> None:
        """Wait until a sender has logged these words."""
        until = time.monotonic() + 30
        while words not in self.log():
            assert time.monotonic() < until, self.log()
            time.sleep(0.02)

    def log(self) -> str:
        return (self.folder / "sender.log").read_text()

    def subscribe(self, url: str) -> tuple[str, str]:
        """Return the id and the secret of a subscription to one type."""
        with self.runtime.db.writing() as session:
            made = service.create(
                session, self.runtime.keyring, url=url, events=[EventType.API_KEY_ROTATED]
            )
        return made["id"], made["signing_secret"]

    def change(self, subscription_id: str, **changes: Any) -> None:
        with self.runtime.db.writing() as session:
            service.change(session, subscription_id, changes)

    def publish(self, count: int = 1) -> list[str]:
        """Publish events, each in a transaction of its own; return their ids."""
        return [self._publish_one() for _ in range(count)]

    def publish_in(self, session: Session) -> str:
        """Publish an event in a transaction of the caller's."""
        data = ApiKeyRotated(
            key_id="key_1",
            name="schlüssel",
            rotated_at="2026-11-21T09:30:00.000Z",
            previous_credential_expires_at=None,
        )
        return outbox.publish(session, EventType.API_KEY_ROTATED, data).id

    def delete(self, subscription_id: str) -> None:
        with self.runtime.db.writing() as session:
            service.remove(session, subscription_id)

    def claim(self, *, holder: str) -> list[claims.Claim]:
        """Claim what is due to the one subscription, as a sender of that name does."""
        with self.runtime.db.writing() as session:
            [receiver] = claims.receivers(session)
            return claims.claim(
                session, receiver, limit=10, now=utc_now(), holder=holder, lease=LEASE
            )

    def _publish_one(self) -> str:
        with self.runtime.db.writing() as session:
            return self.publish_in(session)

    def history(self, subscription_id: str) -> list[dict[str, Any]]:
        """Return all deliveries, the oldest first."""
        with self.runtime.db.reading() as session:
            request = PageRequest(page_size=100, sort="created_at")
            return list(history.list_page(session, subscription_id, request).items)

    def subscription(self, subscription_id: str) -> Subscription:
        with self.runtime.db.reading() as session:
            return session.get_one(Subscription, subscription_id)

    def wait_until(
        self,
        subscription_id: str,
        ready: Callable[[list[dict[str, Any]]], bool],
        *,
        within_s: float = 30,
    ) -> list[dict[str, Any]]:
        """Wait for a state of the history and return it."""
        until = time.monotonic() + within_s
        while not ready(found := self.history(subscription_id)):
            assert time.monotonic() < until, f"{found}\n{self.log()}"
            time.sleep(0.02)
        return found

    def wait_for_status(self, subscription_id: str, status: str, **how: Any) -> dict[str, Any]:
        """Wait until the first delivery has a status and return it."""
        return self.wait_until(subscription_id, lambda found: found[0]["status"] == status, **how)[
            0
        ]

    def close(self) -> None:
        for process in (*self.senders, *self.webs):
            process.close()
        self.runtime.db.engine.dispose()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A healthy receiver over HTTPS, until its script says otherwise."""
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture
def make_desk(
    make_settings: Callable[..., Settings], tmp_path: Path
) -> Iterator[Callable[..., Desk]]:
    """Build the service's side, with short delays; keyword arguments change the settings."""
    made: list[Desk] = []

    def make(**changes: Any) -> Desk:
        values: dict[str, Any] = {
            "webhook_allowed_cidrs": LOOPBACK,
            "webhook_ca_bundle": write_ca_bundle(tmp_path),
            "webhook_retry_delays_s": (0.1, 0.1),
            "webhook_timeout_s": 0.6,
        }
        outbox.on_publish(deliveries.fan_out)
        desk = Desk(build_runtime(make_settings(**{**values, **changes})), tmp_path)
        made.append(desk)
        return desk

    yield make
    for desk in made:
        desk.close()


@pytest.fixture
def desk(make_desk: Callable[..., Desk]) -> Desk:
    """The service's side with the settings of these walks."""
    return make_desk()
