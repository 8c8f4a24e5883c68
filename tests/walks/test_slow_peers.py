"""Slow peers on real sockets: none of them keeps the service from answering others."""

import json
import os
import re
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.client import HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from app.core.runtime import Runtime
from app.operations.processes.access_log import AccessLog
from app.operations.processes.web import GUNICORN_OPTIONS
from tests.caller import Caller, error_code
from tests.recordings import reserve, send, show
from tests.sender_process import environment_of
from tests.waiting import wait_until
from tests.walks.service_process import ServiceProcess, answered, count_served, is_refused
from tests.web_process import WebProcess, serve_web

pytestmark = pytest.mark.long

MIB = 1024 * 1024
CUT_OFF_AFTER_S = 10
THREADS = 2 * 4
# Longer than a stalled body may take, and just faster than the slowest that is read.
STEADY_S = CUT_OFF_AFTER_S + 2
STEADY_BYTES_PER_S = 5_000
HALF_A_HEAD = b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-"
HALF_A_BODY = b"POST /v1/engagements HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500000\r\n\r\n{"
HALF_A_WEBHOOK = (
    b"POST /intake/twilio HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\n\r\nCallSid=CA"
)
STEADY_BYTES = STEADY_S * STEADY_BYTES_PER_S
STEADY_BODY = (
    b"POST /v1/engagements HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % STEADY_BYTES
)
REFUSED_UPLOAD = (
    b"PUT /storage/v1/aud_x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000000\r\n\r\nx"
)
LARGE_ANSWER = b"GET /docs/swagger-ui/swagger-ui-bundle.js HTTP/1.1\r\nHost: localhost\r\n\r\n"

Open = Callable[[bytes, int], list[socket.socket]]


@pytest.fixture(scope="module")
def service(module_data_dir: Path) -> Iterator[ServiceProcess]:
    """A service with two web processes of four threads each, so with four transfer slots."""
    started = ServiceProcess(
        module_data_dir,
        "up",
        "--no-worker",
        CQE_WORKERS="2",
        CQE_THREADS="4",
    )
    yield started.wait_ready()
    started.end()


@pytest.fixture(scope="module")
def client(service: ServiceProcess) -> Caller:
    """A caller with every scope."""
    return service.caller()


@pytest.fixture
def opened(service: ServiceProcess) -> Iterator[Open]:
    """Open connections that send so much and then neither send nor read."""
    with ExitStack() as stack:

        def open_connections(sent: bytes, count: int) -> list[socket.socket]:
            connections = []
            for _ in range(count):
                connection = stack.enter_context(socket.socket())
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                connection.settimeout(60)
                connection.connect(("127.0.0.1", service.port))
                connection.sendall(sent)
                connections.append(connection)
            return connections

        yield open_connections


@pytest.mark.parametrize(
    "headers",
    [
        b"Content-Length: 1\r\nContent-Length: 1\r\n",
        b"Content-Length: -1\r\n",
        b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
    ],
)
def test_a_request_of_contradictory_length_is_answered_and_ends_no_process(
    service: ServiceProcess, opened: Open, headers: bytes
) -> None:
    # The parent process and both that answer: one of them is enough to be ready.
    wait_until(lambda: list(service.children().values()).count("cqe: web") == 3)
    before = service.children()
    (connection,) = opened(
        b"POST /v1/engagements HTTP/1.1\r\nHost: localhost\r\n" + headers + b"\r\n{", 1
    )
    assert refusal(connection) == (400, "MALFORMED_REQUEST")
    assert service.health()["code"] == 200
    assert service.children() == before


@pytest.mark.parametrize(
    ("request_line", "refused"),
    [
        (b"GET /health?" + b"a" * 4090 + b" HTTP/1.1", (414, "URI_TOO_LONG")),
        (b"nonsense", (400, "MALFORMED_REQUEST")),
        (b"GET /health HTTP/9.9", (400, "MALFORMED_REQUEST")),
        (b"g\xffT /health HTTP/1.1", (400, "MALFORMED_REQUEST")),
    ],
    ids=["long", "nonsense", "version", "method"],
)
def test_a_request_that_cannot_be_read_is_refused_in_the_envelope(
    opened: Open, request_line: bytes, refused: tuple[int, str]
) -> None:
    (connection,) = opened(request_line + b"\r\nHost: localhost\r\n\r\n", 1)
    assert refusal(connection) == refused


def refusal(connection: socket.socket) -> tuple[int, str]:
    """Return the status and the code of a refusal of the web server, having checked its envelope."""
    answer = HTTPResponse(connection)
    answer.begin()
    error = json.loads(answer.read())["error"]
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Connection"] == "close"
    assert answer.headers["X-Request-Id"] == error["requestId"]
    return answer.status, error["code"]


