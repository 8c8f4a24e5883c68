"""Who holds a delivery, and when another may take it over."""

import os
import subprocess
import sys
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event

from app.core.clock import utc_now
from app.core.process import owner
from app.webhooks import claims, handover
from app.webhooks.models import Delivery
from tests.sending import LEASE, Desk

HERE = owner.this_process()


@pytest.fixture
def due(desk: Desk) -> Desk:
    """One delivery that is due."""
    desk.subscribe("https://example.com/")
    desk.publish()
    return desk


def take(desk: Desk, holder: str = HERE) -> list[claims.Claim]:
    return desk.claim(holder=holder)


def lost(desk: Desk, *held: str, after_s: float = 0, holder: str = HERE) -> int:
    now = utc_now() + timedelta(seconds=after_s)
    with desk.parts.db.reading() as session:
        return len(handover.lost(session, holder=holder, held=set(held), now=now))


def name_of_an_ended_process() -> str:
    found = subprocess.run(
        [sys.executable, "-c", "from app.core.process import owner; print(owner.this_process())"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": "."},
    )
    return found.stdout.strip()


def test_a_claim_is_taken_once(due: Desk) -> None:
    assert len(take(due)) == 1
    assert take(due) == []


def test_what_is_in_hand_is_never_lost(due: Desk) -> None:
    [claim] = take(due)
    assert lost(due, claim.delivery_id, after_s=3600) == 0


def test_what_this_process_forgot_is_lost_with_its_lease(due: Desk) -> None:
    take(due)
    assert lost(due, after_s=29) == 0
    assert lost(due, after_s=31) == 1


def test_a_living_process_of_this_host_keeps_its_claims_when_the_clock_jumps(due: Desk) -> None:
    take(due)
    assert lost(due, after_s=300, holder="another") == 0
    assert lost(due, after_s=700, holder="another") == 1


def test_an_ended_process_loses_its_claims_at_once(due: Desk) -> None:
    take(due, name_of_an_ended_process())
    assert lost(due) == 1


def test_a_pid_that_was_given_again_is_another_process(due: Desk) -> None:
    host, pid, started = HERE.split(":")
    take(due, f"{host}:{pid}:{int(started) - 1}")
    assert lost(due) == 1


def test_another_host_loses_its_claims_with_the_lease(due: Desk) -> None:
    take(due, "elsewhere:1:1")
    assert lost(due) == 0
    assert lost(due, after_s=31) == 1


def test_a_take_over_counts_no_attempt_and_rests_from_the_fifth_on(due: Desk) -> None:
    for number in range(1, 7):
        [claim] = take(due, "elsewhere:1:1")
        assert claim.attempt == 1
        now = utc_now()
        with due.parts.db.writing() as session:
            found = handover.lost(session, holder=HERE, held=set(), now=now + LEASE * 2)
            handover.take_over(session, found, now=now)
            delivery = session.get_one(Delivery, claim.delivery_id)
            assert delivery.attempts == 0
            assert delivery.interruptions == number
            assert (delivery.due_at > now) == (number > 5)
            delivery.due_at = now


def test_a_claim_that_is_handed_back_is_as_it_was(due: Desk) -> None:
    [claim] = take(due)
    with due.parts.db.writing() as session:
        handover.hand_back(session, [claim])
        delivery = session.get_one(Delivery, claim.delivery_id)
        assert (delivery.state, delivery.attempts) == ("pending", 0)
        assert delivery.interruptions == 0
        assert not delivery.metered
    assert len(take(due)) == 1


def test_looking_for_what_is_lost_reads_no_finished_delivery(due: Desk) -> None:
    if not due.parts.settings.is_sqlite:
        pytest.skip("the planner of SQLite")
    plans: list[str] = []

    def explain(connection: Any, _: Any, statement: str, parameters: Any, *__: Any) -> None:
        driver = connection.connection.driver_connection
        plans.extend(
            row[3] for row in driver.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
        )

    event.listen(due.parts.db.engine, "before_cursor_execute", explain)
    assert lost(due) == 0
    assert [each for each in plans if "ix_webhook_deliveries_leased" not in each] == []
    assert plans
