"""Drill: a backup under load, restored into another folder, is the service as it was."""

import threading
import time
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
from app.imports import jobs as imports
from app.intake import jobs as intake
from app.operations import start_checks
from app.operations.database_commands import db
from app.people import service as people
from app.privacy import jobs as erasures
from tests.api.test_privacy import REF, erase, everything, put
from tests.caller import Caller
from tests.contacts import judge
from tests.intake_requests import RETELL, SECRET, signed
from tests.recordings import SILENCE, upload
from tests.running import CommandRunner, running_runtime
from tests.visitor import add_user, signed_in

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


def send_call(base: str) -> None:
    """Send what a vendor sends of a call of the customer, whose number it has."""
    request = signed("retell", RETELL, time.time(), address=f"{base}/intake/retell")
    sent = requests.post(
        f"{base}/intake/retell", data=request.body, headers=request.headers, timeout=30
    )
    assert sent.status_code == 200, sent.text


def run_what_waits(client: Caller, import_id: str) -> tuple[int, int, str]:
    """Run deliveries and the import; return the number of calls and chats, and the import's status."""
    intake.run_intake(running_runtime(), "")
    imports.run_import(running_runtime(), import_id)
    calls, chats, imported = (
        client.get(path).json()["data"]
        for path in ("/voice-calls", "/conversations", f"/imports/{import_id}")
    )
    return len(calls), len(chats), imported["status"]


def restore(old: Path, tmp_path: Path) -> Path:
    """Restore the backup into a new folder, with the keys and the records of erasures of the old one."""
    new = tmp_path / "restored"
    new.mkdir(mode=0o700)
    (new / "master.keys").write_bytes((old / "master.keys").read_bytes())
    (new / "master.keys").chmod(0o600)
    restored = run(new, "restore", str(tmp_path / "backup"), "--erasures", str(old / "erasures"))
    assert restored.exit_code == 0, restored.output
    return new


def test_what_waited_of_a_customer_who_was_erased_later_is_not_stored(
    client: Caller, runtime: Runtime, serve: Callable[..., str], tmp_path: Path
) -> None:
    start_checks.require_usable(runtime)
    old, number = runtime.settings.data_dir, "+12137771234"
    switched_on = signed_in(client.base, runtime, "admin").post(
        "/sources/retell", {"secret": SECRET}
    )
    assert switched_on.ok
    send_call(client.base)
    chat = {"externalId": "chat", "customerRef": number, "messages": SAID}
    asked = client.post("/imports", {"format": "native", "items": [chat], "evaluate": False})
    import_id = asked.json()["data"]["id"]
    assert run(old, "backup", str(tmp_path / "backup")).exit_code == 0
    assert run_what_waits(client, import_id) == (1, 1, "completed")
    erase(client, runtime, number)

    new = restore(old, tmp_path)
    base = serve(data_dir=new)
    again = Caller(base, client.api_key, client.secret)
    assert run_what_waits(again, import_id) == (0, 0, "failed")
    assert "backup" in again.get(f"/imports/{import_id}").json()["data"]["error"]["message"]
    # What comes in from now on is not older than the erasure.
    send_call(base)
    assert run(new, "after-restore").exit_code == 0
    assert run_what_waits(again, import_id) == (1, 0, "failed")
    again.close()


def test_a_recording_whose_call_was_linked_and_erased_later_is_not_kept(
    client: Caller, runtime: Runtime, serve: Callable[..., str], tmp_path: Path
) -> None:
    start_checks.require_usable(runtime)
    old = runtime.settings.data_dir
    audio_file_id = upload(client, SILENCE.read_bytes())
    assert run(old, "backup", str(tmp_path / "backup")).exit_code == 0
    recording = {"audioFileId": audio_file_id}
    call = {"status": "completed", "recording": recording, "labels": {"customerRef": REF}}
    assert client.call("PUT", "/imports/voice-calls/one", call).ok
    erase(client, runtime, REF)

    new = restore(old, tmp_path)
    again = Caller(serve(data_dir=new), client.api_key, client.secret)
    assert again.get(f"/audio-files/{audio_file_id}/download-url").status_code == 404
    assert not list(new.rglob(f"*{audio_file_id}*"))
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
