"""People over HTTP and on the command line: roles, accounts, confirmation, audit trail, progress."""

import csv
import io
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from sqlalchemy import select

from app.core.clock import utc_now
from app.core.errors import Conflict
from app.core.runtime import Runtime
from app.core.setting_parsers import RateLimit
from app.operations import background_work
from app.people import audit, service
from app.people.audit import Action, Actor
from app.people.cli import users
from app.people.models import UserSession
from tests.caller import Caller
from tests.recordings import reserve
from tests.running import CommandRunner, running_runtime
from tests.visitor import PASSWORD, Visitor, add_user

ISSUED = re.compile(r"<p><code>(\w{20})</code></p>")


@pytest.fixture
def admin(visit: Callable[[str], Visitor]) -> Visitor:
    return visit("admin")


def id_of(runtime: Runtime, name: str) -> str:
    with runtime.db.reading() as session:
        user = service.find_by_name(session, name)
        assert user is not None
        return user.id


def run(*arguments: str) -> str:
    result = CommandRunner().invoke(users, list(arguments))
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("role", ["agent", "viewer", "reviewer", "lead"])
def test_people_and_the_audit_trail_are_for_admins(
    visit: Callable[[str], Visitor], role: str
) -> None:
    visitor = visit(role)
    page = visitor.get("/")
    assert page.status_code == 200
    assert "/people" not in page.text
    for path in ("/people", "/audit", "/audit.csv"):
        assert visitor.get(path).status_code == 403, path
    assert visitor.post("/people", {"name": "x", "role": "admin"}).status_code == 403


def test_an_admin_creates_an_account_whose_password_shows_once(
    admin: Visitor, runtime: Runtime
) -> None:
    admin.get("/people")
    created = admin.post("/people", {"name": "Jo", "displayName": "Jo Lind", "role": "reviewer"})
    assert created.status_code == 201
    assert created.headers["Cache-Control"] == "no-store"
    assert "Content-Encoding" not in created.headers
    [password] = ISSUED.findall(created.text)
    assert password not in admin.get("/people").text
    jo = Visitor(admin.base)
    assert jo.sign_in("jo", password).status_code == 303
    assert jo.get("/").headers["Location"] == "/settings?next=/"


@pytest.mark.parametrize(
    ("form", "status", "message"),
    [
        ({"name": "", "role": "viewer"}, 422, "This field is required."),
        ({"name": "two words", "role": "viewer"}, 422, "without spaces"),
        ({"name": "jo", "role": "king"}, 422, "This must be one of agent, viewer"),
        ({"name": "ADMIN", "role": "viewer"}, 409, "There is a user admin already"),
    ],
)
def test_a_wrong_account_keeps_what_was_typed(
    admin: Visitor, form: dict[str, str], status: int, message: str
) -> None:
    admin.get("/people")
    answer = admin.post("/people", {**form, "displayName": "Jo Lind"})
    assert answer.status_code == status
    assert message in answer.text
    assert 'value="Jo Lind"' in answer.text


def test_a_role_changes_at_the_next_request(
    admin: Visitor, visit: Callable[[str], Visitor], runtime: Runtime
) -> None:
    lead = visit("lead")
    path = f"/people/{id_of(runtime, 'lead')}"
    assert lead.get("/people").status_code == 403
    admin.get(path)
    assert admin.post(f"{path}/role", {"role": "admin"}).status_code == 303
    assert lead.get("/people").status_code == 200


def test_a_reset_ends_the_sessions_and_shows_a_one_time_password(
    admin: Visitor, visit: Callable[[str], Visitor], runtime: Runtime
) -> None:
    lead = visit("lead")
    path = f"/people/{id_of(runtime, 'lead')}"
    admin.get(path)
    answer = admin.post(f"{path}/password")
    [password] = ISSUED.findall(answer.text)
    assert lead.get("/").status_code == 303
    assert lead.sign_in("lead").status_code == 401
    assert lead.sign_in("lead", password).status_code == 303


def test_a_disabled_account_is_enabled_again(
    admin: Visitor, visit: Callable[[str], Visitor], runtime: Runtime
) -> None:
    lead = visit("lead")
    path = f"/people/{id_of(runtime, 'lead')}"
    admin.get(path)
    assert admin.post(f"{path}/disable").status_code == 303
    assert lead.get("/").status_code == 303
    assert lead.sign_in("lead").status_code == 401
    assert admin.post(f"{path}/enable").status_code == 303
    assert lead.sign_in("lead").status_code == 303


