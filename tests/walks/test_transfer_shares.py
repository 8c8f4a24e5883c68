"""Slots of large transfers: readers of one link, or of one key, keep nobody else waiting."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from tests.caller import Caller, error_code
from tests.recordings import reserve, send, upload
from tests.waiting import wait_until
from tests.walks.service_process import ServiceProcess

MIB = 1024 * 1024
SIZE = 9 * MIB  # More than the kernel takes for a reader that does not read.


@pytest.fixture(scope="module")
def service(module_data_dir: Path) -> Iterator[ServiceProcess]:
    """A service with six slots, of which one link or key gets two."""
    started = ServiceProcess(
        module_data_dir,
        "up",
        "--no-worker",
        CQE_WORKERS="1",
        CQE_THREADS="8",
    )
    yield started.wait_ready()
    started.end()


@pytest.fixture
def readers() -> Iterator[ExitStack]:
    """Connections, which are closed in the end."""
    with ExitStack() as stack:
        yield stack


def link_of(caller: Caller, audio_file_id: str) -> str:
    answer = caller.get(f"/audio-files/{audio_file_id}/download-url")
    return str(answer.json()["data"]["downloadUrl"])


def read_slowly(readers: ExitStack, link: str) -> bytes:
    """Ask for a file and read no more than the first line of the answer; return its status."""
    parts = urlsplit(link)
    reader = readers.enter_context(socket.socket())
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    reader.settimeout(20)
    reader.connect((parts.hostname, parts.port))
    reader.sendall(
        f"GET {parts.path}?{parts.query} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode()
    )
    return reader.recv(12)[9:]


def test_readers_of_one_link_take_a_third_of_the_slots(
    service: ServiceProcess, readers: ExitStack
) -> None:
    owner, first, second = (service.caller() for _ in range(3))
    shared = upload(owner, b"x" * SIZE)
    # Whoever gives out the links: each reader has one of another key.
    links = [link_of(caller, shared) for caller in (owner, owner, first, first, second, second)]
    assert [read_slowly(readers, link) for link in links] == [b"200"] * 2 + [b"503"] * 4
    assert send(reserve(second, SIZE), b"x" * SIZE).status_code == 201
    refused = requests.get(links[-1], timeout=20)
    assert error_code(refused) == "SERVICE_UNAVAILABLE"
    assert refused.headers["Retry-After"] == "2"
    assert "of this file or with this key" in refused.json()["error"]["message"]
    readers.close()
    wait_until(lambda: requests.get(links[-1], timeout=20).status_code == 200)


def test_links_of_one_key_take_a_third_of_the_slots(
    service: ServiceProcess, readers: ExitStack
) -> None:
    greedy, other = service.caller(), service.caller()
    links = [link_of(greedy, upload(greedy, b"x" * SIZE)) for _ in range(4)]
    assert [read_slowly(readers, link) for link in links] == [b"200"] * 2 + [b"503"] * 2
    assert send(reserve(greedy, SIZE), b"x" * SIZE).status_code == 503
    assert send(reserve(other, SIZE), b"x" * SIZE).status_code == 201
    assert requests.get(link_of(other, upload(other, b"x" * SIZE)), timeout=20).ok
    small = requests.get(link_of(greedy, upload(greedy, b"x" * 1000)), timeout=20)
    assert small.content == b"x" * 1000


def test_the_key_of_a_link_cannot_be_changed_or_left_out(service: ServiceProcess) -> None:
    caller = service.caller()
    link = link_of(caller, upload(caller, b"x"))
    address, _, query = link.partition("?")
    fields = query.split("&")
    (holder,) = [field for field in fields if field.startswith("by=")]
    for others in ([], ["by="], ["by=0123456789abcdef"]):
        changed = "&".join([*(field for field in fields if field != holder), *others])
        refused = requests.get(f"{address}?{changed}", timeout=20)
        assert error_code(refused) == "URL_SIGNATURE_INVALID"
