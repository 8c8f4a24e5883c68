"""Teams: what agents, leads of a team and limited keys see, over every route and every page."""

from collections.abc import Callable, Iterator
from ipaddress import ip_network
from typing import Any

import pytest
import time_machine
from flask import Flask
from sqlalchemy import text

from app.analytics import jobs
from app.analytics.engine import rebuilding
from app.analytics.enums import Dataset
from app.api_keys.enums import TEAM_SCOPES
from app.core.database.session import Table
from app.core.ids import new_id
from app.core.json_documents import camel_case
from app.core.principal import TeamScope, limited_to
from app.core.runtime import Runtime
from app.core.setting_parsers import RateLimit
from app.people import team_rows
from tests.caller import Caller, findings
from tests.contacts import judge, put
from tests.evaluation_rows import rows_of
from tests.team_walk import (
    Asker,
    assert_equal,
    limited_person,
    path_of,
    read_all,
    shown,
)
from tests.team_world import AT, MARK, Team, TeamWorld
from tests.visitor import Visitor, add_user, signed_in

pytestmark = pytest.mark.long
MUCH = RateLimit(1_000_000, 60)


@pytest.fixture(autouse=True)
def _moment() -> Iterator[None]:
    """Two equal requests get equal answers only at one moment."""
    with time_machine.travel(AT, tick=False):
        yield


@pytest.fixture
def base(serve: Callable[..., str]) -> str:
    return serve(
        rate=MUCH,
        rate_limit_expensive=MUCH,
        rate_limit_keys=MUCH,
        rate_limit_auth_failures=MUCH,
        rate_limit_sign_in=MUCH,
        webhook_allowed_cidrs=(ip_network("127.0.0.0/8"),),
    )


@pytest.fixture
def world(base: str, runtime: Runtime, client: Caller) -> TeamWorld:
    return TeamWorld(client, runtime, signed_in(base, runtime, "admin"))


def askers(base: str, runtime: Runtime, team: Team, make: Callable[..., Caller]) -> list[Asker]:
    scopes = sorted(TEAM_SCOPES)
    people_ = {
        "agent": limited_person(base, runtime, "agent", executive_id=team.executive),
        "lead": limited_person(base, runtime, "lead", call_center_ids=[team.call_center]),
        "reviewer": limited_person(base, runtime, "reviewer", campaign_ids=[team.campaign]),
    }
    keys = {
        "key of a call centre": make(base, scopes=scopes, call_center_ids=[team.call_center]),
        "key of an executive": make(base, scopes=scopes, executive_ids=[team.executive]),
    }
    groups: list[dict[str, Visitor | Caller]] = [{**people_}, {**keys}]
    return [
        Asker(who, caller, share=slice(place, None, len(group)))
        for group in groups
        for place, (who, caller) in enumerate(group.items())
    ]


def exported(asker: Asker, world: TeamWorld) -> dict[str, str]:
    """Return the file of every dataset that the caller may export."""
    files: dict[str, str] = {}
    caller = asker._caller
    assert isinstance(caller, Caller)
    for dataset in Dataset:
        body = {"dataset": dataset, "format": "csv", "from": "2026-11-01", "to": "2026-12-01"}
        answer = caller.post("/analytics/export", body)
        if dataset is Dataset.USAGE:
            assert answer.status_code == 403
            continue
        assert answer.status_code == 202, answer.text
        job_id = answer.json()["data"]["jobId"]
        jobs.run_export(world.runtime, job_id)
        job = caller.get(f"/analytics/export/{job_id}").json()["data"]
        assert job["status"] == "ready", job
        file = caller.plain("GET", job["downloadUrl"].removeprefix(caller.base))
        files[dataset] = file.text
    return files


