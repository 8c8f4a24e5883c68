"""Fixtures of all tests: a service on a real socket with its own database file."""

import gc

# While modules are imported there is hardly any garbage; looking for it took a fifth of their time.
gc.disable()

import atexit
import os
import shutil
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from flask import Flask
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from werkzeug.serving import WSGIRequestHandler, make_server
from xdist.scheduler import LoadFileScheduling

from app.api_keys import service as api_keys
from app.core.database.schema_revision import needed_revision
from app.core.database.session import Database, Table
from app.core.runtime import Runtime
from app.core.secrets.encryption import create_key_file
from app.core.setting_parsers import RateLimit
from app.core.settings import Settings
from app.factory import create_app
from app.packages import load_tables
from app.web.current import runtime_of
from tests.caller import Caller
from tests.equal_dialects import share_compiled_statements
from tests.reused_database import ReusedDatabase
from tests.running import note_started, running_runtime
from tests.sampling import NIGHTLY, examples
from tests.shared_routes import SharedRoutes

load_tables()
Flask.url_map_class = SharedRoutes
share_compiled_statements()

# A slow machine fails no test, and CI tries the same examples each time.
hypothesis_settings.register_profile(
    "cqe",
    max_examples=examples(100),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
)
hypothesis_settings.load_profile("cqe")

DATA = Path(__file__).parent / "data"
POSTGRES_URL = os.environ.get("CQE_TEST_POSTGRES_URL", "")
PAGES = "tests/pages/"


class LoadFileOrPagesScheduling(LoadFileScheduling):
    """Gives a whole file to one process; all browser tests, which share a service, to one."""

    def _split_scope(self, nodeid: str) -> str:
        return PAGES if _is_page(nodeid) else str(super()._split_scope(nodeid))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling:
    """Distribute tests over the processes of `-n`."""
    return LoadFileOrPagesScheduling(config, log)


def _is_page(nodeid: str) -> bool:
    return nodeid.startswith(PAGES)


def pytest_collection_finish() -> None:
    """Collect garbage rarely, and never look through what was imported: it took a quarter of the time."""
    gc.collect()
    gc.freeze()
    # DuckDB reports what is frozen at the end as leaks.
    atexit.register(gc.unfreeze)
    gc.set_threshold(300_000, 20, 50)
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the files; leave out what runs at night alone, or the same on PostgreSQL."""
    is_whole = NIGHTLY or all(".py" in argument for argument in config.args)
    left_out = [item for item in items if not _is_chosen(item, is_whole=is_whole)]
    items[:] = [item for item in items if _is_chosen(item, is_whole=is_whole)]
    config.hook.pytest_deselected(items=left_out)
    _take_turns(items)


def _take_turns(items: list[pytest.Item]) -> None:
    """Begin with the longest files; walks, which mostly wait, take turns with files that work."""
    files: dict[tuple[bool, bool], dict[str, int]] = {}
    groups = []
    for item in items:
        is_long = _is_page(item.nodeid) or bool(item.get_closest_marker("long"))
        groups.append((not is_long, "/walks/" in item.nodeid))
        places = files.setdefault(groups[-1], {})
        places.setdefault(_file_of(item), len(places))
    keys = {
        item: (group[0], files[group][_file_of(item)] / len(files[group]))
        for item, group in zip(items, groups, strict=True)
    }
    items.sort(key=keys.__getitem__)


def _file_of(item: pytest.Item) -> str:
    return PAGES if _is_page(item.nodeid) else str(item.path)


def _is_chosen(item: pytest.Item, *, is_whole: bool) -> bool:
    if POSTGRES_URL and not _uses_postgresql(item):
        return False
    marks = {mark.name for mark in item.iter_markers()}
    if POSTGRES_URL and not marks & {"sql", "postgresql_only"}:
        return is_whole
    return is_whole or "nightly" not in marks


def _uses_postgresql(item: pytest.Item) -> bool:
    databases = {
        "database_url",
        "module_database_url",
        "shared_database_url",
        "postgresql_template",
    }
    return bool(item.get_closest_marker("postgresql_only") or databases & {*item.fixturenames})  # type: ignore[attr-defined]


@cache
def _give_way() -> None:
    """Leave the processor to the browser tests and to their service: they take longest."""
    os.nice(10)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what is about the other database alone; the marker says why."""
    if not _is_page(item.nodeid):
        _give_way()
    marker = item.get_closest_marker("sqlite_only" if POSTGRES_URL else "postgresql_only")
    if marker is not None:
        pytest.skip(marker.args[0])


