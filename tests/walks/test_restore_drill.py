"""Drill: a backup under load, restored into another folder, is the service as it was."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests
from click.testing import CliRunner, Result

from app.analytics import jobs as exports
from app.analytics.cli import analytics
from app.analytics.engine import parts
from app.analytics.engine.database import fact_database
from app.api_keys import service as api_keys
from app.core.runtime import Runtime
from app.operations import start_checks
from app.operations.database_commands import db
from app.people import service as people
from app.privacy import jobs as erasures
from tests.api.test_privacy import REF, erase, everything, put
from tests.caller import Caller
from tests.contacts import judge
from tests.recordings import SILENCE, upload
from tests.running import CommandRunner, running_runtime
from tests.visitor import add_user

pytestmark = pytest.mark.sqlite_only("restores a SQLite file")
CARD = "4111 1111 1111 1111"
SAID = [{"role": "customer", "text": f"My card is {CARD}, please help."}]
PASSPHRASE = "correct horse battery"


def run(data_dir: Path, *arguments: str) -> Result:
    return CliRunner(env={"CQE_DATA_DIR": str(data_dir)}).invoke(db, arguments)


def link_of(client: Caller, path: str, field: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["data"][field])


def run_export(client: Caller) -> str:
    """Export numbers, which an erasure keeps; return the id of the export."""
    asked = client.post("/analytics/export", {"dataset": "executives", "format": "csv"})
    export_id = str(asked.json()["data"]["jobId"])
    exports.run_export(running_runtime(), export_id)
    return export_id


@contextmanager
def writing(client: Caller) -> Iterator[None]:
    """Write conversations like a busy service while the block runs."""
    ended = threading.Event()

    def write() -> None:
        twin = Caller(client.base, client.api_key, client.secret)
        number = 0
        while not ended.is_set():
            number += 1
            put(twin, f"load {number}", customerRef="load", subject="load", messages=SAID)
        twin.close()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        ended.set()
        writer.join()


def test_everything_but_what_was_erased_comes_back(
    client: Caller, runtime: Runtime, serve: Callable[..., str], tmp_path: Path
) -> None:
    start_checks.require_usable(runtime)
    old = runtime.settings.data_dir
    put(client, "erased later")
    kept = put(client, "kept", customerRef="other", subject="card", messages=SAID)
    judge()
    sound = upload(client, SILENCE.read_bytes())
    erased_sound = upload(client, SILENCE.read_bytes(), labels={"customerRef": REF})
    export_id = run_export(client)
    parts.write_pending(runtime.db, fact_database(runtime.settings))

    passphrase = tmp_path / "passphrase"
    passphrase.write_text(f"{PASSPHRASE}\n")
    with_keys = ("--with-keys", "--passphrase-file", str(passphrase))
    with writing(client):
        made = run(old, "backup", str(tmp_path / "backup"), *with_keys)
    assert made.exit_code == 0, made.output
    key = (old / "master.keys").read_text().partition(":")[2].strip()
    stored = b"".join(file.read_bytes() for file in (tmp_path / "backup").glob("*.*"))
    assert key.encode() not in stored
    done = erase(client, runtime)
    assert done["counts"]["conversations"] == 1
    assert done["counts"]["audioFiles"] == 1

    new = tmp_path / "restored"
    arguments = ("restore", str(tmp_path / "backup"), "--erasures", str(old / "erasures"))
    without = run(new, *arguments)
    assert without.exit_code == 1
    assert "give --passphrase-file first" in without.stderr
    restored = run(new, *arguments, *with_keys)
    assert restored.exit_code == 0, restored.output
    assert "Later erasures repeated: 1." in restored.output

    base = serve(data_dir=new)
    again = Caller(base, client.api_key, client.secret)
    start_checks.require_usable(running_runtime())
    assert CARD in again.get(f"/conversations/{kept['id']}/messages?redacted=false").text
    assert requests.get(link_of(again, f"/audio-files/{sound}/download-url", "downloadUrl")).ok
    exported = link_of(again, f"/analytics/export/{export_id}", "downloadUrl")
    assert requests.get(exported).ok
    assert CommandRunner().invoke(analytics, ["check"]).exit_code == 0
    assert "kettle" not in everything(running_runtime())
    assert running_runtime().storage.size_of(sound) is not None
    assert running_runtime().storage.size_of(erased_sound) is None
    shown = again.get(f"/privacy/erasures/{done['erasureId']}").json()["data"]
    assert (shown["status"], shown["counts"]["conversations"]) == ("completed", 1)
    assert erasures.repeat_erasures(running_runtime()) == 0
    again.close()


def test_a_restore_names_what_was_revoked_since_the_backup(
    runtime: Runtime, data_dir: Path, tmp_path: Path
) -> None:
    start_checks.require_usable(runtime)
    with runtime.db.writing() as session:
        api_keys.create_key(session, runtime.keyring, name="kept", scopes=["*"])
        revoked = api_keys.create_key(session, runtime.keyring, name="leaked", scopes=["*"])
    user_id = add_user(runtime, "lead", "omar")
    add_user(runtime, "admin", "nora")
    assert run(data_dir, "backup", str(tmp_path / "backup")).exit_code == 0
    with runtime.db.writing() as session:
        api_keys.revoke_key(session, revoked.key.id, caller=None)
        people.disable(session, people.get(session, user_id))
    runtime.db.engine.dispose()
    restored = run(data_dir, "restore", str(tmp_path / "backup"))
    assert restored.exit_code == 0, restored.output
    assert "working again: API key 'leaked', person 'omar'." in restored.output
    with runtime.db.reading() as session:
        assert api_keys.get_key(session, revoked.key.id).revoked_at is None


def test_a_wrong_passphrase_and_a_short_one_are_refused(data_dir: Path, tmp_path: Path) -> None:
    passphrase = tmp_path / "passphrase"
    with_keys = ("--with-keys", "--passphrase-file", str(passphrase))
    for text, told in (("short", "at least 12 characters"), ("", "is empty")):
        passphrase.write_text(text)
        refused = run(data_dir, "backup", str(tmp_path / "backup"), *with_keys)
        assert refused.exit_code == 1
        assert told in refused.stderr
    passphrase.write_text(PASSPHRASE)
    assert run(data_dir, "backup", str(tmp_path / "backup"), *with_keys).exit_code == 0
    passphrase.write_text(f"{PASSPHRASE}!")
    refused = run(tmp_path / "new", "restore", str(tmp_path / "backup"), *with_keys)
    assert refused.exit_code == 1
    assert "check the passphrase" in refused.stderr
    assert not (tmp_path / "new" / "cqe.db").exists()