def test_what_others_have_changes_no_byte_of_any_answer(
    world: TeamWorld, flask_app: Flask, base: str, make_caller: Callable[..., Caller]
) -> None:
    own = world.add("Ann", "Alpha")
    all_askers = askers(base, world.runtime, own, make_caller)
    key = all_askers[3]
    files = exported(key, world)
    before = {asker.who: read_all(asker, flask_app, own) for asker in all_askers}
    of_people = {**before["agent"], **before["lead"], **before["reviewer"]}
    opened = [path for path, (status, _) in of_people.items() if status == 200]
    assert len(opened) > 35, opened
    assert all(text.count("\n") > 1 for text in files.values()), files

    def assert_unchanged(*unaware: Asker) -> None:
        for asker in unaware:
            for path, answer in read_all(asker, flask_app, own).items():
                assert_equal(answer, before[asker.who][path], (asker.who, path))
                # A page repeats what it was asked for.
                assert MARK in path or MARK not in answer[1], (asker.who, path)
                assert not any(row_id in answer[1] for row_id in foreign.ids.values()), path

    foreign = world.add("Bob", "Beta", mark=MARK)
    assert MARK in world.admin.get("/executives").text
    of_call_center = [asker for asker in all_askers if asker.who in ("lead", key.who)]
    assert_unchanged(*of_call_center)
    assert exported(key, world) == files
    # A colleague of the same call centre is foreign to the agent and to those of a campaign.
    world.add("Amy", "Alpha", mark=MARK)
    assert_unchanged(*(asker for asker in all_askers if asker not in of_call_center))


def test_an_id_of_others_answers_as_one_that_does_not_exist(
    world: TeamWorld, flask_app: Flask, base: str, make_caller: Callable[..., Caller]
) -> None:
    own = world.add("Ann", "Alpha")
    foreign = world.add("Bob", "Beta", mark=MARK)
    bodies: list[dict[str, Any]] = [{}, {"action": "comment", "reviewer": "A", "reason": "B"}]
    for asker in askers(base, world.runtime, own, make_caller):
        for method, rule in asker.routes(flask_app):
            for name in rule.arguments & foreign.ids.keys():
                # The id of nothing has the prefix of the other.
                nothing = new_id(foreign.ids[name].partition("_")[0])
                paths = [path_of(rule, {name: row_id}) for row_id in (foreign.ids[name], nothing)]
                for body in bodies if method != "GET" else bodies[:1]:
                    answers = [
                        shown(asker.ask(method, path, body), foreign.ids[name], nothing)
                        for path in paths
                    ]
                    assert answers[0] == answers[1], (asker.who, method, paths)
                    assert answers[0][0] >= 400 or "live" in paths[0], (asker.who, method, paths)
        for name in ("executive_id", "call_center_id", "campaign_id"):
            row_id = foreign.ids[name]
            filter_name = camel_case(name)
            nothing = new_id(row_id.partition("_")[0])
            for method, rule in asker.routes(flask_app):
                if method == "GET" and not rule.arguments:
                    query = (f"{rule}?{filter_name}={filtered}" for filtered in (row_id, nothing))
                    answers = [shown(asker.ask("GET", path), row_id, nothing) for path in query]
                    assert answers[0] == answers[1], (asker.who, rule, filter_name)


def test_every_table_says_whose_its_rows_are() -> None:
    """Of a table that is in none of these lists, limited callers see no row."""
    by_rule = {
        "saved_views",
        "calibration_rounds",
        "review_draws",
        "export_jobs",
        "coaching_sessions",
        "goals",
        "evaluation_totals",
        "audio_file_totals",
    }
    by_rule |= {"evaluations", "conversations", "voice_calls", "audio_files"}
    by_rule |= {*team_rows._PARTS, *team_rows._OF_SOURCES, *team_rows._DIRECTORY}
    by_rule |= {*team_rows._STORED_WORK}
    hidden = {
        *("calibration_profiles", "calibration_switches", "erasures", "imports", "import_presets"),
        *("scorecard_drafts", "scorecard_trials", "model_answers"),
        *("intake_sources", "intake_deliveries"),
        *("alert_rules", "alert_matches", "digests"),
    }
    assert by_rule | hidden | team_rows.UNLIMITED == Table.metadata.tables.keys()