def make_tables(engine: sqlalchemy.Engine) -> None:
    """Make the tables of the models; `test_layout` checks that the migrations make the same."""
    Table.metadata.create_all(engine)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE alembic_version (version_num VARCHAR(32))")
        connection.exec_driver_sql(f"INSERT INTO alembic_version VALUES ('{needed_revision()}')")


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with every table and no row, copied for each test."""
    folder = tmp_path_factory.mktemp("empty")
    db = Database(Settings(data_dir=folder), lambda bell: None)
    make_tables(db.engine)
    db.engine.dispose()
    return folder / "cqe.db"


def make_data_dir(parent: Path, empty_database: Path) -> Path:
    """Make a data folder as the first start leaves it."""
    folder = parent / "instance"
    folder.mkdir(mode=0o700)
    create_key_file(folder)
    shutil.copy(empty_database, folder / "cqe.db")
    return folder


@pytest.fixture
def data_dir(tmp_path: Path, empty_database: Path) -> Path:
    """A data folder of the test's own."""
    return make_data_dir(tmp_path, empty_database)


@pytest.fixture(scope="module")
def module_data_dir(tmp_path_factory: pytest.TempPathFactory, empty_database: Path) -> Path:
    """A data folder for the tests of a module."""
    return make_data_dir(tmp_path_factory.mktemp("module"), empty_database)


@pytest.fixture(scope="session")
def postgresql_template() -> Iterator[tuple[sqlalchemy.Engine, str]]:
    """An engine that creates databases, and the name of one with every table and no row."""
    admin = sqlalchemy.create_engine(POSTGRES_URL, isolation_level="AUTOCOMMIT")
    with new_database(admin) as template:
        engine = sqlalchemy.create_engine(admin.url.set(database=template))
        make_tables(engine)
        engine.dispose()
        yield admin, template
    admin.dispose()


@contextmanager
def new_database(admin: sqlalchemy.Engine, template: str = "template1") -> Iterator[str]:
    """Create a PostgreSQL database as a copy of another; drop it in the end."""
    name = f"cqe_{uuid.uuid4().hex}"
    with admin.connect() as connection:
        # A copy of the files takes a third of the time that a copy through the log takes.
        connection.exec_driver_sql(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
        yield name
        connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def reused_database(postgresql_template: tuple[sqlalchemy.Engine, str]) -> Iterator[ReusedDatabase]:
    """A PostgreSQL database for the tests that start no process, which might outlive them."""
    admin, template = postgresql_template
    reused = ReusedDatabase(admin.url, lambda: new_database(admin, template))
    yield reused
    reused.drop()


def _database_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """Empty for SQLite; with CQE_TEST_POSTGRES_URL, an empty PostgreSQL database."""
    if not POSTGRES_URL:
        yield ""
        return
    if request.scope == "function" and request.node.nodeid.startswith("tests/api/"):
        with request.getfixturevalue("reused_database").lend() as url:
            yield url
        return
    admin, template = request.getfixturevalue("postgresql_template")
    with new_database(admin, template) as name:
        yield admin.url.set(database=name).render_as_string(hide_password=False)


database_url = pytest.fixture(_database_url)
module_database_url = pytest.fixture(_database_url, scope="module")
shared_database_url = pytest.fixture(_database_url, scope="session")


@pytest.fixture
def make_settings(data_dir: Path, database_url: str) -> Callable[..., Settings]:
    """Settings of this test's own folder; keyword arguments change them."""

    def make(**changes: Any) -> Settings:
        values: dict[str, Any] = {
            "data_dir": data_dir,
            "database_url": database_url,
            "redis_url": "none",
            "rate_limit_default": changes.pop("rate", None) or Settings().rate_limit_default,
            "sqlite_synchronous": "NORMAL",
        }
        return Settings(**{**values, **changes})

    return make


class _QuietHandler(WSGIRequestHandler):
    """Logs no request: a line of it took a fifth of a request's time."""

    def log_request(self, *args: Any) -> None:
        pass


@contextmanager
def listening(app: Flask) -> Iterator[str]:
    """Serve an application on a free port; return its address."""
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=_QuietHandler)
    server.daemon_threads = False  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        runtime_of(app).db.engine.dispose()


