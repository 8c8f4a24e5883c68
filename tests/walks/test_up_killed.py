"""`up` killed with -9 again and again while it sends to a receiver that refuses now and then."""

import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import select

from app.webhooks.models import Attempt, Delivery
from tests import receiver as answers
from tests import toll
from tests.receiver import Receiver, Visit
from tests.sender_process import environment_of
from tests.sending import Desk
from tests.walks.service_process import ServiceProcess, wait_until

_KILLS = 30
_REFUSED = 0.4
_EVENTS_PER_S = 5


class Refusing:
    """Answers 500 to some requests, at random but the same in each run; notes which."""

    def __init__(self) -> None:
        self.refused: list[bool] = []
        self._random = random.Random(12)
        self._lock = threading.Lock()

    def __call__(self, visit: Visit) -> bool:
        with self._lock:
            refuses = self._random.random() < _REFUSED
            self.refused.append(refuses)
        return answers.status(500 if refuses else 200, b"", after_s=0.05)(visit)


@pytest.fixture
def starts(make_desk: Callable[..., Desk]) -> Iterator[list[ServiceProcess]]:
    started: list[ServiceProcess] = []
    yield started
    for each in started:
        each.end()


def test_a_delivery_fails_after_three_recorded_attempts_however_often_up_is_killed(
    make_desk: Callable[..., Desk], receiver: Receiver, starts: list[ServiceProcess]
) -> None:
    desk = make_desk(webhook_timeout_s=10.0, webhook_retry_delays_s=(0.5, 0.5))
    refusing = Refusing()
    receiver.script("/hook", refusing)
    desk.subscribe(receiver.url())
    over = threading.Event()
    publisher = threading.Thread(target=lambda: _publish(desk, over))
    publisher.start()
    variables = environment_of(desk.parts.settings)
    data_dir = desk.parts.settings.data_dir
    del variables["CQE_DATA_DIR"], variables["CQE_REDIS_URL"]
    try:
        for _ in range(_KILLS):
            up = ServiceProcess(data_dir, **variables)
            starts.append(up)
            goal = len(receiver.received()) + random.randint(1, 10)
            wait_until(lambda goal=goal: len(receiver.received()) >= goal, 90)  # type: ignore[misc]
            up.process.kill()
            up.process.wait()
    finally:
        over.set()
        publisher.join()
    starts.append(ServiceProcess(data_dir, **variables))
    wait_until(lambda: toll.open_deliveries(desk.parts.db) == 0, 120)

    requests = receiver.received()
    refusals, seen = defaultdict(list), defaultdict(int)
    for request, refused in zip(requests, refusing.refused, strict=True):
        delivery_id = request.headers["x-webhook-delivery"]
        seen[delivery_id] += 1
        if refused:
            refusals[delivery_id].append(int(request.headers["x-webhook-attempt"]))
    with desk.parts.db.reading() as session:
        deliveries = session.scalars(select(Delivery)).all()
        recorded = defaultdict(list)
        for attempt in session.scalars(select(Attempt).order_by(Attempt.number)):
            recorded[attempt.delivery_id].append(attempt)
    assert {each.state for each in deliveries} == {"succeeded", "failed"}
    for each in deliveries:
        attempts = recorded[each.id]
        assert [one.number for one in attempts] == list(range(1, each.attempts + 1))
        refused_numbers = [one.number for one in attempts if one.outcome != "success"]
        # Every recorded refusal is one that the receiver gave: none is of our own making.
        assert {one.outcome for one in attempts} <= {"success", "http_error"}
        assert set(refused_numbers) <= set(refusals[each.id])
        assert seen[each.id] <= each.attempts + each.interruptions
        assert (each.state == "failed") == (refused_numbers == [1, 2, 3])


def _publish(desk: Desk, over: threading.Event) -> None:
    while not over.is_set():
        desk.publish()
        time.sleep(1 / _EVENTS_PER_S)
