"""`up` killed with -9 again and again, while it sends to a receiver that refuses at random."""

import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from app.webhooks.models import Attempt, Delivery
from tests import delivery_audit
from tests import receiver as answers
from tests.receiver import Receiver, Visit
from tests.sampling import examples
from tests.sender_process import environment_of
from tests.waiting import wait_until
from tests.walks.service_process import ServiceProcess
from tests.webhook_harness import WebhookHarness

pytestmark = pytest.mark.long

_KILLS = examples(8)
_REFUSED = 0.4
_EVENTS_EACH_TIME = 12

StartUp = Callable[[], ServiceProcess]


@dataclass
class Seen:
    """The requests of one delivery: how many, and the numbers of the attempts that were refused."""

    requests: int = 0
    refused: set[int] = field(default_factory=set)


class RefusingAnswer:
    """Answers 500 to every request of the first delivery, and to some of the others at random."""

    def __init__(self) -> None:
        self.seen: dict[str, Seen] = defaultdict(Seen)
        self._random = random.Random(12)
        self._lock = threading.Lock()

    def __call__(self, visit: Visit) -> bool:
        headers = visit.request.headers
        with self._lock:
            delivery = self.seen[headers["x-webhook-delivery"]]
            is_first = delivery is next(iter(self.seen.values()))
            refuses = is_first or self._random.random() < _REFUSED
            delivery.requests += 1
            if refuses:
                delivery.refused.add(int(headers["x-webhook-attempt"]))
        return answers.status(500 if refuses else 200, b"", after_s=0.05)(visit)


@pytest.fixture
def harness(make_harness: Callable[..., WebhookHarness]) -> WebhookHarness:
    return make_harness(webhook_timeout_s=10.0, webhook_retry_delays=(0.5, 0.5))


@pytest.fixture
def start_up(harness: WebhookHarness) -> Iterator[StartUp]:
    started: list[ServiceProcess] = []
    variables: dict[str, Any] = environment_of(harness.runtime.settings)
    data_dir = Path(variables.pop("CQE_DATA_DIR"))
    del variables["CQE_REDIS_URL"]

    def start() -> ServiceProcess:
        started.append(ServiceProcess(data_dir, **variables))
        return started[-1]

    yield start
    for service in started:
        service.end()


def kill_again_and_again(start_up: StartUp, harness: WebhookHarness, receiver: Receiver) -> None:
    """Kill `up` each time after it has sent a few requests, at moments of no pattern."""
    for _ in range(_KILLS):
        up = start_up()
        harness.publish(_EVENTS_EACH_TIME)
        goal = len(receiver.received()) + random.randint(1, _EVENTS_EACH_TIME)
        receiver.wait_for(goal)
        time.sleep(random.uniform(0, 0.1))
        up.process.kill()
        up.process.wait()


def test_a_delivery_fails_only_after_three_refusals_however_often_up_is_killed(
    harness: WebhookHarness,
    receiver: Receiver,
    start_up: StartUp,
) -> None:
    answer = RefusingAnswer()
    receiver.script("/hook", answer)
    harness.subscribe(receiver.url())
    kill_again_and_again(start_up, harness, receiver)
    start_up()
    wait_until(lambda: delivery_audit.open_deliveries(harness.runtime.db) == 0)

    with harness.runtime.db.reading() as session:
        deliveries = session.scalars(select(Delivery)).all()
        attempts: dict[str, list[Attempt]] = defaultdict(list)
        for attempt in session.scalars(select(Attempt).order_by(Attempt.number)):
            attempts[attempt.delivery_id].append(attempt)
    assert {delivery.state for delivery in deliveries} == {"succeeded", "failed"}
    for delivery in deliveries:
        recorded, requests = attempts[delivery.id], answer.seen[delivery.id]
        refused = [attempt.number for attempt in recorded if attempt.outcome == "http_error"]
        assert {attempt.outcome for attempt in recorded} <= {"success", "http_error"}
        assert [attempt.number for attempt in recorded] == [*range(1, delivery.attempts + 1)]
        assert requests.refused.issuperset(refused), "the receiver gave every recorded refusal"
        assert requests.requests <= delivery.attempts + delivery.interruptions
        assert (delivery.state == "failed") == (refused == [1, 2, 3])
