"""A storage that accepts requests and never answers: what needs it fails soon, all else goes on."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from tests import object_stores
from tests.caller import Caller, error_code
from tests.recordings import SPEECH, reserve, send
from tests.silent_proxy import SilentProxy, silent_proxy
from tests.waiting import wait_until
from tests.walks.service_process import ServiceProcess

pytestmark = pytest.mark.long

BODY = SPEECH.read_bytes()
THREADS = 4
AT_ONCE = 5 * THREADS
# An answer that waits for the storage takes at least three seconds.
SOON_S = 2.5


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SilentProxy, str]]:
    """The way to an S3 server, and the address of the storage on this way."""
    with object_stores.s3(tmp_path_factory.mktemp("store")) as store:
        port = urlsplit(store.address).port or 0
        with silent_proxy("127.0.0.1", port) as proxy:
            address = store.settings["storage_url"].replace(f":{port}", f":{proxy.port}")
            yield proxy, f"{address}&public={store.address}"


@pytest.fixture(scope="module")
def service(storage: tuple[SilentProxy, str], module_data_dir: Path) -> Iterator[ServiceProcess]:
    """A service with one web process of four threads."""
    started = ServiceProcess(
        module_data_dir,
        CQE_THREADS=str(THREADS),
        CQE_STORAGE_URL=storage[1],
        CQE_STORAGE_ACCESS_KEY="AKIDEXAMPLE",
        CQE_STORAGE_SECRET="secret",
    )
    yield started.wait_ready()
    started.end()


@pytest.fixture(scope="module")
def client(service: ServiceProcess) -> Caller:
    return service.caller()


@pytest.fixture
def silent(storage: tuple[SilentProxy, str]) -> Iterator[SilentProxy]:
    """The way to the storage, which answers again after the test."""
    yield storage[0]
    storage[0].recover()


def download_link(client: Caller) -> str:
    reserved = reserve(client, len(BODY), contentType="audio/mpeg")
    assert send(reserved, BODY).status_code == 200
    answer = client.get(f"/audio-files/{reserved['audioFileId']}/download-url")
    return str(answer.json()["data"]["downloadUrl"])


class Bystander:
    """Asks for other things all the time; `slowest_s` is the longest that an answer took."""

    def __init__(self, service: ServiceProcess, client: Caller) -> None:
        self.slowest_s = 0.0
        self.statuses: set[int] = set()
        self._base, self._client = f"http://127.0.0.1:{service.port}", client
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Bystander":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(0.05):
            for ask in (self._live, self._health, self._list):
                began_at = time.monotonic()
                self.statuses.add(ask())
                self.slowest_s = max(self.slowest_s, time.monotonic() - began_at)

    def _live(self) -> int:
        return requests.get(f"{self._base}/health/live", timeout=30).status_code

    def _health(self) -> int:
        return requests.get(f"{self._base}/health", timeout=30).status_code

    def _list(self) -> int:
        return self._client.get("/audio-files").status_code


@pytest.mark.nightly("waits for a storage")
def test_more_downloads_than_threads_leave_the_service_to_others(
    service: ServiceProcess, client: Caller, silent: SilentProxy
) -> None:
    link = download_link(client)
    with ThreadPoolExecutor(AT_ONCE) as pool:

        def answers() -> list[requests.Response]:
            ask = lambda _: requests.get(link, allow_redirects=False, timeout=60)  # noqa: E731
            return list(pool.map(ask, range(AT_ONCE)))

        silent.mute()
        with Bystander(service, client) as bystander:
            refused = [*answers(), *answers(), *answers()]
            # After a pause, one download at a time finds out whether the storage answers.
            time.sleep(5)
            refused += [*answers(), *answers()]
        assert {answer.status_code for answer in refused} == {503}
        assert {error_code(answer) for answer in refused} == {"SERVICE_UNAVAILABLE"}
        assert all(int(answer.headers["Retry-After"]) > 0 for answer in refused)
        assert max(answer.elapsed.total_seconds() for answer in refused) < 2 * SOON_S
        assert bystander.statuses == {200}
        assert bystander.slowest_s < SOON_S
        assert service.health()["checks"]["storage"] == "failing"

        silent.recover()
        wait_until(lambda: requests.get(link, timeout=60).status_code == 200)
        wait_until(lambda: service.health()["checks"]["storage"] == "ok")
        assert {answer.status_code for answer in answers()} <= {307, 503}


def test_what_needs_no_storage_is_answered_without_it(
    service: ServiceProcess, client: Caller, silent: SilentProxy
) -> None:
    link = download_link(client)
    audio_file_id = urlsplit(link).path.rpartition("/")[2]
    silent.mute()
    wave = client.get(f"/audio-files/{audio_file_id}/waveform")
    assert (wave.status_code, error_code(wave)) == (503, "SERVICE_UNAVAILABLE")
    # A link is made without the storage.
    assert reserve(client, len(BODY), contentType="audio/mpeg")["uploadUrl"]
    assert client.get(f"/audio-files/{audio_file_id}").status_code == 200
    report = client.get("/analytics/summary")
    assert report.status_code == 200, report.text
