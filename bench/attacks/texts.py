"""Attacks with texts: bodies that are slow to mask, JSON of many values, imports that last."""

import contextlib
import http.client
import json
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from app.core.settings import Settings
from app.redaction.conversation_text import SpeakerTurn
from app.redaction.masking import mask_turns
from app.wiring import build_runtime
from bench.attacks.row import Row
from bench.service import Signer, environment_of, free_port, new_key

_MIB = 1024 * 1024
_MESSAGES, _MESSAGE_LENGTH = 50, 19_900
# What was found to cost most, with the words that make the masking look for everything.
_CUES = "my name is Bob at com pin card address born password iban passport 12 1234 "
_PLAIN = "They said that the parcel would be here on Monday, and nobody has come since. "
_WORST = (
    *("4 ", "1,", "4-", "4.", "1 Main St ", "dob 1/2/3 ", "A1 ", "six ", _PLAIN),
    *("my name of a b c ", "name is ", "This is Bob ", "d.o.b. ", "at ", "12 a b c street "),
)
_ALL_CUES = (
    "my name frau mr regards speaking this is calling here street who is spell password call me "
    "for c welcome to ich "
)
_SHORT = "am i Abc 1 may my name is here call me mr who is name so born 12 "
# As often as needed for the masking to look for everything everywhere.
_MIXED = tuple(_ALL_CUES + filler * 60 for filler in ("a b c ", "d.o.b. "))
_MASKED_S = 1.0
_ROW = "{},customer,Where is my parcel {}? It was to come on Monday and I am waiting.\n"
_SENDERS = 4
_ATTACK_S, _CONTROL_S = 20.0, 5.0
_SLOWEST_S = 1.0
_MOST_WEB_MIB, _MOST_WORKER_MIB = 250, 400
_SHORT_IMPORT_S = 60.0


