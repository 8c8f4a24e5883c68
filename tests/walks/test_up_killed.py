"""`up` killed with -9 again and again, while it sends to a receiver that refuses at random."""

import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from sqlalchemy import select

from app.webhooks.models import Attempt, Delivery
from tests import delivery_audit
from tests import receiver as answers
from tests.receiver import Received, Receiver, Visit
from tests.sender_process import environment_of
from tests.waiting import wait_until
from tests.walks.service_process import ServiceProcess
from tests.webhook_harness import WebhookHarness

_KILLS = 10
_REFUSED = 0.4
_EVENTS_PER_S = 15

StartUp = Callable[[], ServiceProcess]


class RefusingAnswer:
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


@dataclass
class Seen:
    """The requests of one delivery: how many, and the numbers of the attempts that were refused."""

    requests: int = 0
    refused: set[int] = field(default_factory=set)


@pytest.fixture
def harness(make_harness: Callable[..., WebhookHarness]) -> WebhookHarness:
    return make_harness(webhook_timeout_s=10.0, webhook_retry_delays_s=(0.5, 0.5))


@pytest.fixture
def start_up(harness: WebhookHarness) -> Iterator[StartUp]:
    started: list[ServiceProcess] = []
    variables = environment_of(harness.runtime.settings)
    data_dir = Path(variables.pop("CQE_DATA_DIR"))
    del variables["CQE_REDIS_URL"]

    def start() -> ServiceProcess:
        started.append(ServiceProcess(data_dir, command=None, port=0, **variables))
        return started[-1]

    yield start
    for service in started:
        service.end()


@pytest.fixture
def events(harness: WebhookHarness) -> Iterator[Callable[[], None]]:
    """Publish events until the returned function is called."""
    over = threading.Event()

    def publish() -> None:
        while not over.wait(1 / _EVENTS_PER_S):
            harness.publish()

    publisher = threading.Thread(target=publish)

    def stop() -> None:
        over.set()
        publisher.join()

    publisher.start()
    yield stop
    stop()


def kill_again_and_again(start_up: StartUp, receiver: Receiver) -> None:
    """Kill `up` each time after it has sent a few requests, at moments of no pattern."""
    for _ in range(_KILLS):
        up = start_up()
        goal = len(receiver.received()) + random.randint(1, 10)
        wait_until(lambda goal=goal: len(receiver.received()) >= goal)  # type: ignore[misc]
        time.sleep(random.uniform(0, 0.1))
        up.process.kill()
        up.process.wait()


def seen_by_delivery(requests: Sequence[Received], refused: Sequence[bool]) -> dict[str, Seen]:
    seen: dict[str, Seen] = defaultdict(Seen)
    for request, was_refused in zip(requests, refused, strict=True):
        delivery = seen[request.headers["x-webhook-delivery"]]
        delivery.requests += 1
        if was_refused:
            delivery.refused.add(int(request.headers["x-webhook-attempt"]))
    return seen


def test_a_delivery_fails_only_after_three_refusals_however_often_up_is_killed(
    harness: WebhookHarness,
    receiver: Receiver,
    start_up: StartUp,
    events: Callable[[], None],
) -> None:
    answer = RefusingAnswer()
    receiver.script("/hook", answer)
    harness.subscribe(receiver.url())
    kill_again_and_again(start_up, receiver)
    events()
    start_up()
    wait_until(lambda: delivery_audit.open_deliveries(harness.runtime.db) == 0)

    seen = seen_by_delivery(receiver.received(), answer.refused)
    with harness.runtime.db.reading() as session:
        deliveries = session.scalars(select(Delivery)).all()
        attempts: dict[str, list[Attempt]] = defaultdict(list)
        for attempt in session.scalars(select(Attempt).order_by(Attempt.number)):
            attempts[attempt.delivery_id].append(attempt)
    assert {delivery.state for delivery in deliveries} == {"succeeded", "failed"}
    for delivery in deliveries:
        recorded, requests = attempts[delivery.id], seen[delivery.id]
        refused = [attempt.number for attempt in recorded if attempt.outcome == "http_error"]
        assert {attempt.outcome for attempt in recorded} <= {"success", "http_error"}
        assert [attempt.number for attempt in recorded] == [*range(1, delivery.attempts + 1)]
        assert requests.refused.issuperset(refused), "the receiver gave every recorded refusal"
        assert requests.requests <= delivery.attempts + delivery.interruptions
        assert (delivery.state == "failed") == (refused == [1, 2, 3])
