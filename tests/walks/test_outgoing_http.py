"""The sender of requests against receivers that do everything wrong; real sockets, real TLS."""

import os
import resource
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from ipaddress import ip_network
from pathlib import Path

import pytest

from app.core.outgoing_http.addresses import AddressPolicy
from app.core.outgoing_http.client import RequestsClient, tls_context
from app.core.outgoing_http.reply import EXCERPT, AttemptOutcome, Reply
from tests import receiver as answers
from tests.receiver import Receiver, write_ca_bundle
from tests.waiting import PATIENCE_S

LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
# A request that may take so long, and takes less, did not wait for a peer that never ends.
LONG_S = PATIENCE_S
BODY = b'{"id":"evt_1"}'

Post = Callable[..., Reply]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture
def sender(tmp_path: Path) -> Iterator[RequestsClient]:
    sender = RequestsClient(AddressPolicy(LOOPBACK), ca_bundle=write_ca_bundle(tmp_path))
    yield sender
    sender.close()


@pytest.fixture
def post(sender: RequestsClient) -> Post:
    def post(url: str, timeout_s: float = LONG_S, **headers: str) -> Reply:
        return sender.post(url, headers=headers, body=BODY, timeout_s=timeout_s)

    return post


@contextmanager
def no_free_file_handle() -> Iterator[None]:
    kind = resource.RLIMIT_NOFILE
    before, most = resource.getrlimit(kind)
    fillers = []
    highest = max(int(each.name) for each in Path("/proc/self/fd").iterdir())
    resource.setrlimit(kind, (highest + 1, most))
    try:
        with suppress(OSError):
            while True:
                fillers.append(os.open(os.devnull, os.O_RDONLY))
        yield
    finally:
        resource.setrlimit(kind, (before, most))
        for each in fillers:
            os.close(each)


def timed(post: Post, url: str, timeout_s: float) -> tuple[Reply, float]:
    started = time.monotonic()
    return post(url, timeout_s), time.monotonic() - started


def test_the_request_is_what_was_given_and_nothing_more(receiver: Receiver, post: Post) -> None:
    reply = post(receiver.url("/hook?a=b%2Fc&d"), **{"X-Webhook-Id": "evt_1"})
    assert reply.outcome == AttemptOutcome.SUCCESS
    assert reply.status_code == 200
    assert reply.excerpt == "ok"
    assert reply.ip in ("127.0.0.1", "::1")
    [request] = receiver.requests
    assert request.path == "/hook?a=b%2Fc&d"
    assert request.body == BODY
    assert request.headers == {
        "host": f"localhost:{receiver.port}",
        "x-webhook-id": "evt_1",
        "accept-encoding": "identity",
        "content-length": str(len(BODY)),
    }


@pytest.mark.parametrize(
    "answer",
    [answers.hang, answers.trickle_headers],
    ids=["silent", "trickled headers"],
)
def test_the_timeout_is_one_for_the_whole_attempt(
    receiver: Receiver, post: Post, answer: answers.Answer
) -> None:
    reply, took_s = timed(post, receiver.script("/hook", answer), 0.4)
    assert reply.outcome == AttemptOutcome.TIMEOUT
    assert reply.status_code is None
    assert took_s >= 0.4


def test_certificates_of_a_file_are_trusted_besides_the_public_ones(tmp_path: Path) -> None:
    public = tls_context("").get_ca_certs()
    both = tls_context(write_ca_bundle(tmp_path)).get_ca_certs()
    assert len(both) == len(public) + 1 > 1


def test_the_timeout_holds_on_a_kept_connection_too(receiver: Receiver, post: Post) -> None:
    url = receiver.script("/hook", answers.status(200), answers.trickle_headers)
    assert post(url).outcome == AttemptOutcome.SUCCESS
    reply = post(url, 0.4)
    assert receiver.connections == 1
    assert reply.outcome == AttemptOutcome.TIMEOUT


def test_a_handshake_that_never_ends_is_a_timeout(post: Post) -> None:
    silent = Receiver(silent_handshake=True)
    reply = post(silent.url(), 0.4)
    silent.close()
    assert reply.outcome == AttemptOutcome.TIMEOUT


def test_good_headers_are_a_success_whatever_the_body_does(receiver: Receiver, post: Post) -> None:
    reply, took_s = timed(post, receiver.script("/hook", answers.trickle_body), LONG_S)
    assert reply.outcome == AttemptOutcome.SUCCESS
    assert set(reply.excerpt) == {"b"}
    assert reply.truncated
    assert reply.duration_ms <= 1000 * (took_s - EXCERPT.within_s) + 1
    assert took_s < LONG_S


