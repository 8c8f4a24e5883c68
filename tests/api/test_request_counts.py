"""Counts of requests for Prometheus, over processes that come and go."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest

from app.core.metrics.request_counts import RequestCounts, total_counts
from app.core.metrics.request_metrics import RequestMetrics
from tests.caller import Caller
from tests.running import running_runtime
from tests.waiting import wait_until
from tests.walks.service_process import environment

KILLED = """
import os, sys, time
from pathlib import Path
from app.core.metrics.request_counts import RequestCounts, total_counts
folder = Path(sys.argv[1])
counts = RequestCounts(folder)
counts.start_request()
counts.count_answer("GET", "/x", 200, 0.02)
counts.start_request()
while total_counts(folder)[1] < 2:
    time.sleep(0.01)
os.kill(os.getpid(), 9)
"""


def counts(data_dir: Path) -> dict[tuple[str, str, str], float]:
    return {key: sum(values[1:]) for key, values in total_counts(data_dir)[0].items()}


def test_requests_are_counted_by_route_and_status_class(
    serve: Callable[..., str], make_caller: Callable[..., Caller]
) -> None:
    client = make_caller(serve(metrics_listen=("127.0.0.1", 1)))
    data_dir = running_runtime().settings.data_dir
    for _ in range(3):
        assert client.get("/engagements").status_code == 200
    assert client.get("/engagements?page=0").status_code == 422
    assert client.plain("GET", "/nowhere").status_code in (401, 404)
    route = "/api/v1/engagements"
    wait_until(lambda: sum(counts(data_dir).values()) == 5 and total_counts(data_dir)[1] == 0)
    assert counts(data_dir) == {
        ("GET", route, "2xx"): 3,
        ("GET", route, "4xx"): 1,
        ("GET", "none", "4xx"): 1,
    }
    registry = CollectorRegistry()
    registry.register(RequestMetrics(data_dir))
    text = generate_latest(registry).decode()
    assert f'cqe_http_requests_total{{method="GET",route="{route}",status="2xx"}} 3.0' in text
    assert f'duration_seconds_count{{method="GET",route="{route}"}} 4.0' in text
    assert "cqe_http_in_flight 0.0" in text


def test_without_a_metrics_server_nothing_is_counted(client: Caller) -> None:
    client.get("/engagements")
    assert not (running_runtime().settings.data_dir / "request-counts").exists()


def test_a_new_process_continues_the_counts_of_a_killed_one(tmp_path: Path) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)], env=environment(tmp_path), check=False
    )
    assert killed.returncode == -9
    assert (counts(tmp_path), total_counts(tmp_path)[1]) == ({("GET", "/x", "2xx"): 1}, 0)
    successor = RequestCounts(tmp_path)
    successor.start_request()
    successor.count_answer("GET", "/x", 200, 7)
    successor.finish_request()
    wait_until(lambda: counts(tmp_path) == {("GET", "/x", "2xx"): 2})
    assert len([*(tmp_path / "request-counts").iterdir()]) == 1
    (tmp_path / "request-counts" / "requests-cut.json").write_bytes(b"")
    RequestCounts(tmp_path).start_request()
    assert counts(tmp_path) == {("GET", "/x", "2xx"): 2}
