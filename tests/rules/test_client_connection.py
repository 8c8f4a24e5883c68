"""Connections of the web server: one test for each way from a state to another."""

import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from gunicorn.config import Config  # type: ignore[import-untyped]

from app.core.errors import ServiceUnavailable
from app.operations.processes.client_connection import ClientConnection, ConnectionState
from app.operations.processes.client_socket import ClientSocket

REQUEST = b"GET / HTTP/1.1\r\nHost: test\r\n\r\n"
# Less than what a thread would wait for.
MORE_THAN_A_SOCKET_TAKES = bytes(1024 * 1024)
SMALL = (socket.SOL_SOCKET, socket.SO_SNDBUF, 4096), (socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)


@dataclass
class Ends:
    """Both ends of a connection."""

    peer: socket.socket
    ours: ClientConnection

    def send(self, data: bytes) -> ConnectionState:
        self.peer.sendall(data)
        self.ours.advance()
        return self.ours.state

    def answer(
        self, data: bytes = b"HTTP/1.1 200 OK\r\n\r\n", *, keep: bool = True
    ) -> ConnectionState:
        """Serve a request that has arrived, as a thread and then the poller do."""
        self.ours.begin_answer()
        next(self.ours.parser)
        self.ours.sock.sendall(data)
        self.ours.end_answer(keep=keep)
        self.ours.finish_answer()
        return self.ours.state


@pytest.fixture
def ends() -> Iterator[Ends]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        for option in SMALL:
            server.setsockopt(*option)
        peer = socket.create_connection(server.getsockname())
        accepted, client = server.accept()
    connection = ClientConnection(Config(), ClientSocket(accepted), client)
    with peer, connection.sock:
        yield Ends(peer, connection)


def test_a_request_is_received_until_it_is_whole(ends: Ends) -> None:
    assert ends.ours.state is ConnectionState.RECEIVING
    assert ends.send(REQUEST[:10]) is ConnectionState.RECEIVING
    assert ends.send(REQUEST[10:]) is ConnectionState.SERVING


def test_a_peer_that_leaves_closes_the_connection(ends: Ends) -> None:
    ends.peer.close()
    ends.ours.advance()
    assert ends.ours.state is ConnectionState.CLOSED


def test_after_an_answer_the_connection_is_idle_until_the_next_request(ends: Ends) -> None:
    ends.send(REQUEST)
    assert ends.answer() is ConnectionState.IDLE
    assert ends.send(REQUEST) is ConnectionState.SERVING


def test_a_part_of_the_next_request_may_come_with_the_one_before(ends: Ends) -> None:
    ends.send(REQUEST + REQUEST[:10])
    assert ends.answer() is ConnectionState.RECEIVING


def test_the_next_request_may_come_with_the_one_before(ends: Ends) -> None:
    ends.send(REQUEST + REQUEST)
    assert ends.answer() is ConnectionState.SERVING
    assert ends.answer() is ConnectionState.IDLE


@pytest.mark.parametrize(
    ("keep", "afterwards"), [(True, ConnectionState.IDLE), (False, ConnectionState.LINGERING)]
)
def test_what_the_peer_does_not_take_at_once_is_sent_later(
    ends: Ends, keep: bool, afterwards: ConnectionState
) -> None:
    ends.send(REQUEST)
    assert ends.answer(MORE_THAN_A_SOCKET_TAKES, keep=keep) is ConnectionState.SENDING
    ends.ours.advance()
    assert ends.ours.state is ConnectionState.SENDING
    reader = threading.Thread(target=read_all, args=(ends.peer,))
    reader.start()
    while ends.ours.state is ConnectionState.SENDING:
        ends.ours.advance()
    assert ends.ours.state is afterwards
    reader.join()


def read_all(peer: socket.socket) -> None:
    received = 0
    while received < len(MORE_THAN_A_SOCKET_TAKES):
        received += len(peer.recv(1024 * 1024))


def test_a_last_answer_closes_the_connection_when_the_peer_has_left(ends: Ends) -> None:
    ends.send(REQUEST)
    assert ends.answer(keep=False) is ConnectionState.LINGERING
    assert ends.send(b"more of a body") is ConnectionState.LINGERING
    ends.peer.close()
    ends.ours.advance()
    assert ends.ours.state is ConnectionState.CLOSED


def test_an_answer_is_held_until_the_disk_confirms(ends: Ends) -> None:
    confirmed: list[bool] = []
    ends.send(REQUEST)
    ends.ours.sock.unconfirmed.append(lambda: confirmed.append(True))
    assert ends.answer() is ConnectionState.HELD
    ends.ours.send_answer()
    ends.ours.finish_answer()
    assert (confirmed, ends.ours.state) == ([True], ConnectionState.IDLE)


def test_an_answer_that_the_disk_refuses_is_replaced_and_the_last(ends: Ends) -> None:
    def refuse() -> None:
        raise ServiceUnavailable("no disk")

    ends.send(REQUEST)
    ends.ours.sock.unconfirmed.append(refuse)
    ends.answer()
    ends.ours.send_answer()
    ends.ours.finish_answer()
    states = [ends.ours.state]
    ends.ours.advance()
    states.append(ends.ours.state)
    assert states == [ConnectionState.SENDING, ConnectionState.LINGERING]
    assert ends.peer.recv(1000).startswith(b"HTTP/1.1 503 ")


@pytest.mark.parametrize(
    ("sent", "told"), [(b"", b""), (REQUEST[:10], b"HTTP/1.1 408 Request Timeout\r\n")]
)
def test_a_slow_peer_gets_an_answer_if_it_has_begun(ends: Ends, sent: bytes, told: bytes) -> None:
    if sent:
        ends.send(sent)
    ends.ours.time_out()
    assert ends.ours.state is ConnectionState.CLOSED
    ends.ours.sock.close()
    assert ends.peer.recv(1000)[: len(told) or 1] == told


def test_only_an_idle_connection_is_hurried_by_a_stop(ends: Ends) -> None:
    patience = ends.ours.sock.patience
    ends.ours.hurry()
    assert patience.left_s > 1
    ends.send(REQUEST)
    ends.answer()
    ends.ours.hurry()
    assert patience.left_s <= 1