@pytest.fixture
def serve(make_settings: Callable[..., Settings]) -> Iterator[Callable[..., str]]:
    """Start the service with changed settings; returns its address."""
    apps: list[Flask] = []
    with ExitStack() as running:

        def start(**changes: Any) -> str:
            app = create_app(make_settings(**changes))
            note_started(app)
            apps.append(app)
            return running.enter_context(listening(app))

        start.apps = apps  # type: ignore[attr-defined]
        yield start


@pytest.fixture
def base(serve: Callable[..., str]) -> str:
    """The address of a service with default settings."""
    return serve()


@pytest.fixture
def flask_app(serve: Callable[..., str], base: str) -> Flask:
    """The application behind `base`."""
    return serve.apps[-1]  # type: ignore[attr-defined]


@pytest.fixture
def runtime(base: str) -> Runtime:
    """The runtime of the running service."""
    return running_runtime()


def caller_of(runtime: Runtime, base: str, **key: Any) -> Caller:
    """Make a key, by default with every scope, and a caller that holds it."""
    values = {"name": "test", "scopes": ["*"], **key}
    with runtime.db.writing() as session:
        issued = api_keys.create_key(session, runtime.keyring, **values)
    return Caller(base, issued.pair.api_key, issued.pair.secret, key_id=issued.key.id)


@pytest.fixture
def make_caller() -> Iterator[Callable[..., Caller]]:
    """Make a key in the running service and a caller that holds it."""
    callers: list[Caller] = []

    def make(base: str, **key: Any) -> Caller:
        callers.append(caller_of(running_runtime(), base, **key))
        return callers[-1]

    yield make
    for caller in callers:
        caller.close()


@pytest.fixture
def client(base: str, make_caller: Callable[..., Caller]) -> Caller:
    """A caller with every scope."""
    return make_caller(base)


def count_rows(database: Database) -> dict[str, int]:
    """Count the rows of each table that has any, besides those that count requests."""
    names = [name for name in Table.metadata.tables if not name.startswith("usage_")]
    counts = (f"SELECT '{name}', count(*) AS rows FROM {name}" for name in names)
    with database.reading() as session:
        rows = session.execute(sqlalchemy.text(" UNION ALL ".join(counts)))
        return {name: count for name, count in rows if count}


@dataclass(frozen=True)
class SharedService:
    """A service without limits that several tests use, and a caller of it with every scope."""

    base: str
    runtime: Runtime
    client: Caller


@contextmanager
def shared_service(data_dir: Path, database_url: str = "") -> Iterator[SharedService]:
    """Start a service for several tests."""
    much = RateLimit(1_000_000, 60)
    app = create_app(
        Settings(
            data_dir=data_dir,
            database_url=database_url,
            redis_url="none",
            rate_limit_default=much,
            rate_limit_expensive=much,
            rate_limit_keys=much,
            rate_limit_auth_failures=much,
            sqlite_synchronous="NORMAL",
        )
    )
    with listening(app) as base:
        client = caller_of(runtime_of(app), base)
        yield SharedService(base, runtime_of(app), client)
        client.close()


@pytest.fixture(scope="module")
def module_service(module_data_dir: Path, module_database_url: str) -> Iterator[SharedService]:
    """A service for tests of a module that only read what the module has put in."""
    with shared_service(module_data_dir, module_database_url) as service:
        yield service


@pytest.fixture(scope="session")
def refusing_service(
    tmp_path_factory: pytest.TempPathFactory, empty_database: Path
) -> Iterator[SharedService]:
    """A service for all tests whose requests are refused."""
    data_dir = make_data_dir(tmp_path_factory.mktemp("shared"), empty_database)
    with shared_service(data_dir) as service:
        yield service


@pytest.fixture
def shared_client(refusing_service: SharedService) -> Iterator[Caller]:
    """The caller for requests that store nothing: what the service refuses or does not find.

    These tests run on SQLite alone: no refusal depends on the database.
    None of them changes the clock: the limits of the service would be those of another time.
    """
    yield refusing_service.client
    assert count_rows(refusing_service.runtime.db) == {"api_keys": 1, "api_key_credentials": 1}
