"""Many events while processes are killed: the short form of `bench.webhook_kills`."""

from collections.abc import Callable

from app.core.setting_parsers import RateLimit
from app.webhooks.sender.receiver_queues import MOST_IN_FLIGHT
from tests import kill_scenarios
from tests.receiver import Receiver
from tests.sampling import examples
from tests.webhook_harness import WebhookHarness


def test_many_events_outlive_the_kills_of_their_sender(
    make_harness: Callable[..., WebhookHarness], receiver: Receiver
) -> None:
    harness = make_harness(webhook_timeout_s=10.0)
    harness.subscribe(receiver.url())
    kills, audit = kill_scenarios.senders(
        harness, receiver, events=examples(1000), kills=examples(8)
    )
    assert kills == examples(8)
    assert audit.acknowledged == examples(1000)
    assert audit.lost == 0
    assert audit.fair, audit
    assert audit.duplicates <= kills * MOST_IN_FLIGHT
    assert audit.most_attempts == 1


def test_what_web_acknowledged_outlives_the_kills_of_web_and_sender(
    make_harness: Callable[..., WebhookHarness], receiver: Receiver
) -> None:
    harness = make_harness(webhook_timeout_s=10.0, rate_limit_keys=RateLimit(1_000_000, 60))
    harness.subscribe(receiver.url())
    kills, audit = kill_scenarios.web_and_senders(
        harness, receiver, events=2 * examples(150), kills=examples(8)
    )
    assert kills >= examples(4)
    assert audit.acknowledged >= examples(250)
    assert audit.lost == 0
    assert audit.fair, audit
    assert audit.duplicates <= kills * MOST_IN_FLIGHT