def test_an_admin_cannot_change_their_own_account(admin: Visitor, runtime: Runtime) -> None:
    path = f"/people/{id_of(runtime, 'admin')}"
    admin.get("/settings")
    for verb in ("password", "disable", "enable", "sign-out"):
        assert admin.post(f"{path}/{verb}").status_code == 409, verb
    assert admin.post(f"{path}/role", {"role": "viewer"}).status_code == 409


def test_the_people_page_asks_for_the_password_again_after_ten_minutes(admin: Visitor) -> None:
    assert admin.get("/people").status_code == 200
    with time_machine.travel(utc_now() + timedelta(minutes=11)):
        asked = admin.get("/people")
        assert asked.headers["Location"] == "/confirm?next=/people"
        assert admin.get("/").status_code == 200
        refused = admin.post("/people", {"name": "jo", "role": "viewer"})
        assert refused.headers["Location"] == "/confirm?next=/?notice%3Dnot-sent"
        admin.get("/confirm?next=/people")
        assert admin.post("/confirm?next=/people", {"password": "wrong"}).status_code == 401
        confirmed = admin.post("/confirm?next=/people", {"password": PASSWORD})
        assert confirmed.headers["Location"] == "/people"
        assert admin.get("/people").status_code == 200


def test_accounts_are_managed_by_commands(base: str, runtime: Runtime) -> None:
    add_user(runtime, "admin")
    [password] = re.findall(r"^jo / (\w{20})$", run("create", "Jo", "--role", "lead"), re.MULTILINE)
    jo = Visitor(base)
    assert jo.sign_in("jo", password).status_code == 303
    assert re.search(r"^jo +lead +active +20", run("list"), re.MULTILINE)
    assert run("sign-out", "jo") == "Sessions of jo that were ended: 1.\n"
    assert jo.get("/").status_code == 303
    run("role", "jo", "viewer")
    run("disable", "jo")
    assert re.search(r"^jo +viewer +disabled", run("list"), re.MULTILINE)
    run("enable", "jo")
    assert jo.sign_in("jo", password).status_code == 303
    assert password not in run("reset", "jo")
    assert jo.sign_in("jo", password).status_code == 401


@pytest.mark.parametrize("command", [["disable", "admin"], ["role", "admin", "lead"]])
def test_one_active_admin_always_remains(runtime: Runtime, command: list[str]) -> None:
    add_user(runtime, "admin")
    refused = CommandRunner().invoke(users, command)
    assert refused.exit_code == 1
    assert "No active admin would be left" in refused.output
    add_user(runtime, "admin", "second")
    run(*command)


def test_two_admins_cannot_disable_each_other_at_the_same_moment(runtime: Runtime) -> None:
    first, second = add_user(runtime, "admin"), add_user(runtime, "admin", "second")

    def disable_second() -> None:
        with runtime.db.writing() as session:
            service.disable(session, service.get(session, second))

    with ThreadPoolExecutor(1) as pool:
        with runtime.db.writing() as session:
            service.disable(session, service.get(session, first))
            disabled = pool.submit(disable_second)
            threading.Event().wait(0.2)
        with pytest.raises(Conflict):
            disabled.result(10)


def test_the_audit_trail_names_who_did_what_to_whom(
    admin: Visitor, visit: Callable[[str], Visitor], runtime: Runtime
) -> None:
    visit("lead")
    lead_id = id_of(runtime, "lead")
    admin.get(f"/people/{lead_id}")
    admin.post(f"/people/{lead_id}/role", {"role": "viewer"})
    page = admin.get(f"/audit?action=role_changed&userId={id_of(runtime, 'admin')}").text
    assert "Entries: 1<" in page
    rows = list(csv.DictReader(io.StringIO(admin.get(f"/audit.csv?objectId={lead_id}").text)))
    assert [(row["user"], row["action"]) for row in rows] == [
        ("admin", "role_changed"),
        ("lead", "signed_in"),
    ]
    assert all(row["address"] == "127.0.0.1" and row["requestId"] for row in rows)
    assert all(row["at"].endswith("Z") for row in rows)


def test_dates_of_the_audit_trail_begin_in_the_zone_of_its_times(
    admin: Visitor, runtime: Runtime
) -> None:
    profile = {"displayName": "A", "theme": "dark", "letterKeys": "on"}
    assert admin.post("/settings", {**profile, "timezone": "Pacific/Kiritimati"}).status_code == 303
    late = datetime(2026, 11, 22, 11, tzinfo=UTC)
    with time_machine.travel(late), runtime.db.writing() as session:
        audit.record(session, Actor(None, "10.0.0.1", ""), Action.SIGN_IN_FAILED)
    query = "action=sign_in_failed&from=2026-11-23&to=2026-11-24"
    assert "23 Nov 2026, 01:00" in admin.get(f"/audit?{query}").text
    assert len(admin.get(f"/audit.csv?{query}").text.splitlines()) == 2
    earlier = query.replace("=2026-11-23", "=2026-11-22").replace("=2026-11-24", "=2026-11-23")
    assert "Entries: 0<" in admin.get(f"/audit?{earlier}").text


