"""`webhooks …`."""

import json
from collections.abc import Callable
from ipaddress import ip_network
from typing import Any

import pytest
from sqlalchemy import update

from app.core.clock import utc_now
from app.events import outbox
from app.events.catalogue import CATALOGUE, EventType
from app.webhooks import service
from app.webhooks.cli import webhooks
from app.webhooks.models import Delivery
from tests.running import CommandRunner, running_runtime


@pytest.fixture
def run(serve: Callable[..., str]) -> Callable[..., str]:
    serve(webhook_allowed_cidrs=(ip_network("127.0.0.0/8"),))

    def run(*arguments: str, code: int = 0) -> str:
        result = CommandRunner().invoke(webhooks, arguments)
        assert result.exit_code == code, result.output
        return str(result.output)

    return run


@pytest.fixture
def made(run: Callable[..., str]) -> dict[str, Any]:
    """A subscription with one failed delivery."""
    runtime = running_runtime()
    with runtime.db.writing() as session:
        url = "https://127.0.0.1/"
        made = service.create(session, runtime.keyring, url=url, events=["export.ready"])
        outbox.publish(session, EventType.EXPORT_READY, CATALOGUE[EventType.EXPORT_READY].sample)
        session.execute(update(Delivery).values(state="failed", finished_at=utc_now()))
    return made


def test_list_shows_subscriptions_without_secrets(
    run: Callable[..., str], made: dict[str, Any]
) -> None:
    assert made["id"] in run("list")
    [shown] = json.loads(run("list", "--json"))
    assert shown["url"] == "https://127.0.0.1/"
    assert "secret" not in json.dumps(shown)


def test_deliveries_shows_the_history(run: Callable[..., str], made: dict[str, Any]) -> None:
    assert "failed" in run("deliveries", made["id"])
    [shown] = json.loads(run("deliveries", made["id"], "--json"))
    assert shown["event"] == "export.ready"
    assert json.loads(run("deliveries", made["id"], "--status", "succeeded", "--json")) == []


def test_redeliver_and_recover_make_deliveries(
    run: Callable[..., str], made: dict[str, Any]
) -> None:
    [shown] = json.loads(run("deliveries", made["id"], "--json"))
    assert shown["event_id"] in run("redeliver", made["id"], shown["id"])
    assert run("recover", made["id"]) == "0 deliveries created\n"
    with running_runtime().db.writing() as session:
        session.execute(update(Delivery).values(state="failed", finished_at=utc_now()))
    assert run("recover", made["id"], "--since", "2020-01-01T00:00:00Z") == "1 deliveries created\n"


def test_missing_things_are_named_in_a_sentence(run: Callable[..., str]) -> None:
    assert "no such webhook" in run("deliveries", "wh_none", code=1)
    assert "no such webhook" in run("recover", "wh_none", code=1)
    assert "ISO 8601" in run("recover", "wh_none", "--since", "soon", code=2)
