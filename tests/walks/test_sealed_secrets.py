"""Change of the master key: stored secrets are encrypted again, and then need only the new key."""

import base64
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import requests

from app.api_keys import credentials
from app.core.secrets.encryption import Keyring, UnknownMasterKey
from app.factory import create_app
from app.imports import jobs as imports
from app.imports import sealed_documents
from app.intake import jobs as intake
from app.intake import sealing, service
from app.intake.catalogue import VENDORS
from app.operations import first_start, start_checks, stored_secrets
from app.operations.commands import secrets
from app.webhooks import mail_server, signing
from app.webhooks import service as webhooks
from tests.caller import Caller
from tests.intake_requests import RETELL, SECRET, signed
from tests.running import CommandRunner, running_runtime

OLD, NEW = (f"{name}:{base64.b64encode(os.urandom(32)).decode()}" for name in ("k7", "k8"))


def test_a_new_master_key_takes_over(
    serve: Callable[..., str],
    make_caller: Callable[..., Caller],
    make_settings: Callable[..., object],
) -> None:
    made = make_caller(serve(master_keys=OLD))

    again = Caller(serve(master_keys=f"{NEW},{OLD}"), made.api_key, made.secret)
    assert again.get("/engagements").status_code == 200
    again.close()

    rewrapped = CommandRunner().invoke(secrets, ["rewrap"])
    assert rewrapped.exit_code == 0, rewrapped.output
    assert "1 API key secrets encrypted again, 0 left" in rewrapped.output

    last = Caller(serve(master_keys=NEW), made.api_key, made.secret)
    assert last.get("/engagements").status_code == 200
    last.close()
    start_checks.require_usable(running_runtime())


def test_both_secrets_of_a_webhook_and_the_password_of_the_mail_server_take_a_new_key(
    serve: Callable[..., str],
) -> None:
    serve(master_keys=OLD)
    runtime = running_runtime()
    with runtime.db.writing() as session:
        made = webhooks.create(session, runtime.keyring, url="https://one.example", events=[])
        webhooks.rotate_secret(session, runtime.keyring, made["id"], overlap_s=60)
        mail_server.replace(
            session,
            runtime.keyring,
            password="secret",
            host="mail.example",
            port=465,
            security="tls",
            user="cqe",
            sender="cqe@one.example",
        )
    serve(master_keys=f"{NEW},{OLD}")
    counts = stored_secrets.rewrap(running_runtime())
    assert [counts[name] for name in ("webhook", "previous webhook", "mail server")] == [1, 1, 1]
    serve(master_keys=NEW)
    keyring = running_runtime().keyring
    with running_runtime().db.reading() as session:
        row = webhooks.get(session, made["id"])
        previous = signing.decrypt(keyring, row.id, row.previous_secret or "")
        assert previous == made["signing_secret"]
        assert signing.decrypt(keyring, row.id, row.secret) != made["signing_secret"]
        assert mail_server.password_of(keyring, mail_server.find(session)) == "secret"


def test_a_source_and_what_it_has_sent_outlive_their_master_key(serve: Callable[..., str]) -> None:
    base = serve(master_keys=OLD)
    runtime = running_runtime()
    with runtime.db.writing() as session:
        service.switch_on(session, runtime.keyring, VENDORS["retell"], {"secret": SECRET}, {})
    request = signed("retell", RETELL, time.time())
    answer = requests.post(
        f"{base}/intake/retell", data=request.body, headers=request.headers, timeout=30
    )
    assert answer.status_code == 200
    serve(master_keys=f"{NEW},{OLD}")
    with running_runtime().db.writing() as session:
        for column in (sealing.CONFIGS, sealing.BODIES):
            assert column.rewrap(session, running_runtime().keyring) == 1
            assert column.rewrap(session, running_runtime().keyring) == 0
    serve(master_keys=NEW)
    intake.run_intake(running_runtime(), "")
    with running_runtime().db.writing() as session:
        assert service.latest(session, "retell")[0].outcome == "created"
        lost = Keyring({"k9": b"9" * 32})
        assert sealing.CONFIGS.discard(session, lost) == 1
        assert service.states(session) == {}


def test_a_queued_import_outlives_its_master_key(
    serve: Callable[..., str], make_caller: Callable[..., Caller]
) -> None:
    made = make_caller(serve(master_keys=OLD))
    item = {"externalId": "a", "messages": [{"role": "customer", "text": "Hello?"}]}
    queued = made.post("/imports", {"items": [item]}).json()["data"]
    caller = Caller(serve(master_keys=f"{NEW},{OLD}"), made.api_key, made.secret)
    with running_runtime().db.reading() as session, pytest.raises(UnknownMasterKey, match="k7"):
        stored_secrets.require_readable(session, Keyring({"k9": b"9" * 32}))
    with running_runtime().db.writing() as session:
        assert sealed_documents.DOCUMENTS.rewrap(session, running_runtime().keyring) == 1
        assert sealed_documents.DOCUMENTS.rewrap(session, running_runtime().keyring) == 0
    imports.run_import(running_runtime(), queued["id"])
    assert caller.get(f"/imports/{queued['id']}").json()["data"]["counts"]["created"] == 1
    caller.close()


def test_a_start_without_a_needed_master_key_is_refused(
    serve: Callable[..., str],
    make_caller: Callable[..., Caller],
    make_settings: Callable[..., object],
) -> None:
    make_caller(serve(master_keys=OLD))
    with pytest.raises(UnknownMasterKey, match="k7"):
        first_start.prepare(make_settings(master_keys=NEW), access_file=None)  # type: ignore[arg-type]


def test_what_a_lost_master_key_sealed_is_told_and_all_else_is_served(
    serve: Callable[..., str], make_caller: Callable[..., Caller]
) -> None:
    made = make_caller(serve(master_keys=OLD))
    old_ring = running_runtime().keyring
    said = {"messages": [{"role": "customer", "text": "My card is 4111 1111 1111 1111."}]}
    put = made.call("PUT", "/imports/conversations/one", said).json()["data"]
    once = {"Idempotency-Key": "once"}
    wanted = {"name": "kept", "type": "qa"}
    assert made.post("/engagements", wanted, headers=once).status_code == 201

    caller = Caller(serve(master_keys=NEW), made.api_key, made.secret)
    _is_told(caller.get("/engagements"))
    with running_runtime().db.writing() as session:
        ring = Keyring({**running_runtime().keyring._keys, **old_ring._keys})
        assert credentials.SECRETS.rewrap(session, ring) == 1
    messages = f"/conversations/{put['id']}/messages"
    for path in (messages, f"/evaluations/{put['evaluationId']}/transcript"):
        assert caller.get(path).status_code == 200
    _is_told(caller.get(f"{messages}?redacted=false"))
    _is_told(caller.post("/engagements", wanted, headers=once))
    assert caller.get("/engagements").json()["totalCount"] == 1
    caller.close()

    told = CommandRunner().invoke(secrets, ["rewrap"])
    assert (told.exit_code, told.exception.__class__) == (1, SystemExit)
    assert "master keys k7" in told.stderr


def _is_told(answer: requests.Response) -> None:
    """The answer names the key that is missing, and where it belongs."""
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (503, "SERVICE_UNAVAILABLE")
    assert "'k7'" in error["message"]
    assert "CQE_MASTER_KEYS" in error["message"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_key_file_that_others_may_read_is_refused(
    make_settings: Callable[..., object], data_dir: Path, mode: int
) -> None:
    (data_dir / "master.keys").chmod(mode)
    with pytest.raises(Exception, match="chmod 600"):
        create_app(make_settings())  # type: ignore[arg-type]