def ask_beside(service: ServiceProcess, open_slow: Callable[[], list[socket.socket]]) -> None:
    """Get ten answers, each while the service has more slow peers than threads.

    An answer that waits until they are cut off does not count, whether the service or the machine is slow.
    """
    slow = open_slow()
    counted = 0

    def have_come() -> bool:
        nonlocal slow, counted
        assert service.health()["code"] == 200
        if count_served(service.port, slow) > 2 * THREADS:
            counted += 1
        else:
            slow = open_slow()
        return counted == 10

    wait_until(have_come, every_s=0)


@pytest.mark.parametrize(
    ("sent", "count"),
    [
        (HALF_A_HEAD, 200),
        (HALF_A_BODY, 200),
        (HALF_A_WEBHOOK, 200),
        (REFUSED_UPLOAD, 40),
        (b"", 200),
        (LARGE_ANSWER, 40),
    ],
    ids=["half heads", "half bodies", "half webhooks", "refused uploads", "idle", "slow readers"],
)
def test_slow_peers_do_not_hold_up_others(
    service: ServiceProcess, opened: Open, sent: bytes, count: int
) -> None:
    ask_beside(service, lambda: opened(sent, count))


def test_slow_peers_of_all_kinds_do_not_hold_up_others(
    service: ServiceProcess, opened: Open
) -> None:
    ask_beside(
        service,
        lambda: opened(HALF_A_HEAD, 200) + opened(b"", 200) + opened(LARGE_ANSWER, 40),
    )


def test_more_connections_than_a_process_takes_do_not_keep_others_out(
    service: ServiceProcess, opened: Open
) -> None:
    opened(b"", 1500)
    assert service.health()["code"] == 200


def test_what_stalls_or_drips_is_cut_off_and_what_moves_is_read(
    service: ServiceProcess, client: Caller, opened: Open
) -> None:
    reserved = reserve(client, 3 * MIB)
    began_at = time.monotonic()
    [upload] = opened(upload_head(reserved["uploadUrl"], 3 * MIB), 1)
    upload.sendall(b"x" * MIB)
    wait_until(lambda: len(partial_files(service)) == 1)
    [half_a_head], [half_a_body] = opened(HALF_A_HEAD, 1), opened(HALF_A_BODY, 1)
    [half_a_webhook] = opened(HALF_A_WEBHOOK, 1)
    [dripping_head], [steady_body] = opened(HALF_A_HEAD, 1), opened(STEADY_BODY, 1)
    slow = [upload, half_a_head, half_a_body, half_a_webhook, dripping_head]
    steady_since = time.monotonic()
    steady_bytes = 0
    for _ in range(4 * CUT_OFF_AFTER_S):
        time.sleep(1)
        cut_off = answered(slow)
        assert not cut_off or time.monotonic() - began_at > CUT_OFF_AFTER_S - 1
        if dripping_head not in cut_off:
            dripping_head.sendall(b"a")
        if steady_bytes < STEADY_BYTES:
            # By the clock: a busy machine may sleep longer.
            due_bytes = int((time.monotonic() - steady_since) * STEADY_BYTES_PER_S)
            step_bytes = min(due_bytes, STEADY_BYTES) - steady_bytes
            steady_body.sendall(b"x" * step_bytes)
            steady_bytes += step_bytes
        elif len(cut_off) == len(slow):
            break
    assert answered(slow) == slow
    assert steady_body.recv(100).startswith(b"HTTP/1.1 401 ")
    for late in (half_a_head, half_a_body, half_a_webhook, dripping_head):
        assert refusal(late) == (408, "REQUEST_TIMEOUT")
    assert upload.recv(100).startswith(b"HTTP/1.1 422 ")
    assert partial_files(service) == []
    assert show(client, reserved["audioFileId"])["status"] == "pending_upload"
    assert send(reserved, b"x" * (3 * MIB)).status_code == 201


def test_a_head_that_is_too_large_is_refused(opened: Open) -> None:
    connection = opened(HALF_A_HEAD + b"a" * 40_000, 1)[0]
    assert refusal(connection) == (431, "REQUEST_HEADERS_TOO_LARGE")


def test_requests_sent_together_are_answered_in_order(opened: Open) -> None:
    connection = opened(
        b"GET /v1/nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"
        b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
        b"GET /docs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        1,
    )[0]
    answers = b""
    while step := connection.recv(65536):
        answers += step
    assert re.findall(rb"HTTP/1.1 (\d+) ", answers) == [b"401", b"200", b"200"]


def test_a_peer_that_waits_for_100_continue_gets_it_once(opened: Open) -> None:
    connection = opened(
        b"POST /v1/engagements HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
        b"Content-Length: 2\r\nConnection: close\r\n\r\n",
        1,
    )[0]
    assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
    connection.sendall(b"{}")
    assert connection.recv(100).startswith(b"HTTP/1.1 401 ")


