"""Requests per second and CPU of the API beside a bare Flask route, in one run.

python -m bench.api [--seconds 5] [--rounds 3] [--rows 10000] [--no-redis]
"""

import argparse
import contextlib
import json
import os
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.api_keys.credentials import KeyPair
from app.engagements import service as engagements
from bench.load import Load, run
from bench.service import (
    SERVICE_OPTIONS,
    Signer,
    environment_of,
    new_key,
    new_runtime,
    queue_server,
    serving,
)

BODY = json.dumps({"name": "Bench", "type": "bench"}).encode()
# As many processes and threads as the service has by default.
REFERENCE_OPTIONS = ("-k", "gthread", "-w", "2", "--threads", "8")
HELLO = b"GET / HTTP/1.1\r\nHost: bench\r\n\r\n"


@dataclass(frozen=True)
class Case:
    """One kind of request; `build` makes its bytes, signed afresh where it must be."""

    name: str
    build: Callable[[], bytes]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=4)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--rows", type=int, default=10_000)
    options.add_argument("--no-redis", action="store_true", help="use the state file instead")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        key, target = prepare(Path(folder), chosen.rows)
        redis_url = "" if chosen.no_redis else stack.enter_context(queue_server(Path(folder)))
        environment = environment_of(Path(folder), CQE_REDIS_URL=redis_url or "none")
        print(f"queue server: {'yes' if redis_url else 'none, the state file'}")
        hello = stack.enter_context(
            serving("bench.load:reference", os.environ.copy(), *REFERENCE_OPTIONS)
        )
        service = stack.enter_context(serving("wsgi:app", environment, *SERVICE_OPTIONS))
        signed = Signer(key)
        cases = [
            Case("GET list of 25", lambda: signed("GET", "/api/v1/engagements")),
            Case("GET one", lambda: signed("GET", target)),
            Case("POST one", lambda: signed("POST", "/api/v1/engagements", BODY)),
        ]
        for connections in (1, 16):
            table(hello, service, cases, connections, chosen.seconds, chosen.rounds)


def table(
    hello: tuple[int, int],
    service: tuple[int, int],
    cases: list[Case],
    connections: int,
    seconds: float,
    rounds: int,
) -> None:
    """Run every case beside the reference, round by round, and print medians."""
    print(f"\n{connections} connection(s), median of {rounds} rounds")
    print(f"{'':16}{'req/s':>9}{'x ref':>8}{'CPU ms':>9}{'x ref':>8}{'p50 ms':>9}{'p99 ms':>9}")
    found: dict[str, list[Load]] = {case.name: [] for case in cases}
    for server, build in ((hello, lambda: HELLO), *((service, case.build) for case in cases)):
        measure(server, build, connections, 0.5)
    references: list[Load] = []
    for _ in range(rounds):
        references.append(measure(hello, lambda: HELLO, connections, seconds))
        for case in cases:
            found[case.name].append(measure(service, case.build, connections, seconds))
    line("reference", references, references)
    for name, loads in found.items():
        line(name, loads, references)


def measure(
    server: tuple[int, int], build: Callable[[], bytes], connections: int, seconds: float
) -> Load:
    port, group = server
    load = run(port, build, connections=connections, seconds=seconds, group=group)
    if set(load.statuses) - {200, 201}:
        raise SystemExit(f"unexpected answers: {load.statuses}")
    return load


def line(name: str, loads: list[Load], references: list[Load]) -> None:
    rate = statistics.median(load.per_second for load in loads)
    cpu = statistics.median(load.cpu_ms for load in loads)
    base_rate = statistics.median(load.per_second for load in references)
    base_cpu = statistics.median(load.cpu_ms for load in references)
    p50 = statistics.median(load.percentile_ms(0.5) for load in loads)
    p99 = statistics.median(load.percentile_ms(0.99) for load in loads)
    print(
        f"{name:16}{rate:9.0f}{rate / base_rate:8.2f}{cpu:9.2f}{cpu / base_cpu:8.1f}"
        f"{p50:9.1f}{p99:9.1f}"
    )


def prepare(folder: Path, rows: int) -> tuple[KeyPair, str]:
    """Make a data folder with a key and so many engagements; return the key and the path of one."""
    runtime = new_runtime(folder, redis_url="none")
    key = new_key(runtime)
    with runtime.db.writing() as session:
        for number in range(rows):
            made = engagements.create(session, name=f"Engagement {number}", type="bench")
    runtime.db.engine.dispose()
    return key, f"/api/v1/engagements/{made['id']}"


if __name__ == "__main__":
    main()