# Without the limit, each gives away a foreign name.
_READS = (
    "select name FROM Executives",
    "  -- all\n SELECT name FROM executives",
    "/* of * all */ SELECT name FROM executives",
    "SELECT name FROM EXECUTIVES",
    'SELECT name FROM "executives"',
    "with x AS (SELECT name FROM executives) SELECT name FROM x",
    "VALUES ((SELECT max(name) FROM executives))",
    "INSERT INTO hosts SELECT name FROM executives RETURNING name",
    "insert into hosts VALUES ((SELECT max(name) FROM executives)) RETURNING name",
    "UPDATE hosts SET name = (SELECT max(name) FROM executives) RETURNING name",
    "DELETE FROM hosts WHERE EXISTS (SELECT 1 FROM executives WHERE name LIKE :mark) RETURNING name",
)
_LOCKS = (
    "SELECT name FROM executives WHERE 1 = 1 OR 1 = 1 FOR UPDATE",
    "SELECT name FROM executives\nfor  no key update",
    "SELECT name FROM executives FOR SHARE OF executives",
)
_REFUSED = (
    "WITH RECURSIVE x AS (SELECT name FROM executives) SELECT name FROM x",
    "SELECT e.name FROM executives JOIN executives AS e ON TRUE FOR UPDATE",
    'SELECT name FROM "executives" FOR UPDATE',
    "SELECT name FROM executives, campaigns FOR UPDATE",
    "SELECT name FROM public.executives",
    "SELECT name FROM main.executives",
    "EXPLAIN SELECT name FROM executives",
    "TABLE executives",
    "COPY executives TO STDOUT",
    "PRAGMA table_info(executives)",
)


@pytest.mark.sql
def test_no_form_of_a_statement_reads_past_the_teams(
    world: TeamWorld, base: str, runtime: Runtime
) -> None:
    own = world.add("Ann", "Alpha")
    world.add("Bob", "Beta", mark=MARK)
    teams = TeamScope(call_center_ids=(own.call_center,))
    is_sqlite = runtime.db.engine.dialect.name == "sqlite"
    for statement in _READS + (() if is_sqlite else _LOCKS):
        names: set[str] = set()
        for limit in (None, teams):
            with limited_to(limit), runtime.db.engine.connect() as connection:
                connection.execute(text("CREATE TEMP TABLE hosts (name text)"))
                connection.execute(text("INSERT INTO hosts VALUES ('host')"))
                given = {"mark": f"%{MARK}%"} if ":mark" in statement else {}
                names = {str(row[0]) for row in connection.execute(text(statement), given)}
                connection.rollback()
            is_foreign = names == {"host"} if given else any(MARK in name for name in names)
            assert is_foreign is (limit is None), (statement, names)
    for statement in _REFUSED:
        with (
            limited_to(teams),
            runtime.db.engine.connect() as connection,
            pytest.raises(ValueError, match="limited to teams"),
        ):
            connection.execute(text(statement))


def test_a_key_is_only_narrowed_and_makes_no_wider_one(
    base: str, client: Caller, make_caller: Callable[..., Caller]
) -> None:
    first, second = (new_id("cc") for _ in range(2))
    wide = make_caller(base, scopes=["keys:manage", "evaluations:read"], call_center_ids=[first])
    body: dict[str, Any] = {"name": "n", "scopes": ["evaluations:read"]}
    for lists, status in (
        ({}, 403),
        ({"callCenterIds": [first, second]}, 403),
        ({"campaignIds": [new_id("camp")]}, 403),
        ({"callCenterIds": [first], "campaignIds": [new_id("camp")]}, 201),
        ({"callCenterIds": [first]}, 201),
    ):
        answer = wide.post("/api-keys", {**body, **lists})
        assert answer.status_code == status, answer.text
    made = answer.json()["data"]
    refused = wide.patch(f"/api-keys/{made['id']}", {"callCenterIds": []})
    assert refused.status_code == 422
    assert findings(refused) == {"callCenterIds": "RANGE"}
    narrowed = {"executiveIds": [new_id("exec")]}
    answer = wide.patch(f"/api-keys/{made['id']}", narrowed)
    assert answer.json()["data"]["executiveIds"] == narrowed["executiveIds"]
    # The key of everything is not shown, and is no key to those who are limited.
    assert len(wide.get("/api-keys").json()["data"]) == 3
    assert wide.delete(f"/api-keys/{client.key_id}").status_code == 404


def test_a_key_of_teams_has_no_scope_that_is_of_no_team(client: Caller) -> None:
    body = {"name": "n", "scopes": ["ingest:write"], "callCenterIds": [new_id("cc")]}
    assert findings(client.post("/api-keys", body)) == {"scopes": "ENUM"}


