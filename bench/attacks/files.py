"""Attacks by files: slow readers of links, and folders and backups that somebody else has changed."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests

from app.core.runtime import Runtime
from app.core.secrets.private_files import write_private_file
from app.core.settings import Settings
from app.operations import migrating
from bench.attacks.row import Row
from bench.service import (
    SERVICE_OPTIONS,
    Signer,
    environment_of,
    new_key,
    new_runtime,
    serving,
)

_SIZE = 9 * 1024 * 1024  # More than the kernel takes for a reader that does not read.
_READERS = 24
_UPLOADS = 8
_PATIENCE_S = 60
_CHAT = {"externalId": "a", "messages": [{"role": "customer", "text": "Where is my parcel?"}]}


@dataclass(frozen=True)
class Client:
    """A caller of the service with an API key of its own."""

    port: int
    sign: Signer

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a signed request; return the data of its answer."""
        content = b"" if body is None else json.dumps(body).encode()
        with socket.create_connection(("127.0.0.1", self.port), timeout=_PATIENCE_S) as connection:
            head = self.sign(method, f"/api/v1{path}", content)
            host = f"Host: 127.0.0.1:{self.port}\r\nConnection: close".encode()
            connection.sendall(head.replace(b"Host: bench", host, 1))
            answer = connection.makefile("rb").read()
        data: dict[str, Any] = json.loads(answer.partition(b"\r\n\r\n")[2])["data"]
        return data

    def upload(self) -> tuple[str, int]:
        """Upload a recording; return its id and the status of the answer."""
        body = {"fileName": "a.wav", "contentType": "audio/wav", "sizeBytes": _SIZE}
        reserved = self.call("POST", "/audio-files/upload-url", body)
        answer = requests.put(
            reserved["uploadUrl"],
            data=b"x" * _SIZE,
            headers=reserved["headers"],
            timeout=_PATIENCE_S,
        )
        return str(reserved["audioFileId"]), answer.status_code

    def link(self, audio_file_id: str) -> str:
        """Return a link that downloads a recording."""
        return str(self.call("GET", f"/audio-files/{audio_file_id}/download-url")["downloadUrl"])


def rows(folder: Path) -> Iterator[Row]:
    """Run the attacks of this area."""
    data_dir = folder / "instance"
    migrating.upgrade(Settings(data_dir=data_dir))
    runtime = new_runtime(data_dir)
    environment = environment_of(data_dir, CQE_REDIS_URL="none")
    with serving("wsgi:app", environment, *SERVICE_OPTIONS) as (port, _):
        yield from _slow_readers(runtime, port)
        yield from _hostile_folders(folder, environment)
        yield _hostile_names(folder, environment)
        yield from _hostile_backups(folder, environment)
    runtime.db.engine.dispose()


def _slow_readers(runtime: Runtime, port: int) -> Iterator[Row]:
    greedy, other = (Client(port, Signer(new_key(runtime))) for _ in range(2))
    recordings = [greedy.upload()[0] for _ in range(4)]
    control = _stored(other)
    for what, chosen in (("one link", recordings[:1]), ("links of one key", recordings)):
        links = [greedy.link(audio_file_id) for audio_file_id in chosen]
        with ExitStack() as readers:
            for number in range(_READERS):
                _read_slowly(readers, links[number % len(links)])
            figure = _stored(other)
        yield Row(
            attack=f"{_READERS} slow readers of {what}",
            figure=f"{figure} of {_UPLOADS} uploads with another key stored",
            control=f"{control} of {_UPLOADS}",
            bound=f"{_UPLOADS} of {_UPLOADS}",
            holds=figure == _UPLOADS,
        )


def _stored(client: Client) -> int:
    return [client.upload()[1] for _ in range(_UPLOADS)].count(201)


def _read_slowly(readers: ExitStack, link: str) -> None:
    """Ask for a file and read only the first line of the answer."""
    parts = urlsplit(link)
    reader = readers.enter_context(socket.socket())
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    reader.settimeout(_PATIENCE_S)
    reader.connect((parts.hostname, parts.port))
    request = f"GET {parts.path}?{parts.query} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n"
    reader.sendall(request.encode())
    reader.recv(12)


def _hostile_folders(folder: Path, environment: dict[str, str]) -> Iterator[Row]:
    keys = folder / "instance" / "master.keys"
    makers: dict[str, Callable[[Path], object]] = {
        "a link to the master keys": lambda file: _as_recording(file).symlink_to(keys),
        "a FIFO": os.mkfifo,
        "a link to /dev/zero": lambda file: _as_recording(file).symlink_to("/dev/zero"),
    }
    control = _imported(folder, environment, lambda file: file.write_text(json.dumps(_CHAT)))
    for what, make in makers.items():
        figure = _imported(folder, environment, make)
        yield Row(
            attack=f"{what} is to be imported",
            figure=figure,
            control=f"a file {control}",
            bound="refused",
            holds=figure.startswith("refused") and control.startswith("imported"),
        )


