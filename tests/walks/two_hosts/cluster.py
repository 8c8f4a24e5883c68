"""Two hosts of one deployment: a data folder and a name each, and a network that can fail."""

import base64
import os
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
from redis import Redis

from app.api_keys import service as api_keys
from app.core.runtime import Runtime
from app.core.settings import Settings
from app.wiring import build_runtime
from tests.caller import Caller
from tests.silent_proxy import SilentProxy
from tests.waiting import wait_until
from tests.walks.service_process import ServiceProcess

# `cqe up` on a machine whose clock is so many seconds ahead.
_UP_WITH_OTHER_CLOCK = """
import sys, time, time_machine
time_machine.travel(time.time() + float(sys.argv.pop(1)), tick=True).start()
from app.cli import main
sys.argv[1:] = ["up"]
main()
"""


# An S3 server of the tests checks no signature.
_STORAGE_SECRETS: dict[str, Any] = {"storage_access_key": "AKIDEXAMPLE", "storage_secret": "secret"}
_OVERLOADED = b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class FailingNetwork(SilentProxy):
    """A connection to a server that passes, falls silent, is cut, or only answers 503."""

    _is_cut = False
    _is_overloaded = False

    def cut(self) -> None:
        """End all connections, and each new one."""
        self._is_cut = True
        self._end_connections()

    def answer_503(self) -> None:
        """Answer each HTTP request with 503."""
        self._is_overloaded = True
        self._end_connections()

    def recover(self) -> None:
        """Pass everything again."""
        self._is_cut = self._is_overloaded = False
        super().recover()

    def _end_connections(self) -> None:
        for client in self._clients:
            with suppress(OSError):  # closed meanwhile
                client.shutdown(socket.SHUT_RDWR)

    def _serve(self, client: socket.socket) -> None:
        if self._is_cut:
            client.close()
        elif self._is_overloaded:
            with client:
                client.recv(65536)
                client.sendall(_OVERLOADED)
        else:
            super()._serve(client)


@dataclass
class Shared:
    """Database, queue server, storage and keys, which all hosts of a deployment share.

    `storage_url` may end in an address of 127.0.0.1, to which each host has a connection that can
    fail, and callers another one.
    """

    database_url: str
    redis_port: int
    storage_url: str
    master_keys: str
    ca_bundle: str

    def runtime(self, data_dir: Path) -> Runtime:
        """Build a runtime of the test's own, which no failure of the network affects."""
        settings = Settings(
            data_dir=data_dir,
            database_url=self.database_url,
            redis_url="none",
            master_keys=self.master_keys,
            storage_url=self.storage_url,
            **_STORAGE_SECRETS,
        )
        return build_runtime(settings)


class TestHost:
    """One host: `up` with both of its connections."""

    __test__ = False

    def __init__(self, name: str, folder: Path, shared: Shared) -> None:
        self.name = name
        self.shared = shared
        self.folder = folder / name
        self.folder.mkdir()
        address = urlsplit(shared.database_url)
        self.database = FailingNetwork(address.hostname or "", address.port or 5432)
        self.redis = FailingNetwork("127.0.0.1", shared.redis_port)
        storage_url, _, storage_port = shared.storage_url.partition("http://127.0.0.1:")
        self.storage = FailingNetwork("127.0.0.1", int(storage_port or 0))
        if storage_port:
            storage_url += f"http://127.0.0.1:{self.storage.port}"
            storage_url += f"&public=http://127.0.0.1:{storage_port}"
        place = f"{address.username}{f':{address.password}' if address.password else ''}"
        self._variables: dict[str, Any] = {
            "CQE_HOST_ID": name,
            "CQE_DATABASE_URL": f"postgresql://{place}@127.0.0.1:{self.database.port}{address.path}",
            "CQE_REDIS_URL": f"redis://127.0.0.1:{self.redis.port}/0",
            "CQE_STORAGE_URL": storage_url,
            **{f"CQE_{name.upper()}": value for name, value in _STORAGE_SECRETS.items()},
            "CQE_MASTER_KEYS": shared.master_keys,
            "CQE_WEBHOOK_ALLOWED_CIDRS": "127.0.0.0/8",
            "CQE_WEBHOOK_CA_BUNDLE": shared.ca_bundle,
        }
        self.process: ServiceProcess | None = None

    def start(self, *, clock_ahead_s: float = 0.0, port: int = 0, **variables: str) -> None:
        """Start the service, with these settings, without waiting for it."""
        command = None
        if clock_ahead_s:
            command = [sys.executable, "-P", "-c", _UP_WITH_OTHER_CLOCK, str(clock_ahead_s)]
        self.process = ServiceProcess(
            self.folder / "instance",
            command=command,
            port=port,
            **{**self._variables, **variables},
        )

    @property
    def running(self) -> ServiceProcess:
        assert self.process is not None
        return self.process

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.running.port}"

    def status_of(self, path: str) -> int:
        """Ask for a page without a key; 0 when nobody answers."""
        try:
            return requests.get(f"{self.base}{path}", timeout=20).status_code
        except requests.RequestException:
            return 0

    def wait_ready(self) -> None:
        wait_until(
            lambda: self.status_of("/health/ready") == 200, describe=lambda: self.running.text
        )

    def kill(self) -> None:
        """Kill every process of the host at once."""
        self.running.end()

    def close(self) -> None:
        if self.process is not None:
            self.process.end()
        self.database.close()
        self.redis.close()
        self.storage.close()

    def recover(self) -> None:
        """Let all connections pass everything again."""
        for network in (self.database, self.redis, self.storage):
            network.recover()


def new_master_keys() -> str:
    return f"k1:{base64.b64encode(os.urandom(32)).decode()}"


def make_caller(runtime: Runtime, base: str) -> Caller:
    with runtime.db.writing() as session:
        issued = api_keys.create_key(session, runtime.keyring, name="walk", scopes=["*"])
    return Caller(base, issued.pair.api_key, issued.pair.secret, key_id=issued.key.id)


def redis_answers(port: int) -> bool:
    try:
        return bool(Redis(port=port).ping())
    except OSError:
        return False


class Balancer:
    """Sends each request to a host that takes it, and none to one that was away until it is ready."""

    def __init__(self, hosts: Sequence[TestHost]) -> None:
        self._hosts = hosts
        self._away: set[str] = set()
        self.statuses: list[int] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self, make_caller_of: Callable[[str], Caller]) -> None:
        self._callers = [make_caller_of(host.base) for host in self._hosts]
        self._thread.start()

    def stop(self) -> list[int]:
        """Stop, and return the statuses of all requests; 0 for one that no host took."""
        self._ended.set()
        self._thread.join()
        return self.statuses

    def _run(self) -> None:
        number = 0
        while not self._ended.wait(0.01):
            number += 1
            self.statuses.append(self._send(number))

    def _send(self, number: int) -> int:
        body = {"name": f"engagement {number}", "type": "qa"}
        turn = number % len(self._callers)
        for caller in [*self._callers[turn:], *self._callers[:turn]]:
            if caller.base in self._away and not is_ready(caller.base):
                continue
            self._away.discard(caller.base)
            try:
                return caller.post("/engagements", body).status_code
            except requests.ConnectionError as error:
                # Only a request that no host has seen may be sent to another one.
                if "refused" not in str(error):
                    raise
                self._away.add(caller.base)
        return 0


def is_ready(base: str) -> bool:
    """Return whether a host answers within half a second that it is ready."""
    try:
        return requests.get(f"{base}/health/ready", timeout=0.5).status_code == 200
    except requests.RequestException:
        return False
