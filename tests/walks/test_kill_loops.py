"""A thousand events while processes are killed: the short form of `bench.webhook_kills`."""

from collections.abc import Callable

from app.core.settings import Rate
from app.webhooks.receiver_queues import MOST_IN_FLIGHT
from tests import killing
from tests.receiver import Receiver
from tests.sending import Desk


def test_a_thousand_events_outlive_the_kills_of_their_sender(
    make_desk: Callable[..., Desk], receiver: Receiver
) -> None:
    desk = make_desk(webhook_timeout_s=10.0)
    desk.subscribe(receiver.url())
    kills, found = killing.senders(desk, receiver, events=1000, kills=8)
    assert kills == 8
    assert found.acknowledged == 1000
    assert found.lost == 0
    assert found.fair, found
    assert found.duplicates <= kills * MOST_IN_FLIGHT
    assert found.most_attempts == 1


def test_what_web_acknowledged_outlives_the_kills_of_web_and_sender(
    make_desk: Callable[..., Desk], receiver: Receiver
) -> None:
    desk = make_desk(webhook_timeout_s=10.0, rate_limit_keys=Rate(1_000_000, 60))
    desk.subscribe(receiver.url())
    kills, found = killing.web_and_senders(desk, receiver, events=300, kills=6)
    assert kills >= 4
    assert found.acknowledged >= 250
    assert found.lost == 0
    assert found.fair, found
    assert found.duplicates <= kills * MOST_IN_FLIGHT