def test_an_endless_body_is_not_read(receiver: Receiver, post: Post) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    reply, took_s = timed(post, receiver.script("/hook", answers.endless_body), LONG_S)
    assert reply.outcome == AttemptOutcome.SUCCESS
    assert len(reply.excerpt) == 1024
    assert reply.truncated
    assert took_s < LONG_S
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000


def test_endless_headers_are_an_error(receiver: Receiver, post: Post) -> None:
    reply = post(receiver.script("/hook", answers.endless_headers))
    assert reply.outcome == AttemptOutcome.CONNECTION_ERROR


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_a_failure_and_is_not_followed(
    receiver: Receiver, post: Post, code: int
) -> None:
    target = receiver.url("/elsewhere")
    url = receiver.script("/hook", answers.status(code, b"", f"Location: {target}"))
    reply = post(url)
    assert reply.outcome == AttemptOutcome.HTTP_ERROR
    assert reply.status_code == code
    assert receiver.received("/elsewhere") == []


@pytest.mark.parametrize("code", [200, 201, 202, 204, 299])
def test_every_2xx_is_a_success(receiver: Receiver, post: Post, code: int) -> None:
    url = receiver.script("/hook", answers.status(code, b""))
    assert post(url).outcome == AttemptOutcome.SUCCESS


@pytest.mark.parametrize("code", [304, 400, 401, 404, 410, 429, 500, 503])
def test_any_other_status_is_an_http_error(receiver: Receiver, post: Post, code: int) -> None:
    reply = post(receiver.script("/hook", answers.status(code, b"")))
    assert reply.outcome == AttemptOutcome.HTTP_ERROR
    assert reply.status_code == code


def test_cookies_are_not_kept(receiver: Receiver, post: Post) -> None:
    url = receiver.script("/hook", answers.status(200, b"", "Set-Cookie: session=1; Path=/"))
    post(url)
    post(url)
    assert "cookie" not in receiver.requests[1].headers


def test_the_environment_changes_nothing(
    receiver: Receiver, post: Post, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
        monkeypatch.setenv(name.lower(), "http://127.0.0.1:1")
    netrc = tmp_path / "netrc"
    netrc.write_text("machine localhost login someone password secret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/dev/null")
    assert post(receiver.url()).outcome == AttemptOutcome.SUCCESS
    assert "authorization" not in receiver.requests[0].headers


def test_a_connection_is_used_again(receiver: Receiver, post: Post) -> None:
    for _ in range(5):
        assert post(receiver.url()).outcome == AttemptOutcome.SUCCESS
    assert receiver.connections == 1


def test_a_kept_connection_that_was_closed_is_replaced_in_silence(
    receiver: Receiver, post: Post
) -> None:
    keep_then_close = answers.then_hang_up(answers.status(200))
    url = receiver.script("/hook", keep_then_close)
    for number in range(1, 4):
        reply = post(url)
        assert reply.outcome == AttemptOutcome.SUCCESS
        assert len(receiver.requests) == number
        receiver.wait_all_closed()


def test_a_kept_connection_that_dies_under_a_request_is_replaced_once(
    receiver: Receiver, post: Post
) -> None:
    url = receiver.script("/hook", answers.status(200), answers.hang_up, answers.status(202))
    assert post(url).status_code == 200
    assert post(url).status_code == 202
    assert receiver.connections == 2


def test_a_connection_is_not_used_again_after_a_refusal(receiver: Receiver, post: Post) -> None:
    # One that refuses may not have read the request, whose rest would spoil the next one.
    url = receiver.script("/hook", answers.status(500), answers.status(200))
    assert post(url).status_code == 500
    assert post(url).status_code == 200
    assert receiver.connections == 2


def test_a_fresh_connection_that_dies_is_an_error(receiver: Receiver, post: Post) -> None:
    reply = post(receiver.script("/hook", answers.hang_up))
    assert reply.outcome == AttemptOutcome.CONNECTION_ERROR
    assert len(receiver.requests) == 1


@pytest.mark.parametrize("with_reset", [False, True], ids=["closed", "reset"])
@pytest.mark.parametrize("is_kept", [False, True], ids=["new connection", "kept connection"])
@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\nX-Par",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n",
        b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n",
    ],
)
def test_a_success_needs_the_blank_line_after_the_headers(
    receiver: Receiver, post: Post, head: bytes, is_kept: bool, with_reset: bool
) -> None:
    cut_off = answers.cut_off(head, with_reset=with_reset)
    url = receiver.script("/hook", *[answers.status(200)] * is_kept, cut_off)
    if is_kept:
        post(url)
    reply = post(url)
    assert reply.outcome == AttemptOutcome.CONNECTION_ERROR
    assert reply.status_code is None
    assert receiver.connections == 1