def rows(folder: Path) -> Iterator[Row]:
    """Run the attacks, each on a service of its own."""
    yield _masking(_WORST)
    yield _masking(_MIXED)
    yield _masking([_SHORT], messages=10_000)
    with _Service(folder / "texts") as service:
        yield from _large_bodies(service)
    with _Service(folder / "values") as service:
        yield _many_values(service)
    lines = [_ROW.format(number // 10, number) for number in range(100 * _MIB // len(_ROW))]
    one = ["x,customer,Hello.\n"] * (80 * _MIB // 18)
    for what, rows_ in (("of 100 MiB", lines), ("with 4.6 million rows of one conversation", one)):
        with _Service(folder / f"imports-{len(rows_)}") as service:
            yield _long_import(service, what, "".join(rows_).encode())


class _Service:
    """A service on a free port, as `up` starts it, and what a caller does with it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.port = free_port()
        more = {
            "CQE_PORT": str(self.port),
            "CQE_WORKERS": "2",
            "CQE_HOST": "127.0.0.1",
            "CQE_PUBLIC_URL": f"http://127.0.0.1:{self.port}",
        }
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "app.cli", "up"],
            env=environment_of(folder, **more),
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def __enter__(self) -> Self:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with contextlib.suppress(OSError):
                if self._is_ready():
                    runtime = build_runtime(Settings(data_dir=self._folder))
                    self._sign = Signer(new_key(runtime))
                    runtime.db.engine.dispose()
                    return self
            time.sleep(0.2)
        raise RuntimeError("the service did not start")

    def _is_ready(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        with contextlib.closing(connection):
            connection.request("GET", "/health/ready")
            return connection.getresponse().status == 200

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(30)
        self._process.kill()

    def send(self, method: str, target: str, document: object = None) -> tuple[int, Any]:
        """Send a signed request; return the status and the answer."""
        body = b"" if document is None else json.dumps(document).encode()
        raw = self._sign(method, target, body)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.connect()
        with contextlib.closing(connection):
            connection.sock.sendall(raw)
            answer = http.client.HTTPResponse(connection.sock, method=method)
            answer.begin()
            return answer.status, json.loads(answer.read())

    def upload(self, name: str, content: bytes, **fields: str) -> str:
        """Upload a file to import; return the id of the import."""
        body = {
            "fileName": name,
            "sizeBytes": len(content),
            "sha256": sha256(content).hexdigest(),
            "evaluate": False,
            **fields,
        }
        _, answer = self.send("POST", "/v1/imports/files/upload-url", body)
        reserved = answer["data"]
        url = urlsplit(reserved["uploadUrl"])
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            connection.request("PUT", f"{url.path}?{url.query}", content, reserved["headers"])
            assert connection.getresponse().status == 201
        return str(reserved["importId"])

    def status_of(self, import_id: str) -> str:
        """Return the status of an import."""
        return str(self.send("GET", f"/v1/imports/{import_id}")[1]["data"]["status"])

    def memory_mib(self, name: str) -> float:
        """Return the resident memory of the largest process of this name."""
        listed = subprocess.run(
            ["ps", "-s", str(self._process.pid), "-o", "rss=,comm="],
            capture_output=True,
            text=True,
            check=True,
        )
        sizes = (line.split(maxsplit=1) for line in listed.stdout.splitlines())
        return max((int(size) / 1024 for size, comm in sizes if comm.startswith(name)), default=0)

    def slowest_s(self, during_s: float) -> float:
        """Return the slowest answer to others: `GET /health` and a signed GET every 100 ms."""
        slowest, until = 0.0, time.monotonic() + during_s
        while time.monotonic() < until:
            for target in ("/health", "/v1/engagements"):
                begun = time.monotonic()
                status, _ = self.send("GET", target)
                slowest = max(slowest, time.monotonic() - begun)
                assert status == 200, target
            time.sleep(0.1)
        return slowest


def _masking(units: Sequence[str], *, messages: int = _MESSAGES) -> Row:
    slowest_s, unit = max((_masked_s(unit, messages), unit) for unit in units)
    return Row(
        f"1 MB of {textwrap.shorten(repr(unit), 60)} in {messages:,} turns of two people, masked",
        f"{slowest_s:.2f} s of processor time, the least of three",
        f"{_masked_s(_PLAIN, messages):.2f} s for plain sentences",
        f"{_MASKED_S:.0f} s",
        slowest_s < _MASKED_S,
    )


def _masked_s(unit: str, messages: int) -> float:
    """Return the processor time of masking 1 MB of this, the least of three runs."""
    length = _MESSAGES * _MESSAGE_LENGTH // messages
    text = _text_of(unit) if messages == _MESSAGES else (unit * length)[:length]
    turns = [
        SpeakerTurn(str(place % 2), f"{place} {text}", is_service=bool(place % 2))
        for place in range(messages)
    ]
    times = []
    for _ in range(3):
        begun = time.process_time()
        mask_turns(turns)
        times.append(time.process_time() - begun)
    return min(times)


def _text_of(unit: str) -> str:
    return (_CUES + unit * _MESSAGE_LENGTH)[:_MESSAGE_LENGTH]


def _large_bodies(service: _Service) -> Iterator[Row]:
    before = service.slowest_s(_CONTROL_S)
    memory_before = service.memory_mib("cqe: web")
    ends_at = time.monotonic() + _ATTACK_S
    statuses: list[int] = []
    senders = [
        threading.Thread(target=_send_texts, args=(service, sender, ends_at, statuses))
        for sender in range(_SENDERS)
    ]
    for sender in senders:
        sender.start()
    slowest = service.slowest_s(_ATTACK_S)
    for sender in senders:
        sender.join()
    yield Row(
        f"{len(statuses)} conversations of 1 MB from {_SENDERS} connections",
        f"slowest of other requests {slowest:.2f} s",
        f"{before:.2f} s",
        f"{_SLOWEST_S:.0f} s",
        slowest < _SLOWEST_S and set(statuses) <= {201, 503},
    )
    memory = service.memory_mib("cqe: web")
    yield Row(
        "the same, afterwards",
        f"largest web process {memory:.0f} MiB",
        f"{memory_before:.0f} MiB",
        f"{_MOST_WEB_MIB} MiB",
        memory < _MOST_WEB_MIB,
    )


def _send_texts(service: _Service, sender: int, ends_at: float, statuses: list[int]) -> None:
    number, units = 0, _WORST + _MIXED
    while time.monotonic() < ends_at:
        number += 1
        unit = units[(sender + number) % len(units)]
        text = _text_of(unit)
        messages = [{"role": "customer", "text": f"{place} {text}"} for place in range(_MESSAGES)]
        target = f"/v1/imports/conversations/chat-{sender}-{number}?evaluate=false"
        statuses.append(service.send("PUT", target, {"messages": messages})[0])


def _many_values(service: _Service) -> Row:
    before = _most_memory(service, b'["' + b"a" * (32 * _MIB - 4) + b'"]')
    values = b"[" + b"{}," * (32 * _MIB // 3 - 1) + b"{}]"
    most = _most_memory(service, values)
    return Row(
        "a file of 32 MiB with 11 million values",
        f"largest worker {most:.0f} MiB",
        f"{before:.0f} MiB for a file with one value",
        f"{_MOST_WORKER_MIB} MiB",
        most < _MOST_WORKER_MIB,
    )


def _most_memory(service: _Service, content: bytes) -> float:
    import_id = service.upload("march.json", content, format="contact_lens")
    most, until = 0.0, time.monotonic() + 60
    while service.status_of(import_id) in ("queued", "running") and time.monotonic() < until:
        most = max(most, service.memory_mib("cqe: imports"))
        time.sleep(0.02)
    return most


def _long_import(service: _Service, what: str, content: bytes) -> Row:
    control = _import_one(service, "first")
    long_id = service.upload("march.csv", b"conversation_id,role,text\n" + content)
    while service.status_of(long_id) == "queued":
        time.sleep(0.2)
    time.sleep(10)
    taken = _import_one(service, "second")
    goes_on = service.status_of(long_id) in ("queued", "running")
    return Row(
        f"a CSV file {what}",
        f"an import of one chat took {taken:.0f} s",
        f"{control:.0f} s",
        f"{_SHORT_IMPORT_S:.0f} s",
        goes_on and taken < _SHORT_IMPORT_S,
    )


def _import_one(service: _Service, name: str) -> float:
    """Import one conversation; return how long that took, or the bound twice."""
    item = {"externalId": name, "messages": [{"role": "agent", "text": "Hello."}]}
    begun = time.monotonic()
    body = {"format": "native", "items": [item], "evaluate": False}
    import_id = service.send("POST", "/v1/imports", body)[1]["data"]["id"]
    while time.monotonic() - begun < 2 * _SHORT_IMPORT_S:
        if service.status_of(import_id) == "completed":
            break
        time.sleep(0.1)
    return time.monotonic() - begun
