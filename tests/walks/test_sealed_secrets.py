"""Changing the master key: old secrets open, are sealed anew, and then need the old key no more."""

import base64
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from app.cli import register
from app.core.runtime import runtime
from app.factory import create_app
from app.operations import first_start
from app.operations.failure import CannotRun
from app.operations.sealed_secrets import missing_master_keys
from tests.caller import Caller

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

    app = serve.apps[-1]  # type: ignore[attr-defined]
    register(app)
    told = app.test_cli_runner().invoke(args=["secrets", "rewrap"])
    assert told.exit_code == 0, told.output
    assert "1 API key secrets sealed anew, 0 left" in told.output

    last = Caller(serve(master_keys=NEW), made.api_key, made.secret)
    assert last.get("/engagements").status_code == 200
    last.close()
    with runtime().db.reading() as session:
        assert missing_master_keys(session, runtime().keyring) == []


def test_a_start_without_a_needed_master_key_is_refused(
    serve: Callable[..., str],
    make_caller: Callable[..., Caller],
    make_settings: Callable[..., object],
) -> None:
    make_caller(serve(master_keys=OLD))
    with pytest.raises(CannotRun, match="k7"):
        first_start.prepare(make_settings(master_keys=NEW))  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_key_file_that_others_may_read_is_refused(
    make_settings: Callable[..., object], data_dir: Path, mode: int
) -> None:
    (data_dir / "master.keys").chmod(mode)
    with pytest.raises(Exception, match="chmod 600"):
        create_app(make_settings())  # type: ignore[arg-type]