@pytest.mark.parametrize("with_reset", [False, True], ids=["closed", "reset"])
def test_an_answer_that_ends_in_its_body_is_a_success(
    receiver: Receiver, post: Post, with_reset: bool
) -> None:
    cut_off = answers.cut_off(
        b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nhalf", with_reset=with_reset
    )
    reply = post(receiver.script("/hook", cut_off))
    assert reply.outcome == AttemptOutcome.SUCCESS
    assert reply.truncated


def test_an_answer_in_another_language_is_an_error(receiver: Receiver, post: Post) -> None:
    reply = post(receiver.script("/hook", answers.not_http))
    assert reply.outcome == AttemptOutcome.CONNECTION_ERROR


def test_a_refused_connection_is_an_error(post: Post) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    reply = post(f"https://localhost:{port}/hook")
    assert reply.outcome == AttemptOutcome.CONNECTION_ERROR


def test_a_name_without_an_address_is_an_error(post: Post) -> None:
    assert post("https://nowhere.invalid/hook").outcome == AttemptOutcome.CONNECTION_ERROR


def test_a_certificate_of_an_unknown_authority_is_refused(receiver: Receiver) -> None:
    sender = RequestsClient(AddressPolicy(LOOPBACK), ca_bundle="")
    reply = sender.post(receiver.url(), headers={}, body=BODY, timeout_s=LONG_S)
    sender.close()
    assert reply.outcome == AttemptOutcome.TLS_ERROR
    assert receiver.requests == []


def test_a_certificate_of_another_name_is_refused(post: Post) -> None:
    other = Receiver(names=["other.example"])
    reply = post(other.url())
    other.close()
    assert reply.outcome == AttemptOutcome.TLS_ERROR
    assert "localhost" in (reply.error or "")
    assert other.requests == []


def test_an_old_protocol_is_refused(receiver: Receiver, post: Post) -> None:
    assert receiver.context is not None
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        receiver.context.maximum_version = ssl.TLSVersion.TLSv1_1
    assert post(receiver.url()).outcome == AttemptOutcome.TLS_ERROR


def test_plain_http_where_tls_is_expected_is_a_tls_error(post: Post) -> None:
    with socket.create_server(("127.0.0.1", 0)) as plain:

        def refuse() -> None:
            visitor, _ = plain.accept()
            with visitor:
                visitor.recv(65536)
                visitor.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")

        answering = threading.Thread(target=refuse)
        answering.start()
        reply = post(f"https://127.0.0.1:{plain.getsockname()[1]}/hook")
        answering.join()
    assert reply.outcome == AttemptOutcome.TLS_ERROR


@pytest.mark.parametrize("url", ["https://127.0.0.1/", "https://[::1]/", "http://localhost/", "no"])
def test_a_url_that_the_policy_refuses_is_blocked(url: str) -> None:
    sender = RequestsClient(AddressPolicy(), ca_bundle="")
    reply = sender.post(url, headers={}, body=BODY, timeout_s=LONG_S)
    sender.close()
    assert reply.outcome == AttemptOutcome.BLOCKED_URL
    assert "127.0.0.1" not in (reply.error or "")


def test_the_excerpt_is_text_of_at_most_1024_bytes(receiver: Receiver, post: Post) -> None:
    url = receiver.script("/hook", answers.status(200, b"\x00\xff" + "ä".encode() * 2000))
    excerpt = post(url).excerpt
    assert len(excerpt.encode()) <= 1024
    assert "\0" not in excerpt


def test_a_failure_of_the_service_itself_says_nothing_of_the_receiver(
    receiver: Receiver, post: Post
) -> None:
    url = receiver.url(host="127.0.0.1")
    with no_free_file_handle():
        starved = post(url)
    assert starved.is_internal
    assert receiver.connections == 0
    assert not post(url).is_internal
    assert not post(receiver.script("/bad", answers.hang_up)).is_internal


@pytest.mark.parametrize("is_kept", [False, True], ids=["new connection", "kept connection"])
def test_closing_ends_what_is_on_its_way_and_it_is_not_sent_again(
    receiver: Receiver, sender: RequestsClient, post: Post, is_kept: bool
) -> None:
    url = receiver.script("/hook", *[answers.status(200)] * is_kept, answers.hang)
    if is_kept:
        post(url)
    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(post, url)
        receiver.wait_for(1 + is_kept)
        sender.close()
        assert ended.result().outcome == AttemptOutcome.CONNECTION_ERROR
    assert len(receiver.requests) == 1 + is_kept


@pytest.mark.parametrize("code", [100, 102, 103])
def test_an_interim_answer_is_passed_over_and_leaves_nothing_to_the_next_request(
    receiver: Receiver, post: Post, code: int
) -> None:
    interim = answers.after_interim(code, answers.status(202, after_s=0.1))
    url = receiver.script("/hook", interim, answers.status(500))
    assert post(url).status_code == 202
    assert post(url).status_code == 500
    assert receiver.connections == 1
