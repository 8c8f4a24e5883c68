"""Code on the tables of a newer version, as while several hosts are upgraded one by one."""

import pytest
from sqlalchemy import text

from app.core.database.schema_revision import needed_revision
from app.core.runtime import Runtime
from app.operations import start_checks
from app.operations.failure import CannotRun
from tests.caller import Caller
from tests.contacts import chat, put

pytestmark = pytest.mark.sql


def upgrade_to_a_newer_version(runtime: Runtime, *, oldest_code: str) -> None:
    """As a migration that adds a column would."""
    with runtime.db.writing() as session:
        session.execute(text("ALTER TABLE conversations ADD COLUMN mood VARCHAR"))
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        session.execute(
            text("INSERT INTO schema_state (id, oldest_code) VALUES (1, :code)"),
            {"code": oldest_code},
        )


def test_code_works_on_tables_that_a_newer_version_has_added_to(
    client: Caller, runtime: Runtime
) -> None:
    upgrade_to_a_newer_version(runtime, oldest_code=needed_revision())
    assert client.plain("GET", "/health").json()["checks"]["database"] == "ok"
    put(client, "conversations", "chat-1", chat())
    start_checks.require_usable(runtime)


def test_code_stops_before_tables_that_it_would_damage(client: Caller, runtime: Runtime) -> None:
    upgrade_to_a_newer_version(runtime, oldest_code="9999")
    assert client.plain("GET", "/health").status_code == 503
    with pytest.raises(CannotRun, match="9999"), runtime.db.reading() as session:
        start_checks.require_tables(session)