def _as_recording(file: Path) -> Path:
    return file.with_suffix(".wav")


def _imported(folder: Path, environment: dict[str, str], make: Callable[[Path], object]) -> str:
    """Import what `make` puts into a folder; return how that ended, and when."""
    source = folder / "in"
    source.mkdir()
    make(source / "a.json")
    (named,) = source.iterdir()
    result = _run(environment, "import", str(named), "--no-evaluate")
    shutil.rmtree(source)
    return result.replace("done", "imported")


def _hostile_names(folder: Path, environment: dict[str, str]) -> Row:
    """Import files whose names steer a terminal, and count the control characters that are shown."""
    source = folder / "names"
    source.mkdir()
    shown, is_told = [], True
    for name in ("plain", "a\x1b]0;owned\x07\x1b[1A\nall is well\x9b2J"):
        file = source / f"{name}.txt"
        file.write_text("nonsense")
        ended = _ended(environment, "import", str(source), "--no-evaluate")
        written = (ended.stdout + ended.stderr).decode()
        shown.append(sum(not (sign.isprintable() or sign == "\n") for sign in written))
        is_told = is_told and ".txt: UNKNOWN_FORMAT" in written
        file.unlink()
    return Row(
        attack="the name of a file that is to be imported steers the terminal",
        figure=f"{shown[1]} control characters in what the command prints",
        control=f"{shown[0]} for a plain name",
        bound="0",
        holds=is_told and shown == [0, 0],
    )


def _hostile_backups(folder: Path, environment: dict[str, str]) -> Iterator[Row]:
    changes: dict[str, Callable[[Path], object]] = {
        "a link in the place of its database": _link_database,
        "a name that leads out of it": _rename_database,
        "an odd record of an erasure": _add_record,
    }
    backup = folder / "backup"
    _run(environment, "db", "backup", str(backup))
    control = _restored(folder, environment, backup)
    for what, change in changes.items():
        changed = folder / "changed"
        shutil.copytree(backup, changed)
        change(changed)
        figure = _restored(folder, environment, changed)
        shutil.rmtree(changed)
        yield Row(
            attack=f"a backup with {what} is to be restored",
            figure=figure,
            control=f"as it was, {control}",
            bound="refused, and no database made",
            holds=figure.startswith("refused") and control.startswith("restored"),
        )


def _link_database(backup: Path) -> None:
    database = backup / "database.sqlite"
    database.rename(backup.parent / "elsewhere.sqlite")
    database.symlink_to(backup.parent / "elsewhere.sqlite")


def _rename_database(backup: Path) -> None:
    manifest = backup / "manifest.json"
    document = json.loads(manifest.read_text())
    document["database"]["name"] = f"../{backup.name}/database.sqlite"
    manifest.write_text(json.dumps(document))


def _add_record(backup: Path) -> None:
    (backup / "erasures" / f"era_{'0' * 26}.jsonl").write_text("[]\n")


def _restored(folder: Path, environment: dict[str, str], backup: Path) -> str:
    """Restore a backup into a new data folder; return how that ended, and when."""
    data_dir = folder / "restored"
    data_dir.mkdir(mode=0o700)
    write_private_file(data_dir / "master.keys", (folder / "instance" / "master.keys").read_text())
    result = _run({**environment, "CQE_DATA_DIR": str(data_dir)}, "db", "restore", str(backup))
    is_made = (data_dir / "cqe.db").exists()
    shutil.rmtree(data_dir)
    if result.startswith("refused") and is_made:
        return "made a database before it was refused"
    return result.replace("done", "restored")


def _run(environment: dict[str, str], *arguments: str) -> str:
    """Run a command; return whether it was done, and how long it took."""
    began_at = time.monotonic()
    try:
        ended = _ended(environment, *arguments)
    except subprocess.TimeoutExpired:
        return f"hangs: killed after {_PATIENCE_S} s"
    word = {0: "done", 1: "refused"}.get(ended.returncode, f"exit code {ended.returncode}")
    return f"{word} after {time.monotonic() - began_at:.1f} s"


def _ended(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "app.cli", *arguments]
    return subprocess.run(
        command, env=environment, capture_output=True, timeout=_PATIENCE_S, check=False
    )
