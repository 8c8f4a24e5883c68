"""The System page: parts, open work, checks and settings, for admins."""

from collections.abc import Callable
from pathlib import Path

import pytest

from app.core.hosts import SENDER, WORKER, Heartbeat
from app.core.runtime import Runtime
from app.people.roles import ROLES
from app.system import queue_choice
from tests.caller import Caller
from tests.contacts import judge, put_chat
from tests.running import running_runtime
from tests.visitor import Visitor, signed_in


@pytest.fixture
def admin(base: str, runtime: Runtime) -> Visitor:
    """A visitor who has signed in as admin."""
    return signed_in(base, runtime, "admin")


def rows_of(page: str, title: str) -> dict[str, str]:
    """Return the rows of a table, by their first cell."""
    section = page.partition(f">{title}</h2>")[2].partition("</section>")[0]
    rows = section.split('<th scope="row">')[1:]
    return {row.partition("</th>")[0]: row.partition("</th>")[2] for row in rows}


def test_every_part_says_whether_it_works(admin: Visitor) -> None:
    parts = rows_of(admin.get("/system").text, "Parts of the service")
    assert set(parts) == {
        *("Database", "Master keys", "Clock", "Queue server", "Storage", "Disk space"),
        *("Worker", "Sender of webhooks", "Queue server of all hosts"),
    }
    assert {name for name, row in parts.items() if "fails" in row} == {
        "Worker",
        "Sender of webhooks",
    }
    for service in (WORKER, SENDER):
        Heartbeat(running_runtime().db, service).beat()
    assert "fails" not in str(rows_of(admin.get("/system").text, "Parts of the service"))


def test_open_work_is_counted(client: Caller, admin: Visitor) -> None:
    put_chat(client)
    waiting = rows_of(admin.get("/system").text, "Open work")["Evaluations"]
    assert '<td class="number">1</td>' in waiting
    assert "<time" in waiting
    judge()
    assert "<time" not in rows_of(admin.get("/system").text, "Open work")["Evaluations"]


def test_checks_and_settings_are_shown_without_secrets(
    serve: Callable[..., str], admin: Visitor
) -> None:
    page = admin.get("/system").text
    assert "none was made" in rows_of(page, "Checks")["backup"]
    settings = rows_of(page, "Settings")
    assert ">not set<" in settings['<code class="small">CQE_MASTER_KEYS</code>']
    workers = settings['<code class="small">CQE_WORKER_PROCESSES</code>']
    assert ">0 (one for every two cores, four at most)<" in workers
    assert ">600/60<" in settings['<code class="small">CQE_RATE_LIMIT_DEFAULT</code>']
    key = (running_runtime().settings.data_dir / "master.keys").read_text()
    secret = f"{key.strip()},old:{'QUJD' * 10}QUE="
    again = Visitor(serve(master_keys=secret, judge_api_key="sk-abc"))
    again.get("/sign-in")
    assert again.sign_in("admin").status_code == 303
    page = again.get("/system").text
    assert key.partition(":")[2].strip() not in page
    assert "sk-abc" not in page
    assert ">set<" in rows_of(page, "Settings")['<code class="small">CQE_JUDGE_API_KEY</code>']


def test_the_own_queue_server_is_not_a_setting(
    serve: Callable[..., str], data_dir: Path, admin: Visitor
) -> None:
    def shown(redis_url: str) -> str:
        visitor = Visitor(serve(redis_url=redis_url))
        visitor.get("/sign-in")
        assert visitor.sign_in("admin").status_code == 303
        settings = rows_of(visitor.get("/system").text, "Settings")
        return settings['<code class="small">CQE_REDIS_URL</code>']

    own = f"unix://{queue_choice.socket_path(data_dir)}?db=0"
    assert ">not set<" in shown(own)
    assert ">default<" in shown(own)
    assert ">set<" in shown("redis://127.0.0.1:1/0")


def test_only_admins_see_the_page(base: str, runtime: Runtime) -> None:
    assert [role for role, scopes in ROLES.items() if "system:read" in scopes] == ["admin"]
    lead = signed_in(base, runtime, "lead")
    assert lead.get("/system").status_code == 403
    assert 'href="/system"' not in lead.get("/").text
