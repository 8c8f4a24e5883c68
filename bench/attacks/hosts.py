"""Attacks on what hosts share: storages that cannot be used, old upload links, a host without the queue server.

Tests alone show the recount of recordings, bells while PostgreSQL restarts, and limits when Redis returns.
"""

import contextlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import requests
from sqlalchemy import create_engine

from app.core.settings import Settings
from app.core.storage.objects import Storage
from app.core.storage.opening import open_storage
from app.system.queue_choice import bundled_program
from bench.attacks.row import Row
from bench.service import environment_of, free_port
from tests import object_stores
from tests.caller import Caller
from tests.conftest import make_tables
from tests.object_stores import ObjectStore
from tests.recordings import SPEECH, reserve, send
from tests.silent_proxy import SilentProxy, silent_proxy
from tests.waiting import wait_until
from tests.walks.service_process import ROOT, ServiceProcess
from tests.walks.two_hosts.cluster import (
    Shared,
    TestHost,
    make_caller,
    new_master_keys,
    redis_answers,
)

_BODY = SPEECH.read_bytes()
_DOWNLOADS = 20
_ROUNDS = 3
_SLOWEST_S = 1.0
_GONE_WITHIN_S = 90.0
_NOTICED_WITHIN_S = 20.0
_LIMIT, _CALLS = 60, 140


def rows(folder: Path) -> Iterator[Row]:
    """Run the attacks; the last one needs a PostgreSQL that is installed here."""
    folder.mkdir(parents=True, exist_ok=True)
    with object_stores.s3(folder) as store, _service_on(store, folder) as (service, way):
        client = service.caller()
        yield _silent_storage(service, client, way)
        yield _old_link(client, open_storage(Settings(data_dir=folder, **store.settings)))  # type: ignore[arg-type]
        yield from _wrong_storages(store, folder, way)
    if any(Path("/usr/lib/postgresql").glob("*/bin/initdb")):
        yield _host_alone(folder / "hosts")


@contextlib.contextmanager
def _service_on(store: ObjectStore, folder: Path) -> Iterator[tuple[ServiceProcess, SilentProxy]]:
    """Run a service; the network between it and the storage can fail."""
    port = urlsplit(store.address).port or 0
    with silent_proxy("127.0.0.1", port) as way:
        address = store.settings["storage_url"].replace(f":{port}", f":{way.port}")
        service = ServiceProcess(
            folder / "instance",
            CQE_RATE_LIMIT_DEFAULT="100000000/60",
            CQE_STORAGE_URL=f"{address}&public={store.address}",
            CQE_STORAGE_ACCESS_KEY=store.settings["storage_access_key"],
            CQE_STORAGE_SECRET=store.settings["storage_secret"],
        )
        try:
            yield service.wait_ready(), way
        finally:
            service.end()


def _wrong_storages(store: ObjectStore, folder: Path, way: SilentProxy) -> Iterator[Row]:
    """Ask `doctor` about storages that cannot be used."""
    url, port = store.settings["storage_url"], urlsplit(store.address).port
    right = {
        "CQE_STORAGE_URL": url,
        "CQE_STORAGE_ACCESS_KEY": store.settings["storage_access_key"],
        "CQE_STORAGE_SECRET": store.settings["storage_secret"],
    }
    control = _told_by_doctor(folder, right, "storage")
    wrong = {
        "never answers": ("CQE_STORAGE_URL", url.replace(f":{port}", f":{way.port}")),
        "lacks the bucket": ("CQE_STORAGE_URL", url.replace("cqe-test", "cqe-none")),
        "has a malformed secret": ("CQE_STORAGE_SECRET", "line\nbreak"),
    }
    told = ("does not answer", "is missing: make it", "CQE_STORAGE_SECRET: must be")
    way.mute()
    try:
        for (what, (name, text)), words in zip(wrong.items(), told, strict=True):
            figure = _told_by_doctor(folder, {**right, name: text}, words)
            yield Row(
                attack=f"`doctor` about a storage that {what}",
                figure=figure,
                control=f"{control} about the storage",
                bound=f"says: {words}",
                holds=figure == "told" and control == "told",
            )
    finally:
        way.recover()


def _told_by_doctor(folder: Path, environment: dict[str, str], words: str) -> str:
    ended = subprocess.run(
        [sys.executable, "-m", "app.cli", "doctor"],
        env=environment_of(folder / "instance", **environment),
        capture_output=True,
        text=True,
        timeout=_GONE_WITHIN_S,
        check=False,
    )
    said = ended.stdout + ended.stderr
    if "Traceback" in said:
        return "a traceback"
    return "told" if words in said else "not told"


def _silent_storage(service: ServiceProcess, client: Caller, way: SilentProxy) -> Row:
    reserved = reserve(client, len(_BODY), contentType="audio/mpeg")
    send(reserved, _BODY)
    shown = client.get(f"/audio-files/{reserved['audioFileId']}/download-url").json()["data"]
    _, control_s = _slowest_of_others(service, client, shown["downloadUrl"])
    way.mute()
    try:
        refused, slowest_s = _slowest_of_others(service, client, shown["downloadUrl"])
    finally:
        way.recover()
    return Row(
        attack=f"{_DOWNLOADS} downloads at once from a storage that never answers",
        figure=f"slowest of other requests {slowest_s:.2f} s, "
        f"downloads {'all 503' if refused else 'not all 503'}",
        control=f"{control_s:.2f} s",
        bound=f"{_SLOWEST_S:g} s, all 503",
        holds=refused and slowest_s <= _SLOWEST_S,
    )


