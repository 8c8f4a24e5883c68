"""Prometheus metrics of a host, over a real socket: of a sender, of web server and worker."""

import http.client
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests import receiver as answers
from tests.contacts import put_chat
from tests.receiver import Receiver
from tests.waiting import PATIENCE_S, wait_until
from tests.walks.service_process import ServiceProcess, free_port
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
    listen = f"127.0.0.1:{port}"
    harness.start_metrics(listen)
    harness.start_sender(CQE_METRICS_LISTEN=listen)
    series = "cqe_webhook_attempts_total:http_error"
    samples = wait_for(port, lambda samples: samples.get(series) == 6)
    assert samples["cqe_webhook_attempts_total:success"] == 2
    assert samples["cqe_webhook_attempt_duration_seconds_count"] == 8
    assert samples["cqe_webhook_backlog"] == 0
    assert samples["cqe_webhook_held"] == 2
    assert samples["cqe_webhook_oldest_due_age_seconds"] == 0
    wait_for(port, lambda samples: samples["cqe_webhook_in_flight"] == 0)
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
    harness.start_metrics(listen)
    first = harness.start_sender(CQE_METRICS_LISTEN=listen)
    receiver.wait_for(1)
    samples = wait_for(port, lambda samples: samples["cqe_webhook_oldest_due_age_seconds"] > 0.2)
    samples = wait_for(port, lambda samples: samples["cqe_webhook_in_flight"] == 1)
    assert samples["cqe_webhook_backlog"] == 2
    first.kill()
    harness.start_sender(CQE_METRICS_LISTEN=listen)
    receiver.wait_for(2)
    samples = wait_for(port, lambda samples: samples["cqe_webhook_reclaimed_total"] == 1)
    assert "cqe_webhook_attempts_total:success" not in samples
    wait_for(port, lambda samples: samples["cqe_webhook_in_flight"] == 1)


def test_a_second_process_waits_for_the_port_and_takes_over(
    harness: WebhookHarness, port: int
) -> None:
    listen = f"127.0.0.1:{port}"
    first = harness.start_metrics(listen)
    scrape(port)
    harness.start_metrics(listen)
    log = harness.folder / "metrics.log"
    wait_until(lambda: "CQE_METRICS_LISTEN" in log.read_text())
    first.kill()
    assert scrape(port)["cqe_database_up"] == 1


def test_web_server_and_worker_each_serve_the_metrics_of_their_host(
    data_dir: Path, port: int
) -> None:
    other_port = free_port()
    web = ServiceProcess(
        data_dir,
        "up",
        "--no-worker",
        CQE_REDIS_URL="none",
        CQE_METRICS_LISTEN=f"127.0.0.1:{port}",
    )
    worker = None
    try:
        put_chat(web.wait_ready().caller())
        assert scrape(port)["cqe_jobs_due:evaluations"] == 1
        worker = ServiceProcess(
            data_dir,
            "worker",
            CQE_REDIS_URL="none",
            CQE_METRICS_LISTEN=f"127.0.0.1:{other_port}",
        )
        series = "cqe_jobs_ended_total:evaluations:succeeded"
        for asked in (port, other_port):
            samples = wait_for(asked, lambda samples: samples.get(series) == 1)
            assert samples["cqe_jobs_due:evaluations"] == 0
            assert samples["cqe_storage_up"] == 1
            puts = [name for name in samples if name.startswith("cqe_http_requests_total:PUT:")]
            assert [samples[name] for name in puts] == [1]
            last = samples["cqe_periodic_last_success_timestamp_seconds:sweep"]
            assert abs(time.time() - last) < PATIENCE_S
        assert "cqe: metrics" in web.children().values()
        assert "cqe: metrics" not in worker.children().values()
    finally:
        for process in filter(None, (web, worker)):
            process.end()


def test_without_the_setting_no_port_is_open(harness: WebhookHarness, receiver: Receiver) -> None:
    harness.subscribe(receiver.url())
    sender = harness.start_sender()
    harness.publish()
    receiver.wait_for(1)
    assert sender.listens_on() == []
