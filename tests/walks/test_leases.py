"""Leases of deliveries: who owns a claim, and when another sender may reclaim it."""

import os
import subprocess
import sys
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event

from app.core.clock import utc_now
from app.core.process import owner
from app.webhooks.models import Delivery
from app.webhooks.sender import claims
from tests.webhook_harness import LEASE, WebhookHarness

pytestmark = pytest.mark.sql

HERE = owner.this_process()


@pytest.fixture
def due(harness: WebhookHarness) -> WebhookHarness:
    """One delivery that is due."""
    harness.subscribe("https://example.com/")
    harness.publish()
    return harness


def claim(harness: WebhookHarness, owner: str = HERE) -> list[claims.Claim]:
    return harness.claim(owner=owner)


def orphans(harness: WebhookHarness, *held: str, after_s: float = 0, owner: str = HERE) -> int:
    now = utc_now() + timedelta(seconds=after_s)
    with harness.runtime.db.reading() as session:
        return len(claims.list_orphaned(session, owner=owner, queued=set(held), now=now))


def name_of_a_dead_process() -> str:
    ended = subprocess.run(
        [sys.executable, "-c", "from app.core.process import owner; print(owner.this_process())"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": "."},
    )
    return ended.stdout.strip()


def test_a_delivery_is_claimed_once(due: WebhookHarness) -> None:
    assert len(claim(due)) == 1
    assert claim(due) == []


def test_a_delivery_that_this_process_works_on_is_never_an_orphan(due: WebhookHarness) -> None:
    [claimed] = claim(due)
    assert orphans(due, claimed.delivery_id, after_s=3600) == 0


def test_a_claim_that_this_process_does_not_know_is_an_orphan_when_its_lease_ends(
    due: WebhookHarness,
) -> None:
    claim(due)
    assert orphans(due, after_s=29) == 0
    assert orphans(due, after_s=31) == 1


def test_a_living_process_of_this_host_keeps_its_claims_when_the_clock_jumps(
    due: WebhookHarness,
) -> None:
    claim(due)
    assert orphans(due, after_s=300, owner="another") == 0
    assert orphans(due, after_s=700, owner="another") == 1


def test_the_claims_of_a_dead_process_are_orphans_at_once(due: WebhookHarness) -> None:
    claim(due, name_of_a_dead_process())
    assert orphans(due) == 1


def test_a_process_with_a_reused_pid_is_another_process(due: WebhookHarness) -> None:
    host, pid, started = HERE.split(":")
    claim(due, f"{host}:{pid}:{int(started) - 1}")
    assert orphans(due) == 1


def test_the_claims_of_another_host_are_orphans_when_their_lease_ends(due: WebhookHarness) -> None:
    claim(due, "elsewhere:1:1")
    assert orphans(due) == 0
    assert orphans(due, after_s=31) == 1


def test_a_reclaimed_attempt_is_not_counted_and_pauses_from_the_fifth_on(
    due: WebhookHarness,
) -> None:
    for number in range(1, 7):
        [claimed] = claim(due, "elsewhere:1:1")
        assert claimed.attempt == 1
        now = utc_now()
        with due.runtime.db.writing() as session:
            orphaned = claims.list_orphaned(session, owner=HERE, queued=set(), now=now + LEASE * 2)
            claims.reclaim(session, orphaned, now=now)
            delivery = session.get_one(Delivery, claimed.delivery_id)
            assert delivery.attempts == 0
            assert delivery.interruptions == number
            assert (delivery.due_at > now) == (number > 5)
            delivery.due_at = now


def test_a_released_delivery_is_as_it_was_before_its_claim(due: WebhookHarness) -> None:
    [claimed] = claim(due)
    with due.runtime.db.writing() as session:
        claims.release(session, [claimed])
        delivery = session.get_one(Delivery, claimed.delivery_id)
        assert (delivery.state, delivery.attempts) == ("pending", 0)
        assert delivery.interruptions == 0
        assert not delivery.metered
    assert len(claim(due)) == 1


@pytest.mark.sqlite_only("the planner of SQLite")
def test_listing_orphans_reads_no_finished_delivery(due: WebhookHarness) -> None:
    plans: list[str] = []

    def explain(connection: Any, _: Any, statement: str, parameters: Any, *__: Any) -> None:
        driver = connection.connection.driver_connection
        plans.extend(
            row[3] for row in driver.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
        )

    event.listen(due.runtime.db.engine, "before_cursor_execute", explain)
    assert orphans(due) == 0
    assert [step for step in plans if "ix_webhook_deliveries_leased" not in step] == []
    assert plans