def _slowest_of_others(service: ServiceProcess, client: Caller, link: str) -> tuple[bool, float]:
    """Download in rounds.

    Returns:
        Whether all downloads were refused for now, and the longest time of a list or /health/live.
    """
    ended = threading.Event()
    times_s: list[float] = []
    asked: Sequence[Callable[[], object]] = (
        lambda: client.get("/audio-files"),
        lambda: requests.get(f"http://127.0.0.1:{service.port}/health/live", timeout=60),
    )

    def ask() -> None:
        while not ended.wait(0.1):
            for request in asked:
                began_at = time.monotonic()
                request()
                times_s.append(time.monotonic() - began_at)

    bystander = threading.Thread(target=ask)
    bystander.start()
    with ThreadPoolExecutor(_DOWNLOADS) as pool:
        refusals = [
            is_refused
            for _ in range(_ROUNDS)
            for is_refused in pool.map(_is_refused, [link] * _DOWNLOADS)
        ]
    ended.set()
    bystander.join()
    return all(refusals), max(times_s)


def _is_refused(link: str) -> bool:
    try:
        answer = requests.get(link, allow_redirects=False, timeout=40)
    except requests.Timeout:
        return False
    return answer.status_code == 503 and "Retry-After" in answer.headers


def _old_link(client: Caller, storage: Storage) -> Row:
    labels = {"customerRef": "attack-on-hosts"}
    erased = reserve(client, len(_BODY), contentType="audio/mpeg", labels=labels)
    kept = reserve(client, len(_BODY), contentType="audio/mpeg")
    erasure = client.post("/privacy/erase", {"customerRef": labels["customerRef"]}).json()["data"]
    status = f"/privacy/erasures/{erasure['erasureId']}"
    wait_until(lambda: client.get(status).json()["data"]["status"] == "completed")
    taken = send(erased, _BODY).status_code
    send(kept, _BODY)
    began_at = time.monotonic()
    until = began_at + _GONE_WITHIN_S
    while (is_stored := _has(storage, erased)) and time.monotonic() < until:
        time.sleep(0.5)
    gone_s = time.monotonic() - began_at
    return Row(
        attack="PUT on the upload link of a recording that was erased",
        figure=f"{taken} by the storage, {'kept' if is_stored else f'deleted after {gone_s:.0f} s'}",
        control="kept" if _has(storage, kept) else "deleted",
        bound=f"{_GONE_WITHIN_S:.0f} s",
        holds=not is_stored and _has(storage, kept),
    )


def _has(storage: Storage, reserved: dict[str, str]) -> bool:
    return storage.size_of(reserved["audioFileId"]) is not None


def _host_alone(folder: Path) -> Row:
    folder.mkdir()
    with _two_hosts(folder) as pair:
        control = _passed(pair)
        pair[1].kill()
        pair[1].start(CQE_RATE_LIMIT_DEFAULT=f"{_LIMIT}/60", CQE_REDIS_URL="none")
        wait_until(lambda: pair[1].status_of("/health/live") == 200)
        with contextlib.suppress(AssertionError):
            wait_until(
                lambda: pair[1].status_of("/health/ready") == 503, within_s=_NOTICED_WITHIN_S
            )
        ready = [host.status_of("/health/ready") for host in pair]
        began_at = time.monotonic()
        passed = _passed(pair)
        minutes = (time.monotonic() - began_at) / 60
    # One host has the whole limit and the other half of it; both come back within a minute.
    most = int((_LIMIT + _LIMIT // 2) * (1 + minutes)) + 2
    return Row(
        attack=f"{_CALLS} calls, half of them to a host without the queue server, past its readiness",
        figure=f"{passed} of a limit of {_LIMIT} passed, /health/ready {ready[1]}",
        control=f"{control} passed, /health/ready {ready[0]}",
        bound=f"{most}, 503",
        holds=passed <= most and ready == [200, 503],
    )


def _passed(pair: tuple[TestHost, TestHost]) -> int:
    """Count the calls of one new key that two hosts answer, in turn."""
    runtime = pair[0].shared.runtime(pair[0].folder)
    callers = [make_caller(runtime, host.base) for host in pair]
    callers[1].api_key, callers[1].secret = callers[0].api_key, callers[0].secret
    runtime.db.engine.dispose()
    answers = [callers[number % 2].get("/engagements").status_code for number in range(_CALLS)]
    return answers.count(200)


@contextlib.contextmanager
def _two_hosts(folder: Path) -> Iterator[tuple[TestHost, TestHost]]:
    """Run two hosts on a PostgreSQL, a queue server and a folder of their own."""
    with contextlib.ExitStack() as stack:
        server = Path(tempfile.mkdtemp())
        program = ROOT / ".ci" / "postgresql"
        stack.callback(shutil.rmtree, server, ignore_errors=True)
        stop, start = ([str(program), step, str(server)] for step in ("stop", "start"))
        stack.callback(lambda: subprocess.run(stop, check=False))
        url = subprocess.run(start, check=True, capture_output=True, text=True).stdout.strip()
        engine = create_engine(url)
        make_tables(engine)
        engine.dispose()
        shared = Shared(
            database_url=url.replace("+psycopg", ""),
            redis_port=_start_redis(stack, folder),
            storage_url=f"file://{folder}/storage",
            master_keys=new_master_keys(),
            ca_bundle="",
        )
        pair = TestHost("first", folder, shared), TestHost("second", folder, shared)
        for host in pair:
            stack.callback(host.close)
            host.start(CQE_RATE_LIMIT_DEFAULT=f"{_LIMIT}/60")
        for host in pair:
            host.wait_ready()
        yield pair


def _start_redis(stack: contextlib.ExitStack, folder: Path) -> int:
    port = free_port()
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    server = subprocess.Popen([bundled_program(), *options], stdout=subprocess.DEVNULL)
    stack.callback(server.wait)
    stack.callback(server.kill)
    wait_until(lambda: redis_answers(port))
    return port
