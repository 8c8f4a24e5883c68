"""Concurrent transactions: what one decides, the other must not undo."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import func, select

from app.core.clock import utc_now
from app.core.errors import Conflict
from app.usage.models import UsageRecord
from app.webhooks import deliveries
from app.webhooks.models import Delivery, Subscription
from app.webhooks.sender import claims
from tests.webhook_harness import LEASE, WebhookHarness

pytestmark = pytest.mark.sql


def at_once(count: int, action: Callable[[], object]) -> list[object]:
    """Run an action in threads that start together; return what each returned or raised."""
    start = threading.Barrier(count)

    def run(_: int) -> object:
        start.wait()
        try:
            return action()
        except Conflict as error:
            return error

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def states(harness: WebhookHarness) -> list[str]:
    with harness.runtime.db.reading() as session:
        return list(session.scalars(select(Delivery.state).order_by(Delivery.id)))


def test_concurrent_recoveries_create_each_delivery_once(harness: WebhookHarness) -> None:
    subscription_id, _ = harness.subscribe("https://example.com/")
    harness.change(subscription_id, active=False)
    harness.publish(50)
    harness.change(subscription_id, active=True)

    def recover() -> int:
        return deliveries.recover(harness.runtime.db, subscription_id, batch_size=7)

    assert sum(int(str(count)) for count in at_once(4, recover)) == 50
    assert recover() == 0
    assert sorted(states(harness)) == ["canceled"] * 50 + ["pending"] * 50


def test_the_fifty_first_subscription_is_refused_and_a_deleted_one_makes_room(
    harness: WebhookHarness,
) -> None:
    ids = [harness.subscribe("https://example.com/")[0] for _ in range(50)]
    [refused] = at_once(1, lambda: harness.subscribe("https://example.com/"))
    assert isinstance(refused, Conflict)
    harness.delete(ids[0])
    harness.subscribe("https://example.com/")
    with harness.runtime.db.reading() as session:
        assert session.scalar(select(func.count()).select_from(Subscription)) == 51


def test_the_limit_of_fifty_holds_for_concurrent_callers(harness: WebhookHarness) -> None:
    for _ in range(47):
        harness.subscribe("https://example.com/")
    made = at_once(8, lambda: harness.subscribe("https://example.com/"))
    assert sum(isinstance(each, Conflict) for each in made) == 5
    with harness.runtime.db.reading() as session:
        assert session.scalar(select(func.count()).select_from(Subscription)) == 50


def test_an_event_concurrent_with_the_deletion_of_its_subscription_is_canceled(
    harness: WebhookHarness,
) -> None:
    subscription_id, _ = harness.subscribe("https://example.com/")
    with ThreadPoolExecutor(1) as pool:
        with harness.runtime.db.writing() as session:
            harness.publish_in(session)
            session.flush()
            deleted = pool.submit(harness.delete, subscription_id)
            threading.Event().wait(0.2)
        deleted.result(10)
    assert states(harness) == ["canceled"]


def test_publishing_does_not_wait_for_the_sender_nor_the_sender_for_it(
    harness: WebhookHarness,
) -> None:
    if harness.runtime.settings.is_sqlite:
        return  # writers take turns there, whatever they write
    subscription_id, _ = harness.subscribe("https://example.com/")
    with ThreadPoolExecutor(1) as pool, harness.runtime.db.writing() as session:
        locked = select(Subscription).with_for_update(key_share=True)
        assert session.scalars(locked).one().id == subscription_id
        pool.submit(harness.publish).result(10)
    assert states(harness) == ["pending"]


def test_a_claim_released_after_the_deletion_is_canceled(
    harness: WebhookHarness,
) -> None:
    subscription_id, _ = harness.subscribe("https://example.com/")
    harness.publish()
    claimed = harness.claim(owner="this:1:1")
    harness.delete(subscription_id)
    assert states(harness) == ["delivering"]
    with harness.runtime.db.writing() as session:
        claims.release(session, claimed)
    assert states(harness) == ["canceled"]
    with harness.runtime.db.reading() as session:
        assert session.scalars(select(Delivery.finished_at)).one() is not None


def test_a_claim_released_after_the_deactivation_is_canceled_until_a_recovery(
    harness: WebhookHarness,
) -> None:
    subscription_id, _ = harness.subscribe("https://example.com/")
    harness.publish()
    claimed = harness.claim(owner="this:1:1")
    with harness.runtime.db.writing() as session:
        row = session.get_one(Subscription, subscription_id)
        row.active, row.deactivated_at = False, utc_now()
    with harness.runtime.db.writing() as session:
        claims.release(session, claimed)
    assert states(harness) == ["canceled"]
    harness.change(subscription_id, active=True)
    assert deliveries.recover(harness.runtime.db, subscription_id) == 1


def test_a_released_claim_is_metered_when_it_is_claimed_again(harness: WebhookHarness) -> None:
    def metered() -> float:
        with harness.runtime.db.reading() as session:
            return session.scalar(select(func.sum(UsageRecord.quantity))) or 0

    subscription_id, _ = harness.subscribe("https://example.com/")
    harness.publish(3)
    for _ in range(2):
        claimed = harness.claim(owner="this:1:1")
        assert metered() == 3
        for _ in range(2):  # the second time it is no longer held
            with harness.runtime.db.writing() as session:
                claims.release(session, claimed)
        assert metered() == 0
    harness.claim(owner="this:1:1")
    harness.delete(subscription_id)
    assert metered() == 3


def test_a_claim_released_during_the_deactivation_is_canceled(
    harness: WebhookHarness,
) -> None:
    if harness.runtime.settings.is_sqlite:
        return  # writers take turns there
    harness.subscribe("https://example.com/")
    harness.publish()
    claimed = harness.claim(owner="this:1:1")

    def release() -> None:
        with harness.runtime.db.writing() as session:
            claims.release(session, claimed)

    with ThreadPoolExecutor(1) as pool:
        with harness.runtime.db.writing() as session:
            row = session.scalars(select(Subscription).with_for_update(key_share=True)).one()
            row.active, row.deactivated_at = False, utc_now()
            session.flush()
            released = pool.submit(release)
            threading.Event().wait(0.2)
        released.result(10)
    assert states(harness) == ["canceled"]


def test_nothing_is_claimed_with_a_receiver_read_before_a_change(harness: WebhookHarness) -> None:
    subscription_id, _ = harness.subscribe("https://example.com/")
    harness.publish()
    with harness.runtime.db.reading() as session:
        [read] = claims.list_receivers(session)
    harness.change(subscription_id, active=False)
    with harness.runtime.db.writing() as session:
        taken = claims.claim_due(
            session, read, limit=1, now=utc_now(), owner="this:1:1", lease=LEASE
        )
    assert taken == []
