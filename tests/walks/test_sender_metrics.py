"""Prometheus metrics of a real sender, over a real socket, also right after a kill."""

import http.client
import time
from collections.abc import Callable

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests import receiver as answers
from tests.receiver import Receiver
from tests.waiting import PATIENCE_S, wait_until
from tests.walks.service_process import free_port
from tests.webhook_harness import WebhookHarness


@pytest.fixture
def port() -> int:
    return free_port()


def ask(port: int, path: str = "/metrics") -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def scrape(port: int) -> dict[str, float]:
    """Return every sample by its name with its one label value, waiting for the listener."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            code, text = ask(port)
            break
        except OSError:
            assert time.monotonic() < until
            time.sleep(0.05)
    assert code == 200
    return {
        ":".join([sample.name, *sample.labels.values()]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def wait_for(port: int, ready: Callable[[dict[str, float]], bool]) -> dict[str, float]:
    until = time.monotonic() + PATIENCE_S
    while not ready(samples := scrape(port)):
        assert time.monotonic() < until, samples
        time.sleep(0.05)
    return samples


def test_attempts_durations_and_backlog(
    harness: WebhookHarness, receiver: Receiver, port: int
) -> None:
    receiver.script("/bad", answers.status(500, b""))
    harness.subscribe(receiver.url())
    harness.subscribe(receiver.url("/bad"))
    off, _ = harness.subscribe(receiver.url("/off"))
    harness.publish(2)
    harness.change(off, active=False)
    harness.start_sender(CQE_METRICS_LISTEN=f"127.0.0.1:{port}")
    samples = wait_for(port, lambda samples: samples["cqe_webhook_attempts_total:http_error"] == 6)
    assert samples["cqe_webhook_attempts_total:success"] == 2
    assert samples["cqe_webhook_attempts_total:blocked_url"] == 0
    assert samples["cqe_webhook_attempt_duration_seconds_count"] == 8
    assert samples["cqe_webhook_backlog"] == 0
    assert samples["cqe_webhook_held"] == 2
    assert samples["cqe_webhook_oldest_due_age_seconds"] == 0
    assert samples["cqe_webhook_in_flight"] == 0
    assert samples["cqe_webhook_subscriptions:healthy"] == 1
    assert samples["cqe_webhook_subscriptions:failing"] == 1
    assert samples["cqe_webhook_subscriptions:inactive"] == 1
    assert samples["cqe_database_up"] == 1


def test_requests_in_flight_and_deliveries_waiting_behind_them(
    make_harness: Callable[..., WebhookHarness], receiver: Receiver, port: int
) -> None:
    harness = make_harness(webhook_timeout_s=30.0)
    receiver.script("/hook", answers.hang)
    harness.subscribe(receiver.url())
    harness.publish(3)
    listen = f"127.0.0.1:{port}"
    first = harness.start_sender(CQE_METRICS_LISTEN=listen)
    receiver.wait_for(1)
    samples = wait_for(port, lambda samples: samples["cqe_webhook_oldest_due_age_seconds"] > 0.2)
    assert samples["cqe_webhook_in_flight"] == 1
    assert samples["cqe_webhook_backlog"] == 2
    first.kill()
    harness.start_sender(CQE_METRICS_LISTEN=listen)
    receiver.wait_for(2)
    samples = wait_for(port, lambda samples: samples["cqe_webhook_in_flight"] == 1)
    assert samples["cqe_webhook_reclaimed_total"] == 1
    assert samples["cqe_webhook_attempts_total:success"] == 0


def test_a_sender_works_while_another_process_uses_the_metrics_port(
    harness: WebhookHarness, receiver: Receiver, port: int
) -> None:
    listen = f"127.0.0.1:{port}"
    harness.start_sender(CQE_METRICS_LISTEN=listen)
    scrape(port)
    harness.subscribe(receiver.url())
    second = harness.start_sender(CQE_METRICS_LISTEN=listen)
    wait_until(lambda: "CQE_METRICS_LISTEN" in harness.log())
    harness.publish()
    receiver.wait_for(1)
    assert second.stop() == 0


def test_without_the_setting_no_port_is_open(harness: WebhookHarness, receiver: Receiver) -> None:
    harness.subscribe(receiver.url())
    sender = harness.start_sender()
    harness.publish()
    receiver.wait_for(1)
    assert sender.listens_on() == []