def test_an_admin_limits_an_account_on_its_page(
    base: str, client: Caller, runtime: Runtime
) -> None:
    admin = signed_in(base, runtime, "admin")
    center = put(client, "call-centers", "alpha", {"name": "Alpha"})
    executive = put(client, "executives", "ann", {"name": "Ann", "callCenterId": center["id"]})
    lead_id, agent_id = add_user(runtime, "lead"), add_user(runtime, "agent")
    assert "Alpha" in admin.get(f"/people/{lead_id}").text
    for user_id, form, status in (
        (lead_id, {"role": "lead", "callCenterIds": center["id"]}, 303),
        (agent_id, {"role": "agent", "executiveId": executive["id"]}, 303),
        (agent_id, {"role": "viewer", "executiveId": executive["id"]}, 422),
        (agent_id, {"role": "admin", "callCenterIds": center["id"]}, 422),
        (agent_id, {"role": "agent", "executiveId": new_id("exec")}, 422),
    ):
        answer = admin.post(f"/people/{user_id}/role", form)
        assert answer.status_code == status, (form, answer.text)
    people_page = admin.get("/people").text
    assert "<td>Alpha</td>" in people_page
    assert "<td>Ann</td>" in people_page


def test_an_agent_without_an_executive_sees_nothing(
    world: TeamWorld, base: str, runtime: Runtime
) -> None:
    own = world.add("Ann", "Alpha")
    agent = limited_person(base, runtime, "agent")
    assert agent.get(f"/evaluations/{own.ids['evaluation_id']}").status_code == 404
    assert "Ann" not in agent.get("/evaluations").text


@pytest.mark.sql
def test_an_agent_sees_the_mean_of_their_team_and_their_third_and_no_names(
    base: str, client: Caller, runtime: Runtime
) -> None:
    center = put(client, "call-centers", "alpha", {"name": "Alpha"})["id"]
    names = ("Ann", "Bob", "Cem", "Dee", "Eve", "Fay")
    add_user(runtime, "admin")
    executives = [
        put(client, "executives", name, {"name": f"The {name}", "callCenterId": center})["id"]
        for name in names
    ]
    # Ann is the best of six, and everybody has ten conversations.
    rows = [
        {"executive_id": key, "call_center_id": center, "score": 90 - 5 * place, "passed": True}
        for place, key in enumerate(executives)
    ]
    rows_of(runtime, *rows * 10)
    with runtime.db.writing() as session:
        rebuilding.rebuild_after(session, "")
    for place, third in ((0, "upper"), (2, "middle"), (5, "lower")):
        agent = limited_person(base, runtime, "agent", executive_id=executives[place])
        own_page = f"/executives/{executives[place]}"
        assert agent.get("/executives").headers["Location"].startswith(own_page)
        text = agent.get(f"{own_page}?minEvaluations=1").text
        assert "The 6 people of your call centre have a mean of 77.5." in text
        assert f"You are in their {third} third." in text
        assert [name for name in names if f"The {name}" in text] == [names[place]]
    lead = limited_person(base, runtime, "lead", call_center_ids=[center])
    assert "your call centre have a mean" not in lead.get(own_page).text


@pytest.mark.sql
def test_who_is_limited_reviews_and_judges_again_what_is_theirs_alone(
    world: TeamWorld, base: str, client: Caller, make_caller: Callable[..., Caller]
) -> None:
    own, foreign = world.add("Ann", "Alpha"), world.add("Bob", "Beta", mark=MARK)
    key = make_caller(base, scopes=sorted(TEAM_SCOPES), call_center_ids=[own.call_center])
    path = f"/evaluations/{own.ids['evaluation_id']}"
    review = {"action": "confirm", "reviewer": "Lea"}
    assert key.post(f"{path}/reviews", review).status_code == 201
    assert key.post(f"{path}/re-evaluate", {}).status_code == 202
    judge()
    counted = {"filters": {"executiveId": own.executive}, "dryRun": True}
    number = client.post("/re-evaluations", counted).json()["data"]["count"]
    assert number
    asked = key.post("/re-evaluations", {"filters": {}, "dryRun": False})
    assert asked.json()["data"]["count"] == number
    before = client.get("/evaluations", params={"executiveId": foreign.executive}).json()["data"]
    judge()
    done = key.get(f"/re-evaluations/{asked.json()['data']['id']}").json()["data"]
    assert done["counts"]["completed"] == number
    after = client.get("/evaluations", params={"executiveId": foreign.executive}).json()["data"]
    assert [row["id"] for row in after] == [row["id"] for row in before]
