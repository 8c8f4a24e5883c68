"""Drill: a PostgreSQL server is recovered to a moment before an erasure, which is then repeated."""

import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, text

from app.operations import start_checks
from app.operations.backups import service as backups
from tests.api.test_privacy import CHAT, erase, everything, put
from tests.caller import Caller
from tests.conftest import make_tables
from tests.running import running_runtime
from tests.waiting import wait_until

SERVER = Path(__file__).resolve().parents[2] / ".ci" / "postgresql"
KEPT = "The lantern has arrived."
pytestmark = [
    pytest.mark.postgresql_only("needs a PostgreSQL server"),
    pytest.mark.skipif(
        not any(Path("/usr/lib/postgresql").glob("*/bin/initdb")),
        reason="there is no PostgreSQL server to start",
    ),
]


@pytest.fixture
def start_server() -> Iterator[Callable[..., str]]:
    """Start the server of a folder with settings; return its URL."""
    started: list[Path] = []

    def start(folder: Path, *settings: str) -> str:
        started.append(folder)
        ran = subprocess.run(
            [SERVER, "start", folder, *settings], check=True, capture_output=True, text=True
        )
        return ran.stdout.strip()

    yield start
    for folder in started:
        subprocess.run([SERVER, "stop", folder], check=True)


def connect(url: str) -> Engine:
    return create_engine(url, isolation_level="AUTOCOMMIT")


def test_the_erased_is_erased_again_after_a_recovery(
    start_server: Callable[..., str],
    serve: Callable[..., str],
    make_caller: Callable[..., Caller],
    tmp_path: Path,
) -> None:
    old, new = (Path(tempfile.mkdtemp()) for _ in range(2))
    # The records of erasures are there, and no data folder has to be kept.
    storage_url = f"file://{tmp_path}/storage"
    archive = old / "archive"
    url = start_server(
        old,
        "archive_mode = on",
        f"archive_command = 'mkdir -p {archive} && cp %p {archive}/%f'",
    )
    engine = connect(url)
    make_tables(engine)
    client = make_caller(serve(database_url=url, storage_url=storage_url))
    start_checks.require_usable(running_runtime())
    put(client, "erased")
    backup = ["pg_basebackup", "--checkpoint=fast", "-d", url.replace("+psycopg", "")]
    subprocess.run([*backup, "-D", new / "data"], check=True)
    words = [{**CHAT[0], "text": KEPT}]
    put(client, "kept", customerRef="customer-1", subject="lantern", messages=words)
    with engine.connect() as connection:
        connection.execute(text("SELECT pg_create_restore_point('before_the_erasure')"))
    assert erase(client, running_runtime())["counts"]["conversations"] == 1
    with engine.connect() as connection:
        last = connection.scalar(text("SELECT pg_walfile_name(pg_switch_wal())"))
    wait_until((archive / str(last)).exists)
    engine.dispose()

    (new / "data" / "recovery.signal").touch()
    url = start_server(
        new,
        f"restore_command = 'cp {archive}/%f %p'",
        "recovery_target_name = 'before_the_erasure'",
        "recovery_target_action = 'promote'",
        "archive_mode = off",
    )
    engine = connect(url)
    with engine.connect() as connection:
        wait_until(lambda: not connection.scalar(text("SELECT pg_is_in_recovery()")))
    engine.dispose()
    serve(database_url=url, storage_url=storage_url)
    recovered = everything(running_runtime())
    assert KEPT in recovered
    assert "kettle" in recovered
    assert backups.repeat_erasures(running_runtime().settings) == 1
    recovered = everything(running_runtime())
    assert KEPT in recovered
    assert "kettle" not in recovered
