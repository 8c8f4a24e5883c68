"""Harness for tests of the sender: subscriptions, events, senders, and the delivery history."""

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
from app.events.data import ApiKeyRotated
from app.webhooks import history, service
from app.webhooks.models import Subscription
from app.webhooks.sender import claims
from app.wiring import build_runtime
from tests import commit_halts
from tests.forked import ForkedProcess
from tests.receiver import Receiver, write_ca_bundle
from tests.sender_process import SenderProcess, environment_of, serve
from tests.waiting import wait_until
from tests.web_process import WebProcess

LEASE = timedelta(seconds=30)
LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))


@dataclass
class WebhookHarness:
    """The service's side: its database, and senders and web servers in processes of their own."""

    runtime: Runtime
    folder: Path
    senders: list[SenderProcess] = field(default_factory=list)
    webs: list[WebProcess] = field(default_factory=list)
    metrics: list[ForkedProcess] = field(default_factory=list)

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

    def start_metrics(self, listen: str) -> ForkedProcess:
        """Start a process that answers Prometheus."""
        environment = environment_of(self.runtime.settings, CQE_METRICS_LISTEN=listen)
        process = ForkedProcess(serve, environment=environment, output=self.folder / "metrics.log")
        self.metrics.append(process)
        return process

    def wait_for_halt(self, log: str) -> None:
        """Wait until a process has halted where its `HALT_AT` says."""
        file = self.folder / log
        wait_until(lambda: commit_halts.WORD in file.read_text(), describe=file.read_text)

    def wait_for_log(self, words: str) -> None:
        """Wait until a sender has logged these words."""
        wait_until(lambda: words in self.log(), describe=self.log)

    def log(self) -> str:
        return (self.folder / "sender.log").read_text()

    def subscribe(self, url: str) -> tuple[str, str]:
        """Return the id and the secret of a subscription to one type."""
        with self.runtime.db.writing() as session:
            subscription = service.create(
                session, self.runtime.keyring, url=url, events=[EventType.API_KEY_ROTATED]
            )
        return subscription["id"], subscription["signing_secret"]

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

    def claim(self, *, owner: str) -> list[claims.Claim]:
        """Claim the due deliveries of the only subscription, as a sender of that name does."""
        with self.runtime.db.writing() as session:
            [receiver] = claims.list_receivers(session)
            return claims.claim_due(
                session, receiver, limit=10, now=utc_now(), owner=owner, lease=LEASE
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
    ) -> list[dict[str, Any]]:
        """Wait for a state of the history and return it."""
        deliveries: list[dict[str, Any]] = []

        def is_ready() -> bool:
            deliveries[:] = self.history(subscription_id)
            return ready(deliveries)

        wait_until(is_ready, describe=lambda: f"{deliveries}\n{self.log()}")
        return deliveries

    def wait_for_status(self, subscription_id: str, status: str) -> dict[str, Any]:
        """Wait until the first delivery has a status and return it."""
        listed = self.wait_until(
            subscription_id, lambda deliveries: deliveries[0]["status"] == status
        )
        return listed[0]

    def close(self) -> None:
        for sender in self.senders:
            sender.kill()
        for web in self.webs:
            web.kill()
        for process in self.metrics:
            process.kill()
        self.runtime.db.engine.dispose()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A healthy receiver over HTTPS, until its script says otherwise."""
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture
def make_harness(
    make_settings: Callable[..., Settings], tmp_path: Path
) -> Iterator[Callable[..., WebhookHarness]]:
    """Build the service's side, with short delays; keyword arguments change the settings."""
    harnesses: list[WebhookHarness] = []

    def make(**changes: Any) -> WebhookHarness:
        values: dict[str, Any] = {
            "webhook_allowed_cidrs": LOOPBACK,
            "webhook_ca_bundle": write_ca_bundle(tmp_path),
            "webhook_retry_delays": (0.1, 0.1),
            # Long enough for a slow machine; a test of timeouts sets its own.
            "webhook_timeout_s": 10.0,
        }
        harness = WebhookHarness(build_runtime(make_settings(**{**values, **changes})), tmp_path)
        harnesses.append(harness)
        return harness

    yield make
    for harness in harnesses:
        harness.close()


@pytest.fixture
def harness(make_harness: Callable[..., WebhookHarness]) -> WebhookHarness:
    """The service's side with the settings of these tests."""
    return make_harness()
