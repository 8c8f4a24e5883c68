"""Import of many conversations by one command, while the service judges, announces and answers.

`python -m bench.bulk [conversations]` starts the service as `./run` does, in a new data folder, imports a
file of conversations of 10 messages with `cqe import --wait`, and meanwhile asks for lists of evaluations ten
times a second. It prints the rate, how long the lists took, and the memory of the service.
"""

import argparse
import os
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from app.core.settings import Settings
from app.wiring import build_runtime
from bench.intake import write
from bench.service import environment_of, free_port, new_key
from bench.start import command, is_healthy, memory_below
from cqe_client import Client

PACE_S = 0.1


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("conversations", type=int, nargs="?", default=10_000)
    number = options.parse_args().conversations
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "conversations.jsonl"
        write(source, number)
        port = free_port()
        environment = environment_of(
            Path(folder) / "instance", CQE_PORT=str(port), CQE_LOG_LEVEL="INFO"
        )
        with (Path(folder) / "output.txt").open("wb") as output:
            service = subprocess.Popen(command("up"), env=environment, stdout=output, stderr=output)
        try:
            while not is_healthy(port):
                time.sleep(0.05)
            client = client_of(Path(folder) / "instance", port)
            measure(service, client, source, number, environment)
        finally:
            service.send_signal(signal.SIGTERM)
            service.wait()
        used = os.times()
        cpu_s = used.children_user + used.children_system
        print(f"CPU of the service and the command: {cpu_s / number * 1000:.1f} ms a conversation")


def client_of(data_folder: Path, port: int) -> Client:
    """Return a client with a key of its own."""
    runtime = build_runtime(Settings(data_dir=data_folder, redis_url="none"))
    pair = new_key(runtime)
    runtime.db.engine.dispose()
    return Client(f"http://127.0.0.1:{port}", pair.api_key, pair.secret)


def measure(
    service: subprocess.Popen[bytes],
    client: Client,
    source: Path,
    number: int,
    environment: dict[str, str],
) -> None:
    """Import the file, list meanwhile, and print the figures."""
    alone_ms = [list_ms(client) for _ in range(100)]
    during_ms: list[float] = []
    most_mib = 0.0
    started = time.perf_counter()
    arguments = ["import", str(source), "--engagement", "Bench", "--wait"]
    importing = subprocess.Popen(command(*arguments), env=environment, stdout=subprocess.DEVNULL)
    while importing.poll() is None:
        during_ms.append(list_ms(client))
        if len(during_ms) % 100 == 0:
            most_mib = max(most_mib, sum(memory_below(service.pid).values()))
        time.sleep(PACE_S)
    took_s = time.perf_counter() - started
    assert importing.returncode == 0
    summary = client.get("/analytics/summary")
    assert summary["totals"]["completed"] == number, summary
    print(f"{number:,} conversations in {took_s:.0f} s: {number / took_s:.0f} a second")
    print(f"memory of the service: at most {most_mib:.0f} MiB (PSS of all processes)")
    print(f"list of 25, alone:   {percentiles(alone_ms)}")
    print(f"list of 25, during:  {percentiles(during_ms)}")


def list_ms(client: Client) -> float:
    """Return the milliseconds that one signed list took."""
    started = time.perf_counter()
    client.get("/evaluations", pageSize=25)
    return (time.perf_counter() - started) * 1000


def percentiles(times_ms: Sequence[float]) -> str:
    cuts = statistics.quantiles(times_ms, n=100, method="inclusive")
    return f"p50 {cuts[49]:5.1f} ms, p99 {cuts[98]:5.1f} ms, {len(times_ms):,} requests"


if __name__ == "__main__":
    main()
