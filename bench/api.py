"""Requests per second and CPU of the API beside a bare Flask route, in one run.

python -m bench.api [--seconds 5] [--rounds 3] [--rows 10000] [--no-redis]
"""

import argparse
import contextlib
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from app.api_keys import service as api_keys
from app.core.database.session import Table
from app.core.secrets import request_signing
from app.core.secrets.encryption import create_key_file
from app.core.settings import Settings
from app.engagements import service as engagements
from app.system.queue_choice import bundled_program
from app.wiring import build_runtime
from bench.load import Load, run

GUNICORN = (
    "-w",
    "2",
    "--threads",
    "8",
    "--keep-alive",
    "5",
    "--no-control-socket",
)
# As in an installation, except that no process is replaced after so many requests.
SERVICE_OPTIONS = ("-c", "python:app.operations.gunicorn_config", "--max-requests", "0")


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
        environment = prepare(Path(folder), chosen.rows)
        redis_url = "" if chosen.no_redis else stack.enter_context(queue_server(Path(folder)))
        environment["CQE_REDIS_URL"] = redis_url or "none"
        print(f"queue server: {'yes' if redis_url else 'none, the state file'}")
        hello = stack.enter_context(
            serving("bench.load:reference", os.environ.copy(), "-k", "gthread")
        )
        service = stack.enter_context(serving("wsgi:app", environment, *SERVICE_OPTIONS))
        target = f"/api/v1/engagements/{environment['BENCH_ENGAGEMENT']}"
        key, secret = environment["BENCH_KEY"], environment["BENCH_SECRET"]
        signed = Signer(key, secret)
        cases = [
            Case("GET list of 25", lambda: signed("GET", "/api/v1/engagements")),
            Case("GET one", lambda: signed("GET", target)),
            Case("POST one", lambda: signed("POST", "/api/v1/engagements", BODY)),
        ]
        for connections in (1, 16):
            table(hello, service, cases, connections, chosen.seconds, chosen.rounds)


BODY = json.dumps({"name": "Bench", "type": "bench"}).encode()
HELLO = b"GET / HTTP/1.1\r\nHost: bench\r\n\r\n"


class Signer:
    """Builds the bytes of a signed request."""

    def __init__(self, api_key: str, secret: str) -> None:
        self._api_key, self._secret = api_key, secret

    def __call__(self, method: str, target: str, body: bytes = b"") -> bytes:
        stamp = str(int(time.time()))
        message = request_signing.string_to_sign(
            timestamp=stamp, nonce="", method=method, target=target, body=body
        )
        head = (
            f"{method} {target} HTTP/1.1\r\nHost: bench\r\nX-Api-Key: {self._api_key}\r\n"
            f"X-Timestamp: {stamp}\r\nX-Signature: {request_signing.sign(self._secret, message)}\r\n"
        )
        if body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return head.encode() + b"\r\n" + body


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


def prepare(folder: Path, rows: int) -> dict[str, str]:
    """Make a data folder with a key and so many engagements."""
    create_key_file(folder)
    runtime = build_runtime(Settings(data_dir=folder, redis_url="none"))
    Table.metadata.create_all(runtime.db.engine)
    with runtime.db.writing() as session:
        issued = api_keys.create_key(session, runtime.keyring, name="bench", scopes=["*"])
        for number in range(rows):
            made = engagements.create(session, name=f"Engagement {number}", type="bench")
    runtime.db.engine.dispose()
    return {
        **os.environ,
        "CQE_DATA_DIR": str(folder),
        "CQE_RATE_LIMIT_DEFAULT": "100000000/60",
        "CQE_LOG_LEVEL": "WARNING",
        "BENCH_KEY": issued.pair.api_key,
        "BENCH_SECRET": issued.pair.secret,
        "BENCH_ENGAGEMENT": made["id"],
    }


@contextlib.contextmanager
def serving(
    application: str, environment: dict[str, str], *options: str
) -> Iterator[tuple[int, int]]:
    """Run gunicorn on a free port; yields the port and the process group."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "gunicorn", *GUNICORN, *options]
    command += ["-b", f"127.0.0.1:{port}", application]
    log = subprocess.DEVNULL
    process = subprocess.Popen(
        command, env=environment, start_new_session=True, stderr=log, stdout=log
    )
    try:
        wait_for(port)
        yield port, process.pid
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(20)


def wait_for(port: int) -> None:
    for _ in range(200):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise SystemExit("the server did not start")


@contextlib.contextmanager
def queue_server(folder: Path) -> Iterator[str]:
    """Run the embedded queue server where its wheel is installed; yields its address."""
    binary = bundled_program()
    if not binary:
        yield ""
        return
    path = folder / "queue.sock"
    process = subprocess.Popen(
        [binary, "--port", "0", "--unixsocket", str(path), "--save", "", "--dir", str(folder)],
        stdout=subprocess.DEVNULL,
    )
    try:
        while not path.exists():
            time.sleep(0.02)
        yield f"unix://{path}?db=0"
    finally:
        process.terminate()
        process.wait(10)


if __name__ == "__main__":
    main()
