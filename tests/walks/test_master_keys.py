"""Master keys that are not those of the database: what starts, what is refused, what is said."""

import base64
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from sqlalchemy import delete, select

from app.api_keys import service as api_keys
from app.api_keys.models import ApiKey
from app.core.clock import utc_now
from app.core.database.key_checks import MasterKeyCheck, recorded_values
from app.core.runtime import Runtime
from app.core.secrets.encryption import Keyring, UnknownMasterKey, parse_keyring
from app.core.settings import Settings
from app.imports import service as imports
from app.imports.loading.input import ImportOptions
from app.operations import first_start, start_checks, stored_secrets
from app.operations.commands import doctor
from app.operations.database_commands import db
from app.redaction import raw_texts
from app.redaction.redactor import Redactor
from app.webhooks import service as webhooks
from app.wiring import build_runtime
from tests.caller import Caller
from tests.running import running_runtime
from tests.waiting import PATIENCE_S
from tests.walks.service_process import ServiceProcess, run_to_end

pytestmark = pytest.mark.long

WEB = [sys.executable, "-c", "import wsgi"]
REWRAP = ["secrets", "rewrap"]


def started(settings: Settings) -> Runtime:
    """Return the runtime of a service that has been started once."""
    first_start.prepare(settings, access_file=None)
    return build_runtime(settings)


def other_key(file: Path) -> str:
    """Return the text of a key file with the same id and another key."""
    key_id = file.read_text().partition(":")[0]
    return f"{key_id}:{base64.b64encode(os.urandom(32)).decode()}\n"


def test_a_command_prints_new_keys_that_the_settings_take(tmp_path: Path) -> None:
    printed = [run_to_end(tmp_path / "none", "master-key")[1].strip() for _ in range(2)]
    assert len(parse_keyring(",".join(printed)).key_ids) == 2
    assert not (tmp_path / "none").exists()


def test_a_key_of_another_database_stops_every_process(data_dir: Path) -> None:
    started(Settings(data_dir=data_dir)).db.engine.dispose()
    file = data_dir / "master.keys"
    file.write_text(other_key(file))
    web = ServiceProcess(data_dir, command=WEB)
    assert web.process.wait(timeout=PATIENCE_S) == 1
    ended = [run_to_end(data_dir, *command) for command in (["up"], ["worker"], REWRAP)]
    told_by_web = web.text
    for code, text in [*ended, (1, told_by_web)]:
        assert code == 1, text
        assert "is not the one that encrypted the secrets of this database" in text
        assert "put the right master.keys (or CQE_MASTER_KEYS) back" in text
        assert ("Traceback" in text) is (text is told_by_web)
    told = CliRunner(env={"CQE_DATA_DIR": str(data_dir)}).invoke(doctor)
    assert told.exit_code == 1
    assert "is not the one that encrypted the secrets" in told.stdout


def test_no_key_is_made_next_to_a_database_with_secrets(data_dir: Path) -> None:
    started(Settings(data_dir=data_dir)).db.engine.dispose()
    file = data_dir / "master.keys"
    key_id = file.read_text().partition(":")[0]
    file.unlink()
    code, text = run_to_end(data_dir, "up")
    assert code == 1
    assert f"the database has secrets of the master keys {key_id}" in text
    assert "Traceback" not in text
    assert not file.exists()


