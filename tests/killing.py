"""The two long stories: kills with -9 while events flow. Tests tell them short, `bench` long."""

import threading
import time
from collections.abc import Callable

from sqlalchemy import select

from app.events.models import Event
from tests import toll
from tests.flow import Rotations, moment_of
from tests.receiver import Receiver, status
from tests.sending import Desk
from tests.toll import Toll

_ANSWER_AFTER_S = 0.01
_SETTLED_WITHIN_S = 120.0


def senders(
    desk: Desk,
    receiver: Receiver,
    *,
    events: int,
    kills: int,
    answer_after_s: float = _ANSWER_AFTER_S,
) -> tuple[int, Toll]:
    """Publish events one by one while the sender is killed, evenly over their number."""
    receiver.script("/hook", status(200, after_s=answer_after_s))
    published: list[str] = []
    publisher = threading.Thread(target=lambda: _publish(desk, published, events))
    publisher.start()
    for number in range(1, kills + 1):
        sender = desk.start_sender()
        target = events * number // (kills + 1)
        _wait(lambda goal=target: len(receiver.requests) >= goal, _SETTLED_WITHIN_S)  # type: ignore[misc]
        sender.kill()
    publisher.join()
    desk.start_sender()
    _settle(desk)
    return kills, toll.take(desk.parts.db, published, receiver.received())


def web_and_senders(desk: Desk, receiver: Receiver, *, events: int, kills: int) -> tuple[int, Toll]:
    """Let callers cause events over HTTP while web workers and the sender are killed in turn."""
    receiver.script("/hook", status(200, after_s=_ANSWER_AFTER_S))
    web, sender = desk.start_web(), desk.start_sender()
    done = 0
    with Rotations(desk.parts, web.base, events) as callers:
        while callers.running:
            goal = (done + 1) * events // (kills + 1)
            _wait(
                lambda goal=goal: len(callers.acknowledged) >= goal or not callers.running,  # type: ignore[misc]
                _SETTLED_WITHIN_S,
            )
            if done < kills and callers.running:
                if done % 2 == 0:
                    web.kill_a_worker()
                else:
                    sender.kill()
                    sender = desk.start_sender()
                done += 1
    _settle(desk)
    return done, _of_rotations(desk, receiver, callers.acknowledged)


def _of_rotations(desk: Desk, receiver: Receiver, acknowledged: list[tuple[str, str]]) -> Toll:
    """Count with event ids in place of keys and moments; a missing event is a lost one."""
    ids = {moment_of(each.event): each.event["id"] for each in receiver.received()}
    known = {ids.get(each, f"lost {each}") for each in acknowledged}
    with desk.parts.db.reading() as session:
        stored = set(session.scalars(select(Event.id)))
    # What was stored for a caller that never got its answer must arrive as well.
    return toll.take(desk.parts.db, known | stored, receiver.received())


def _publish(desk: Desk, published: list[str], count: int) -> None:
    for _ in range(count):
        published += desk.publish()
        time.sleep(0.002)


def _settle(desk: Desk) -> None:
    _wait(lambda: toll.open_deliveries(desk.parts.db) == 0, _SETTLED_WITHIN_S)


def _wait(fact: Callable[[], bool], within_s: float) -> None:
    until = time.monotonic() + within_s
    while not fact():
        assert time.monotonic() < until, "it did not come true in time"
        time.sleep(0.005)
