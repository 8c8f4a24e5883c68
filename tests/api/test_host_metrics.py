"""Metrics of a host for Prometheus, counted by processes that come and go."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest

from app.core.metrics import (
    REQUEST_SECONDS,
    REQUESTS,
    REQUESTS_IN_FLIGHT,
    ProcessCounts,
    host_counts,
)
from app.operations.processes.metrics import HostMetrics
from tests.caller import Caller
from tests.contacts import judge, put_chat
from tests.running import running_runtime
from tests.waiting import wait_until
from tests.walks.service_process import environment

ROUTE = "/api/v1/engagements"
KILLED = """
import os, sys
from pathlib import Path
from app.core.metrics import REQUEST_SECONDS, REQUESTS_IN_FLIGHT
from app.core.metrics import ProcessCounts
counts = ProcessCounts(Path(sys.argv[1]), enabled=True)
counts.change(REQUESTS_IN_FLIGHT, 2)
counts.observe(REQUEST_SECONDS, "GET", "/x", seconds=0.02)
counts.write()
os.kill(os.getpid(), 9)
"""


def exposed(data_dir: Path) -> str:
    registry = CollectorRegistry()
    registry.register(HostMetrics(data_dir))
    return generate_latest(registry).decode()


def requests_of(data_dir: Path) -> dict[tuple[str, ...], float]:
    values = host_counts(data_dir).values
    return {labels: value for (name, labels, _), value in values.items() if name == REQUESTS.name}


def test_requests_are_counted_by_route_and_status_class(
    serve: Callable[..., str], make_caller: Callable[..., Caller]
) -> None:
    client = make_caller(serve(metrics_listen=("127.0.0.1", 1)))
    data_dir = running_runtime().settings.data_dir
    for _ in range(3):
        assert client.get("/engagements").status_code == 200
    assert client.get("/engagements?page=0").status_code == 422
    assert client.plain("GET", "/nowhere").status_code in (401, 404)
    wait_until(lambda: sum(requests_of(data_dir).values()) == 5)
    assert requests_of(data_dir) == {
        ("GET", ROUTE, "2xx"): 3,
        ("GET", ROUTE, "4xx"): 1,
        ("GET", "none", "4xx"): 1,
    }
    assert f'duration_seconds_count{{method="GET",route="{ROUTE}"}} 4.0' in exposed(data_dir)
    wait_until(lambda: "cqe_http_in_flight 0.0" in exposed(data_dir))


def test_without_the_setting_nothing_is_counted(client: Caller) -> None:
    client.get("/engagements")
    assert not (running_runtime().settings.data_dir / "metrics.db").exists()


def test_ended_jobs_are_counted_once_their_end_is_durable(
    serve: Callable[..., str], make_caller: Callable[..., Caller]
) -> None:
    client = make_caller(serve(metrics_listen=("127.0.0.1", 1)))
    put_chat(client, "chat-1")
    put_chat(client, "chat-2")
    judge()
    text = exposed(running_runtime().settings.data_dir)
    assert 'cqe_jobs_ended_total{kind="evaluations",outcome="succeeded"} 2.0' in text
    for stage in ("waiting", "running"):
        assert f'cqe_job_seconds_count{{kind="evaluations",stage="{stage}"}} 2.0' in text


def test_counts_outlive_a_killed_process_and_its_requests_in_flight_do_not(tmp_path: Path) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)], env=environment(tmp_path), check=False
    )
    assert killed.returncode == -9
    successor = ProcessCounts(tmp_path, enabled=True)
    successor.change(REQUESTS_IN_FLIGHT, 1)
    successor.observe(REQUEST_SECONDS, "GET", "/x", seconds=7.0)
    successor.write()
    text = exposed(tmp_path)
    assert "cqe_http_in_flight 1.0" in text
    series = "cqe_http_request_duration_seconds"
    assert f'{series}_bucket{{le="0.025",method="GET",route="/x"}} 1.0' in text
    assert f'{series}_bucket{{le="10.0",method="GET",route="/x"}} 2.0' in text
    assert f'{series}_sum{{method="GET",route="/x"}} 7.02' in text


def test_what_cannot_be_written_is_kept_for_the_next_time(tmp_path: Path) -> None:
    folder = tmp_path / "away"
    counts = ProcessCounts(folder, enabled=True)
    counts.count(REQUESTS, "GET", "/x", "2xx")
    counts.change(REQUESTS_IN_FLIGHT, 1)
    counts.write()
    folder.mkdir()
    counts.count(REQUESTS, "GET", "/x", "2xx")
    counts.write()
    assert requests_of(folder) == {("GET", "/x", "2xx"): 2}
    assert host_counts(folder).gauges == {REQUESTS_IN_FLIGHT.name: 1}
