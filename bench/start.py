"""Time from the command to the first healthy answer on an existing folder, and memory of the idle service.

python -m bench.start [--rounds 3] [--idle 10]
"""

import argparse
import http.client
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from bench.service import free_port

HELP: tuple[list[str], ...] = ([], ["keys"], ["up"])
# A web process takes more memory once it has answered: enough requests for each to do so.
_REQUESTS = 50


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--idle", type=float, default=10, help="seconds before memory is read")
    chosen = options.parse_args()
    for arguments in HELP:
        shown = " ".join(["cqe", *arguments, "--help"])
        print(f"{shown:32} {cpu_of_help(arguments):6.2f} s of CPU")
    with tempfile.TemporaryDirectory() as folder:
        first = start(Path(folder), idle_s=0)[0]
        print(f"{'first start, tables made':32} {first:6.2f} s to healthy")
        starts = [start(Path(folder), idle_s=0)[0] for _ in range(chosen.rounds)]
        print(f"{'start on an existing folder':32} {statistics.median(starts):6.2f} s to healthy")
        memory = start(Path(folder), idle_s=chosen.idle)[1]
        print(f"{'memory, idle':32} {sum(memory.values()):6.1f} MiB (PSS of all processes)")
        for name, mib in sorted(memory.items(), key=lambda item: -item[1]):
            print(f"  {name:30} {mib:6.1f}")


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-P", "-m", "app.cli", *arguments]


def cpu_of_help(arguments: list[str]) -> float:
    before = os.times()
    subprocess.run(command(*arguments, "--help"), stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])


def start(folder: Path, *, idle_s: float) -> tuple[float, dict[str, float]]:
    """Return the seconds to the first healthy answer, and the memory by process after a while."""
    port = free_port()
    environment = {**os.environ, "CQE_DATA_DIR": str(folder / "instance"), "CQE_PORT": str(port)}
    began = time.monotonic()
    output = folder / "output.txt"
    with output.open("wb") as file:
        process = subprocess.Popen(command("up"), env=environment, stdout=file, stderr=file)
    try:
        while not is_healthy(port):
            if process.poll() is not None:
                raise SystemExit(output.read_text())
            time.sleep(0.01)
        took = time.monotonic() - began
        while "is ready" not in output.read_text():  # the worker has started as well
            time.sleep(0.1)
        for _ in range(_REQUESTS):
            is_healthy(port)
        time.sleep(idle_s)
        return took, memory_below(process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def is_healthy(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    with suppress(OSError, http.client.HTTPException):
        connection.request("GET", "/health")
        return connection.getresponse().status == http.client.OK
    return False


def memory_below(parent: int) -> dict[str, float]:
    """Return the proportional set size, in MiB, of a process and of all below it (Linux)."""
    listing = subprocess.run(
        ["ps", "-eo", "pid=,ppid=,comm="], capture_output=True, text=True, check=True
    )
    rows = [line.split(None, 2) for line in listing.stdout.splitlines()]
    memory = {f"up {parent}": pss_mib(parent)}
    above = [parent]
    while above:
        current = above.pop()
        for pid, ppid, name in rows:
            if int(ppid) == current:
                above.append(int(pid))
                memory[f"{name} {pid}"] = pss_mib(int(pid))
    return memory


def pss_mib(pid: int) -> float:
    with suppress(OSError):
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        if match := re.search(r"^Pss:\s+(\d+) kB", rollup, re.MULTILINE):
            return int(match[1]) / 1024
    return 0.0


if __name__ == "__main__":
    main()
