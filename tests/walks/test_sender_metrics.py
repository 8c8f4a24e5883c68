"""What Prometheus is told: by a real sender, over a real socket, right after a kill as well."""

import http.client
import time
from collections.abc import Callable

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests import receiver as answers
from tests.receiver import Receiver
from tests.sending import Desk
from tests.walks.service_process import free_port


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


def figures(port: int) -> dict[str, float]:
    """Return every sample by its name with its one label value, waiting for the listener."""
    until = time.monotonic() + 30
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
    until = time.monotonic() + 30
    while not ready(found := figures(port)):
        assert time.monotonic() < until, found
        time.sleep(0.05)
    return found


def test_attempts_latency_and_backlog_are_told(desk: Desk, receiver: Receiver, port: int) -> None:
    receiver.script("/bad", answers.status(500, b""))
    desk.subscribe(receiver.url())
    desk.subscribe(receiver.url("/bad"))
    off, _ = desk.subscribe(receiver.url("/off"))
    desk.publish(2)
    desk.change(off, active=False)
    desk.start_sender(CQE_METRICS_LISTEN=f"127.0.0.1:{port}")
    found = wait_for(port, lambda found: found["cqe_webhook_attempts_total:http_error"] == 6)
    assert found["cqe_webhook_attempts_total:success"] == 2
    assert found["cqe_webhook_attempts_total:blocked_url"] == 0
    assert found["cqe_webhook_attempt_duration_seconds_count"] == 8
    assert found["cqe_webhook_backlog"] == 0
    assert found["cqe_webhook_held"] == 2
    assert found["cqe_webhook_oldest_due_age_seconds"] == 0
    assert found["cqe_webhook_in_flight"] == 0
    assert found["cqe_webhook_subscriptions:healthy"] == 1
    assert found["cqe_webhook_subscriptions:failing"] == 1
    assert found["cqe_webhook_subscriptions:inactive"] == 1
    assert found["cqe_database_up"] == 1


def test_what_hangs_and_what_waits_behind_it_is_told(
    make_desk: Callable[..., Desk], receiver: Receiver, port: int
) -> None:
    desk = make_desk(webhook_timeout_s=30.0)
    receiver.script("/hook", answers.hang)
    desk.subscribe(receiver.url())
    desk.publish(3)
    listen = f"127.0.0.1:{port}"
    first = desk.start_sender(CQE_METRICS_LISTEN=listen)
    receiver.wait_for(1)
    found = wait_for(port, lambda found: found["cqe_webhook_oldest_due_age_seconds"] > 0.2)
    assert found["cqe_webhook_in_flight"] == 1
    assert found["cqe_webhook_backlog"] == 2
    first.kill()
    desk.start_sender(CQE_METRICS_LISTEN=listen)
    receiver.wait_for(2)
    found = wait_for(port, lambda found: found["cqe_webhook_in_flight"] == 1)
    assert found["cqe_webhook_reclaimed_total"] == 1
    assert found["cqe_webhook_attempts_total:success"] == 0


def test_a_sender_works_while_another_process_uses_the_metrics_port(
    desk: Desk, receiver: Receiver, port: int
) -> None:
    listen = f"127.0.0.1:{port}"
    desk.start_sender(CQE_METRICS_LISTEN=listen)
    figures(port)
    desk.subscribe(receiver.url())
    second = desk.start_sender(CQE_METRICS_LISTEN=listen)
    until = time.monotonic() + 30
    while "CQE_METRICS_LISTEN" not in desk.log():
        assert time.monotonic() < until
        time.sleep(0.05)
    desk.publish()
    receiver.wait_for(1)
    assert second.stop() == 0


def test_nothing_listens_unless_it_is_asked_for(desk: Desk, receiver: Receiver) -> None:
    desk.subscribe(receiver.url())
    sender = desk.start_sender()
    desk.publish()
    receiver.wait_for(1)
    assert sender.listens_on() == []