def test_a_peer_that_still_sends_sees_that_its_upload_is_refused(service: ServiceProcess) -> None:
    answer = requests.put(
        f"http://127.0.0.1:{service.port}/storage/v1/aud_01h455vb4pex5vsknk084sn02q",
        data=b"x" * (3 * MIB),
        timeout=20,
    )
    assert (answer.status_code, error_code(answer)) == (403, "URL_SIGNATURE_INVALID")
    assert answer.headers["Connection"] == "close"


@pytest.mark.parametrize(
    ("announced", "status"),
    [(b"Content-Length: 2000000", 413), (b"Transfer-Encoding: chunked", 411)],
)
def test_a_body_that_is_refused_unread_ends_the_connection(
    opened: Open, client: Caller, announced: bytes, status: int
) -> None:
    """A client that kept the connection would send its next request into a closed one."""
    head = b"POST /v1/engagements HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: %b\r\n%b\r\n\r\n"
    answer = opened(head % (client.api_key.encode(), announced), 1)[0].makefile("rb")
    assert answer.readline().split()[1] == b"%d" % status
    assert b"\r\nconnection: close\r\n" in answer.read().lower()


def test_a_full_set_of_transfer_slots_is_answered_at_once(
    service: ServiceProcess, client: Caller, opened: Open
) -> None:
    uploads = [reserve(client, 9 * MIB) for _ in range(8)]
    heads = [upload_head(upload["uploadUrl"], 9 * MIB) for upload in uploads]
    connections = [opened(head, 1)[0] for head in heads]
    wait_until(lambda: len(answered(connections)) >= 4)
    for connection in answered(connections):
        answer = connection.recv(4096)
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"\r\nRetry-After: 2\r\n" in answer
    assert service.health()["code"] == 200
    assert send(reserve(client, 1000), b"x" * 1000).status_code == 201


def upload_head(url: str, size_bytes: int) -> bytes:
    parts = urlsplit(url)
    return (
        f"PUT {parts.path}?{parts.query} HTTP/1.1\r\nHost: {parts.netloc}\r\n"
        f"Content-Type: audio/wav\r\nContent-Length: {size_bytes}\r\n\r\n"
    ).encode()


def partial_files(service: ServiceProcess) -> list[str]:
    storage = service.output.parent / "instance" / "storage"
    return [file.name for file in storage.rglob("*.part")]


def test_a_stop_closes_the_port_while_a_slow_download_is_served(
    service: ServiceProcess, client: Caller
) -> None:
    # The last test of the module, because it stops the service.
    size_bytes = 9 * MIB
    reserved = reserve(client, size_bytes)
    assert send(reserved, b"x" * size_bytes).status_code == 201
    link = client.get(f"/audio-files/{reserved['audioFileId']}/download-url").json()["data"]
    url = urlsplit(link["downloadUrl"])
    with socket.create_connection(("127.0.0.1", service.port)) as peer:
        peer.sendall(f"GET {url.path}?{url.query} HTTP/1.1\r\nHost: {url.netloc}\r\n\r\n".encode())
        assert peer.recv(100).startswith(b"HTTP/1.1 200 ")
        time.sleep(0.5)  # The download now waits for its reader.
        service.process.send_signal(signal.SIGTERM)
        wait_until(lambda: is_refused(service.port))
        assert service.process.poll() is None


def test_a_stop_answers_what_the_kernel_has_taken_for_the_process(
    runtime: Runtime, tmp_path: Path
) -> None:
    web = WebProcess(environment_of(runtime.settings, CQE_WORKERS=1), tmp_path / "log")
    try:
        wait_until(lambda: requests.get(f"{web.base}/health", timeout=60).status_code == 200)
        [worker] = web.workers()
        os.kill(worker, signal.SIGSTOP)
        port = urlsplit(web.base).port
        peers = [socket.create_connection(("127.0.0.1", port), 60) for _ in range(5)]
        for peer in peers:
            peer.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        web.process.terminate()
        os.kill(worker, signal.SIGTERM)
        os.kill(worker, signal.SIGCONT)
        for peer in peers:
            assert peer.recv(100).startswith(b"HTTP/1.1 200 ")
            peer.close()
    finally:
        web.kill()


def test_an_answer_that_fails_ends_no_process(runtime: Runtime, tmp_path: Path) -> None:
    web = WebProcess(environment_of(runtime.settings), tmp_path / "log", serve_with_failing_log)
    try:
        wait_until(lambda: len(web.workers()) == runtime.settings.workers)
        before = web.workers()
        for _ in range(5):
            with pytest.raises(requests.ConnectionError):
                requests.get(f"{web.base}/health", headers={"Content-Length": "-1"}, timeout=5)
        assert web.workers() == before
        assert "A request could not be answered" in (tmp_path / "log").read_text()
    finally:
        web.kill()


class FailingLog(AccessLog):
    """A log that cannot be written: it fails again while a refusal is logged."""

    def warning(self, *_: Any, **__: Any) -> None:
        raise RuntimeError("no log")


def serve_with_failing_log(listener: socket.socket) -> None:
    GUNICORN_OPTIONS["logger_class"] = FailingLog
    serve_web(listener)
