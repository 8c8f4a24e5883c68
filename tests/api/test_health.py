"""Health, liveness and readiness."""

import threading
from collections.abc import Callable, Iterator

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import text

from app.core.runtime import Runtime
from app.web import errors
from app.web.health import Health
from tests.caller import Caller, error_code


@pytest.mark.parametrize("path", ["", "/v1", "/api/v1"])
def test_liveness_and_readiness_need_no_key(client: Caller, path: str) -> None:
    for probe in ("live", "ready"):
        answer = client.plain("GET", f"{path}/health/{probe}")
        assert answer.status_code == 200, answer.text
        assert answer.json()["status"] == "ok"


def test_a_host_without_its_tables_lives_and_is_not_ready(client: Caller, runtime: Runtime) -> None:
    with runtime.db.writing() as session:
        session.execute(text("UPDATE alembic_version SET version_num = 'older'"))
    assert client.plain("GET", "/health/live").status_code == 200
    answer = client.plain("GET", "/health/ready")
    assert (answer.status_code, error_code(answer)) == (503, "SERVICE_UNAVAILABLE")


@pytest.fixture
def hang() -> Iterator[threading.Event]:
    """An event for which a check waits; it comes with the end of the test."""
    ended = threading.Event()
    yield ended
    ended.set()


@pytest.fixture
def client_of() -> Callable[[Health], FlaskClient]:
    def make(health: Health) -> FlaskClient:
        app = Flask("test")
        errors.install(app)
        health.install(app)
        return app.test_client()

    return make


def test_no_answer_waits_for_a_check_that_hangs(
    hang: threading.Event, client_of: Callable[[Health], FlaskClient]
) -> None:
    health = Health({"database": hang.wait}, vital={"database"}, of_host={"database"})
    client = client_of(health)
    assert client.get("/health/live").status_code == 200
    assert [client.get("/health/ready").status_code for _ in range(3)] == [503, 503, 503]
    hang.set()
    assert client.get("/health").status_code == 200


def test_a_part_that_hangs_and_is_not_a_matter_of_the_host_leaves_it_ready(
    hang: threading.Event, client_of: Callable[[Health], FlaskClient]
) -> None:
    checks = {"database": lambda: True, "storage": hang.wait}
    client = client_of(Health(checks, vital={"database"}, of_host={"database"}))
    assert client.get("/health/ready").status_code == 200


def test_a_check_that_fails_in_an_unknown_way_fails_its_part(
    client_of: Callable[[Health], FlaskClient],
) -> None:
    def look() -> bool:
        raise ZeroDivisionError

    client = client_of(Health({"storage": look}, vital=set(), of_host=set()))
    assert client.get("/health").get_json()["checks"] == {"storage": "failing"}