def test_a_wrong_filter_is_a_message_at_its_field(admin: Visitor) -> None:
    answer = admin.get("/audit?action=nothing&from=yesterday")
    assert answer.status_code == 422
    assert 'id="action-problem"' in answer.text
    assert 'id="from-problem"' in answer.text
    assert admin.get("/audit.csv?action=nothing").status_code == 422


def test_a_long_audit_trail_is_paged_and_whole_as_csv(admin: Visitor, runtime: Runtime) -> None:
    with runtime.db.writing() as session:
        for number in range(1200):
            audit.record(session, Actor(None, f"10.0.0.{number}", ""), Action.SIGN_IN_FAILED)
    page = admin.get("/audit?action=sign_in_failed&page=48").text
    assert "Page 48 of 48" in page
    assert 'href="/audit?action=sign_in_failed&amp;page=47"' in page
    lines = admin.get("/audit.csv?action=sign_in_failed").text.splitlines()
    assert len(lines) == 1201
    assert lines[1].split(",")[4] == "10.0.0.1199"


def test_what_is_seen_is_recorded_once_a_day(runtime: Runtime) -> None:
    nora, jo = (Actor(f"user_{name}", "127.0.0.1", "") for name in ("nora", "jo"))
    start = utc_now().replace(hour=9)
    for hours, actor in ((0, nora), (1, jo), (2, nora), (24, nora)):
        with (
            time_machine.travel(start + timedelta(hours=hours)),
            runtime.db.writing() as session,
        ):
            audit.record_daily(session, actor, Action.RECORDING_PLAYED, "aud_1")
            audit.record_daily(session, actor, Action.EVALUATION_OPENED, "aud_1")
    with runtime.db.reading() as session:
        found = audit.entries_before(session, None, limit=100, action=Action.RECORDING_PLAYED)
        assert [entry.user_id for entry in found] == ["user_nora", "user_jo", "user_nora"]
        heard_by = audit.users_who(session, Action.RECORDING_PLAYED, "aud_1")
    assert heard_by == ["user_nora", "user_jo"]


def test_old_entries_and_sessions_are_purged(
    visit: Callable[[str], Visitor], runtime: Runtime
) -> None:
    visit("lead")
    purges = {task.name: task.run for task in background_work.TASKS}
    for days, left in ((364, 1), (366, 0)):
        with time_machine.travel(utc_now() + timedelta(days=days)):
            purges["audit trail"](runtime)
        with runtime.db.reading() as session:
            assert len(audit.entries_before(session, None, limit=9)) == left
    purges["sessions"](runtime)
    with runtime.db.reading() as session:
        assert len(session.scalars(select(UserSession.id)).all()) == 1
    with time_machine.travel(utc_now() + timedelta(days=8)):
        purges["sessions"](runtime)
    with runtime.db.reading() as session:
        assert session.scalars(select(UserSession.id)).all() == []


def test_progress_shows_only_what_the_role_may_see(
    visit: Callable[[str], Visitor], client: Caller
) -> None:
    recording = reserve(client)["audioFileId"]
    viewer = visit("viewer")
    unknown = "eval_01jd3v8xqkf6r9w2m5t7h4c0pz"
    an_import = "imp_01jd3v8xqkf6r9w2m5t7h4c0pz"
    answer = viewer.get(f"/live/progress?ids={recording},{unknown},{an_import}")
    assert answer.json() == {
        "worker": False,
        "work": {
            recording: {"text": "Waiting for the file", "percent": 0, "ended": False, "url": None},
            unknown: None,
            an_import: None,
        },
    }
    for ids in ("x", ",".join([unknown] * 51)):
        refused = viewer.get(f"/live/progress?ids={ids}", {"Accept": "application/json"})
        assert refused.status_code == 422
        assert refused.json()["error"]["details"][0]["field"] == "ids"


def test_a_person_has_the_default_limit_of_requests(serve: Callable[..., str]) -> None:
    base = serve(rate=RateLimit(5, 60))
    add_user(running_runtime(), "viewer")
    viewer = Visitor(base)
    viewer.sign_in("viewer")
    answers = [viewer.get("/settings").status_code for _ in range(5)]
    assert answers == [200, 200, 200, 200, 429]
    assert "wait" in viewer.get("/settings").text
