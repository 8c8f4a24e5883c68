"""A load generator, and the bare Flask route that the API is compared with.

Its keep-alive sockets send prepared bytes, so that little of the load is its own.
"""

import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from flask import Flask, Response, jsonify

reference = Flask(__name__)


@reference.get("/")
def hello() -> Response:
    return jsonify({"hello": "world"})


@dataclass
class Load:
    """Results of one run: latencies in seconds, answers by status, CPU seconds of the server."""

    latencies_s: list[float] = field(default_factory=list)
    statuses: dict[int, int] = field(default_factory=dict)
    wall_s: float = 0.0
    cpu_s: float = 0.0

    @property
    def per_second(self) -> float:
        return len(self.latencies_s) / self.wall_s

    @property
    def cpu_ms(self) -> float:
        return self.cpu_s / len(self.latencies_s) * 1000

    def percentile_ms(self, share: float) -> float:
        ordered = sorted(self.latencies_s)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000


def run(
    port: int,
    build: Callable[[], bytes],
    *,
    connections: int,
    seconds: float,
    group: int,
) -> Load:
    """Send what `build` returns over so many connections for so long.

    Args:
        group: process group of the server, whose CPU time is read before and after.
    """
    load = Load()
    lock = threading.Lock()
    ends_at = time.perf_counter() + seconds

    def work() -> None:
        latencies: list[float] = []
        statuses: dict[int, int] = {}
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while (started := time.perf_counter()) < ends_at:
                connection.sendall(build())
                status = _read_answer(connection)
                latencies.append(time.perf_counter() - started)
                statuses[status] = statuses.get(status, 0) + 1
        with lock:
            load.latencies_s += latencies
            for status, number in statuses.items():
                load.statuses[status] = load.statuses.get(status, 0) + number

    cpu_before, started = cpu_of_group(group), time.perf_counter()
    threads = [threading.Thread(target=work) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    load.wall_s = time.perf_counter() - started
    load.cpu_s = cpu_of_group(group) - cpu_before
    return load


def cpu_of_group(group: int) -> float:
    """Return the CPU seconds that the living processes of a group have used."""
    ticks = 0
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[2]) == group:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / 100


def _read_answer(connection: socket.socket) -> int:
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        if not part:
            raise ConnectionError("the server closed the connection")
        data += part
    head, body = data.split(b"\r\n\r\n", 1)
    length = 0
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    while len(body) < length:
        body += connection.recv(65536)
    return int(head.split(b" ", 2)[1])
