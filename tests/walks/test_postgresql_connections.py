"""Connections to a PostgreSQL server that restarts, falls silent, or works too long."""

from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import make_url, text

from app.core.database.engine import limit_statements
from app.core.database.session import Database
from app.core.errors import ServiceUnavailable
from app.core.runtime import Runtime
from app.core.settings import Settings
from tests.caller import Caller
from tests.conftest import POSTGRES_URL
from tests.silent_proxy import SilentProxy, silent_proxy

pytestmark = pytest.mark.postgresql_only("needs a PostgreSQL server")


@pytest.fixture
def proxy() -> Iterator[SilentProxy]:
    server = make_url(POSTGRES_URL)
    with silent_proxy(server.host or "127.0.0.1", server.port or 5432) as running:
        yield running


@pytest.fixture
def make_database(
    make_settings: Callable[..., Settings], database_url: str
) -> Iterator[Callable[[str], Database]]:
    made: list[Database] = []

    def make(options: str = "") -> Database:
        url = make_url(database_url)
        changed = url.update_query_dict({"options": options}) if options else url
        settings = make_settings(database_url=changed.render_as_string(hide_password=False))
        made.append(Database(settings, lambda _: None))
        return made[-1]

    yield make
    for each in made:
        each.engine.dispose()


def test_a_silent_database_is_told_and_comes_back(
    serve: Callable[..., str],
    make_caller: Callable[..., Caller],
    database_url: str,
    proxy: SilentProxy,
) -> None:
    url = make_url(database_url).set(host="127.0.0.1", port=proxy.port)
    base = serve(database_url=url.render_as_string(hide_password=False))
    caller = make_caller(base)
    assert caller.get("/evaluations").status_code == 200
    proxy.fall_silent()
    for path in ("/evaluations", "/health"):
        answer = caller.get(path)  # gives up after 30 s; a system without limits takes 15 minutes
        assert (path, answer.status_code) == (path, 503)
        assert int(answer.headers["Retry-After"]) >= 1
    proxy.recover()
    assert caller.get("/evaluations").status_code == 200


def test_connections_that_the_server_closed_are_replaced(
    client: Caller, runtime: Runtime, database_url: str
) -> None:
    assert client.get("/evaluations").status_code == 200
    with runtime.db.engine.connect() as first, runtime.db.engine.connect() as second:
        second.execute(text("SELECT 1"))
        first.execute(text("SELECT 1"))
    assert runtime.db.engine.pool.checkedin() >= 2  # type: ignore[attr-defined]
    admin = Database(Settings(database_url=POSTGRES_URL), lambda _: None)
    with admin.writing() as session:
        closed = session.scalars(
            text(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = :name"
            ),
            {"name": make_url(database_url).database},
        ).all()
    admin.engine.dispose()
    assert len(closed) >= 2
    assert client.get("/evaluations").status_code == 200


def test_the_url_overrides_the_limits(make_database: Callable[..., Database]) -> None:
    shown = []
    for options in ("", "-c lock_timeout=1s"):
        with make_database(options).reading() as session:
            shown.append(
                [
                    session.scalar(text(f"SHOW {name}"))
                    for name in ("lock_timeout", "idle_in_transaction_session_timeout")
                ]
            )
    assert shown == [["10s", "1min"], ["1s", "1min"]]


def test_a_statement_of_the_web_server_may_not_run_for_long(
    make_database: Callable[..., Database],
) -> None:
    db = make_database()
    limit_statements(db.engine, 1)
    with pytest.raises(ServiceUnavailable), db.reading() as session:
        session.execute(text("SELECT pg_sleep(60)"))


def test_the_sender_does_not_wait_for_the_disk(
    make_settings: Callable[..., Settings],
) -> None:
    db = Database(make_settings(), lambda _: None, waits_for_disk=False)
    with db.reading() as session:
        assert session.scalar(text("SHOW synchronous_commit")) == "off"
    db.engine.dispose()


def test_a_connection_that_is_lost_in_use_is_a_warning(
    make_database: Callable[[], Database], caplog: pytest.LogCaptureFixture
) -> None:
    engine = make_database().engine
    lost = engine.raw_connection()
    cursor = lost.cursor()
    cursor.execute("SELECT pg_backend_pid()")
    with engine.connect() as other:
        other.execute(
            text("SELECT pg_terminate_backend(:pid, 10000)"), {"pid": cursor.fetchone()[0]}
        )
    lost.close()
    [told] = [each for each in caplog.records if each.name.startswith("sqlalchemy.pool")]
    assert (told.levelname, told.exc_info) == ("WARNING", None)
    assert "a lost connection to the database is replaced: " in told.message