def test_a_service_goes_on_without_the_secrets_of_a_lost_key(
    make_settings: Callable[..., Settings], data_dir: Path
) -> None:
    settings = make_settings()
    runtime = started(settings)
    with runtime.db.writing() as session:
        key = api_keys.create_key(session, runtime.keyring, name="one", scopes=["*"])
        hook = webhooks.create(
            session,
            runtime.keyring,
            url="https://receiver.example/hook",
            events=["export.ready"],
            description=None,
        )
        document = {"content": "{}", "externalId": None}
        sent = imports.create(
            session, runtime.keyring, format="native", documents=[document], options=ImportOptions()
        )
        masked = Redactor(True, runtime.keyring)
        raw_id = raw_texts.store(session, "conv_1", masked.seal(messages={"0": "4111"}))
    runtime.db.engine.dispose()
    (data_dir / "master.keys").unlink()
    command = CliRunner(
        env={"CQE_DATA_DIR": str(data_dir), "CQE_DATABASE_URL": settings.database_url}
    )
    assert command.invoke(db, ["discard-secrets"], input="n").exit_code == 1
    done = command.invoke(db, ["discard-secrets", "--yes"])
    assert done.exit_code == 0, done.output
    assert "Webhooks: 1 switched off" in done.output
    after = started(make_settings())
    start_checks.require_usable(after)
    with after.db.writing() as session:
        assert api_keys.get_key(session, key.key.id).revoked_at is not None
        assert webhooks.get(session, hook["id"]).active is False
        rotated = webhooks.rotate_secret(session, after.keyring, hook["id"], overlap_s=0)
        assert rotated["signing_secret"].startswith("whsec_")
        assert imports.get(session, sent["id"])["error"]["code"] == "BYTES_MISSING"
        assert raw_texts.find_originals(session, after.keyring, raw_id) is None
        # As a new service does, this one has made a first key.
        assert [row.status_at(utc_now()) for row in session.scalars(select(ApiKey))].count(
            "active"
        ) == 1


@pytest.mark.parametrize("table", ["recorded", "of an earlier version"])
def test_a_missing_key_is_named(
    make_settings: Callable[..., Settings], data_dir: Path, table: str
) -> None:
    runtime = started(make_settings())
    if table != "recorded":
        with runtime.db.writing() as session:
            session.execute(delete(MasterKeyCheck))
    new = f"new:{base64.b64encode(os.urandom(32)).decode()}"
    with pytest.raises(UnknownMasterKey, match=runtime.keyring.current_id):
        start_checks.require_usable(build_runtime(make_settings(master_keys=new)))


def test_keys_are_tried_before_they_are_recorded(make_settings: Callable[..., Settings]) -> None:
    runtime = started(make_settings())
    with runtime.db.writing() as session:
        session.execute(delete(MasterKeyCheck))
        api_keys.create_key(session, runtime.keyring, name="one", scopes=["*"])
    wrong = f"{runtime.keyring.current_id}:{base64.b64encode(os.urandom(32)).decode()}"
    with pytest.raises(UnknownMasterKey, match="another than the one that sealed it"):
        start_checks.require_usable(build_runtime(make_settings(master_keys=wrong)))
    with runtime.db.reading() as session:
        assert recorded_values(session) == {}
    start_checks.require_usable(runtime)
    with runtime.db.reading() as session:
        assert list(recorded_values(session)) == [runtime.keyring.current_id]


def test_a_rewrap_forgets_the_old_key(
    make_settings: Callable[..., Settings], data_dir: Path
) -> None:
    old = started(make_settings())
    new = f"new:{base64.b64encode(os.urandom(32)).decode()}"
    both = f"{new},{(data_dir / 'master.keys').read_text().strip()}"
    runtime = build_runtime(make_settings(master_keys=both))
    start_checks.require_usable(runtime)
    with runtime.db.reading() as session:
        assert set(recorded_values(session)) == {"new", old.keyring.current_id}
    assert stored_secrets.rewrap(runtime)["API key"] == 1
    start_checks.require_usable(build_runtime(make_settings(master_keys=new)))
    with pytest.raises(UnknownMasterKey, match="need the master keys new"):
        start_checks.require_usable(old)


def test_health_is_degraded_with_keys_of_another_database(client: Caller) -> None:
    start_checks.require_usable(running_runtime())
    with running_runtime().db.writing() as session:
        session.get_one(MasterKeyCheck, running_runtime().keyring.current_id).value = "of another"
    answer = client.plain("GET", "/health")
    assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
    assert answer.json()["checks"]["masterKeys"] == "failing"


def test_two_services_make_keys_with_different_ids(tmp_path: Path) -> None:
    rings = []
    for name in ("one", "two"):
        settings = Settings(data_dir=tmp_path / name)
        settings.data_dir.mkdir(mode=0o700)
        stored_secrets.create_first_key(settings)
        rings.append((settings.data_dir / "master.keys").read_text().partition(":")[0])
    assert rings[0] != rings[1]
    assert Keyring.key_id_of(f"v1.{rings[0]}.a.b") == rings[0]
