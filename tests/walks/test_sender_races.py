"""Two at the same moment: what one transaction decides, the other must not undo."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import func, select

from app.core.clock import utc_now
from app.core.errors import Conflict
from app.usage.models import UsageRecord
from app.webhooks import claims, handover, recovery
from app.webhooks.models import Delivery, Subscription
from tests.sending import LEASE, Desk


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


def states(desk: Desk) -> list[str]:
    with desk.parts.db.reading() as session:
        return list(session.scalars(select(Delivery.state).order_by(Delivery.id)))


def test_recovery_beside_writers_makes_each_delivery_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    subscription_id, _ = desk.subscribe("https://example.com/")
    desk.change(subscription_id, active=False)
    desk.publish(50)
    desk.change(subscription_id, active=True)

    monkeypatch.setattr(recovery, "BATCH", 7)

    def recover() -> int:
        return recovery.recover(desk.parts.db, subscription_id)

    assert sum(at_once(4, recover)) == 50  # type: ignore[misc]
    assert recover() == 0
    assert sorted(states(desk)) == ["canceled"] * 50 + ["pending"] * 50


def test_the_fifty_first_subscription_is_refused_and_a_deleted_one_makes_room(desk: Desk) -> None:
    ids = [desk.subscribe("https://example.com/")[0] for _ in range(50)]
    [refused] = at_once(1, lambda: desk.subscribe("https://example.com/"))
    assert isinstance(refused, Conflict)
    desk.delete(ids[0])
    desk.subscribe("https://example.com/")
    with desk.parts.db.reading() as session:
        assert session.scalar(select(func.count()).select_from(Subscription)) == 51


def test_fifty_is_the_most_also_when_several_ask_at_once(desk: Desk) -> None:
    for _ in range(47):
        desk.subscribe("https://example.com/")
    made = at_once(8, lambda: desk.subscribe("https://example.com/"))
    assert sum(isinstance(each, Conflict) for each in made) == 5
    with desk.parts.db.reading() as session:
        assert session.scalar(select(func.count()).select_from(Subscription)) == 50


def test_an_event_beside_the_deletion_of_its_subscription_is_canceled_with_it(desk: Desk) -> None:
    subscription_id, _ = desk.subscribe("https://example.com/")
    with ThreadPoolExecutor(1) as pool:
        with desk.parts.db.writing() as session:
            desk.publish_in(session)
            session.flush()
            deleted = pool.submit(desk.delete, subscription_id)
            threading.Event().wait(0.2)
        deleted.result(10)
    assert states(desk) == ["canceled"]


def test_publishing_does_not_wait_for_the_sender_nor_the_sender_for_it(desk: Desk) -> None:
    if desk.parts.settings.is_sqlite:
        return  # writers take turns there, whatever they write
    subscription_id, _ = desk.subscribe("https://example.com/")
    with ThreadPoolExecutor(1) as pool, desk.parts.db.writing() as session:
        locked = select(Subscription).with_for_update(key_share=True)
        assert session.scalars(locked).one().id == subscription_id
        pool.submit(desk.publish).result(10)
    assert states(desk) == ["pending"]


def test_what_is_handed_back_after_the_deletion_is_canceled_for_good(desk: Desk) -> None:
    subscription_id, _ = desk.subscribe("https://example.com/")
    desk.publish()
    claimed = desk.claim(holder="this:1:1")
    desk.delete(subscription_id)
    assert states(desk) == ["delivering"]
    with desk.parts.db.writing() as session:
        handover.hand_back(session, claimed)
    assert states(desk) == ["canceled"]
    with desk.parts.db.reading() as session:
        assert session.scalars(select(Delivery.finished_at)).one() is not None


def test_what_is_handed_back_after_the_deactivation_waits_for_a_recovery(desk: Desk) -> None:
    subscription_id, _ = desk.subscribe("https://example.com/")
    desk.publish()
    claimed = desk.claim(holder="this:1:1")
    with desk.parts.db.writing() as session:
        row = session.get_one(Subscription, subscription_id)
        row.active, row.deactivated_at = False, utc_now()
    with desk.parts.db.writing() as session:
        handover.hand_back(session, claimed)
    assert states(desk) == ["canceled"]
    desk.change(subscription_id, active=True)
    assert recovery.recover(desk.parts.db, subscription_id) == 1


def test_what_is_handed_back_is_metered_when_it_is_claimed_again(desk: Desk) -> None:
    def metered() -> float:
        with desk.parts.db.reading() as session:
            return session.scalar(select(func.sum(UsageRecord.quantity))) or 0

    subscription_id, _ = desk.subscribe("https://example.com/")
    desk.publish(3)
    for _ in range(2):
        claimed = desk.claim(holder="this:1:1")
        assert metered() == 3
        for _ in range(2):  # the second time it is no longer held
            with desk.parts.db.writing() as session:
                handover.hand_back(session, claimed)
        assert metered() == 0
    desk.claim(holder="this:1:1")
    desk.delete(subscription_id)
    assert metered() == 3


def test_what_is_handed_back_beside_the_deactivation_is_canceled_too(desk: Desk) -> None:
    if desk.parts.settings.is_sqlite:
        return  # writers take turns there
    desk.subscribe("https://example.com/")
    desk.publish()
    claimed = desk.claim(holder="this:1:1")

    def hand_back() -> None:
        with desk.parts.db.writing() as session:
            handover.hand_back(session, claimed)

    with ThreadPoolExecutor(1) as pool:
        with desk.parts.db.writing() as session:
            row = session.scalars(select(Subscription).with_for_update(key_share=True)).one()
            row.active, row.deactivated_at = False, utc_now()
            session.flush()
            handed_back = pool.submit(hand_back)
            threading.Event().wait(0.2)
        handed_back.result(10)
    assert states(desk) == ["canceled"]


def test_nothing_is_claimed_on_what_was_read_before_a_change(desk: Desk) -> None:
    subscription_id, _ = desk.subscribe("https://example.com/")
    desk.publish()
    with desk.parts.db.reading() as session:
        [read] = claims.receivers(session)
    desk.change(subscription_id, active=False)
    with desk.parts.db.writing() as session:
        taken = claims.claim(session, read, limit=1, now=utc_now(), holder="this:1:1", lease=LEASE)
    assert taken == []
