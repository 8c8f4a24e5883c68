"""Purge of delivery histories: expired rows go in small steps, pending deliveries stay."""

from datetime import timedelta

import pytest
from sqlalchemy import func, select, update

from app.core.clock import utc_now
from app.events.models import Event
from app.webhooks import history
from app.webhooks.models import Delivery, Subscription
from tests.webhook_harness import WebhookHarness

pytestmark = pytest.mark.sql


def purge_all(harness: WebhookHarness, *, limit: int = 3) -> list[int]:
    """Purge step by step, as if a day had passed; return what each step deleted."""
    steps: list[int] = []
    while not steps or steps[-1]:
        with harness.runtime.db.writing() as session:
            before = utc_now() + timedelta(days=1)
            steps.append(history.purge(session, before=before, limit=limit))
    return steps


def count(harness: WebhookHarness, table: type[Event] | type[Delivery] | type[Subscription]) -> int:
    with harness.runtime.db.reading() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def end_all(harness: WebhookHarness) -> None:
    with harness.runtime.db.writing() as session:
        session.execute(update(Delivery).values(state="succeeded", finished_at=utc_now()))


def test_an_event_goes_with_its_last_delivery_and_each_step_is_short(
    harness: WebhookHarness,
) -> None:
    for path in ("one", "two"):
        harness.subscribe(f"https://example.com/{path}")
    harness.publish(5)
    end_all(harness)
    steps = purge_all(harness)
    assert max(steps) <= 2 * 3
    assert count(harness, Delivery) == count(harness, Event) == 0
    assert count(harness, Subscription) == 2


def test_an_event_without_subscriptions_goes_too(harness: WebhookHarness) -> None:
    harness.publish(7)
    assert sum(purge_all(harness)) == 7
    assert count(harness, Event) == 0


def test_the_pending_deliveries_of_an_inactive_subscription_stay(harness: WebhookHarness) -> None:
    subscription_id, _ = harness.subscribe("https://example.com/")
    harness.publish(4)
    harness.change(subscription_id, active=False)
    purge_all(harness)
    assert count(harness, Delivery) == count(harness, Event) == 4


def test_a_deleted_subscription_goes_with_its_history(harness: WebhookHarness) -> None:
    subscription_id, _ = harness.subscribe("https://example.com/")
    harness.publish(4)
    harness.delete(subscription_id)
    assert count(harness, Delivery) == 4
    purge_all(harness)
    purge_all(harness)
    assert count(harness, Delivery) == count(harness, Event) == count(harness, Subscription) == 0
