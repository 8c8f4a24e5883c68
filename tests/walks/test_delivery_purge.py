"""What is over is deleted in small steps; what is still owed, or may be asked for, stays."""

from datetime import timedelta

from sqlalchemy import func, select, update

from app.core.clock import utc_now
from app.events.models import Event
from app.webhooks import history
from app.webhooks.models import Delivery, Subscription
from tests.sending import Desk


def purge_all(desk: Desk, *, limit: int = 3) -> list[int]:
    """Purge step by step, as if a day had passed; return what each step deleted."""
    steps: list[int] = []
    while not steps or steps[-1]:
        with desk.parts.db.writing() as session:
            before = utc_now() + timedelta(days=1)
            steps.append(history.purge(session, before=before, limit=limit))
    return steps


def count(desk: Desk, table: type[Event] | type[Delivery] | type[Subscription]) -> int:
    with desk.parts.db.reading() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def end_all(desk: Desk) -> None:
    with desk.parts.db.writing() as session:
        session.execute(update(Delivery).values(state="succeeded", finished_at=utc_now()))


def test_an_event_goes_with_its_last_delivery_and_each_step_is_short(desk: Desk) -> None:
    for path in ("one", "two"):
        desk.subscribe(f"https://example.com/{path}")
    desk.publish(5)
    end_all(desk)
    steps = purge_all(desk)
    assert max(steps) <= 2 * 3
    assert count(desk, Delivery) == count(desk, Event) == 0
    assert count(desk, Subscription) == 2


def test_an_event_that_nobody_subscribed_to_goes_too(desk: Desk) -> None:
    desk.publish(7)
    assert sum(purge_all(desk)) == 7
    assert count(desk, Event) == 0


def test_what_is_held_for_an_inactive_subscription_stays(desk: Desk) -> None:
    subscription_id, _ = desk.subscribe("https://example.com/")
    desk.publish(4)
    desk.change(subscription_id, active=False)
    purge_all(desk)
    assert count(desk, Delivery) == count(desk, Event) == 4


def test_a_deleted_subscription_goes_with_its_history(desk: Desk) -> None:
    subscription_id, _ = desk.subscribe("https://example.com/")
    desk.publish(4)
    desk.delete(subscription_id)
    assert count(desk, Delivery) == 4
    purge_all(desk)
    purge_all(desk)
    assert count(desk, Delivery) == count(desk, Event) == count(desk, Subscription) == 0
