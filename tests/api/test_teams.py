"""Teams: what agents, leads of a team and limited keys see, over every route and every page."""

import re
from collections.abc import Callable, Iterator
from difflib import unified_diff
from ipaddress import ip_network
from typing import Any

import pytest
import time_machine
from flask import Flask
from sqlalchemy import text
from werkzeug.routing import Rule

from app.analytics import jobs
from app.analytics.engine import rebuilding
from app.analytics.enums import Dataset
from app.api_keys.enums import TEAM_SCOPES
from app.core.database.session import Table
from app.core.ids import new_id
from app.core.principal import TeamScope, limited_to
from app.core.runtime import Runtime
from app.core.setting_parsers import RateLimit
from app.people import team_rows
from tests.caller import Caller, findings
from tests.contacts import judge, put
from tests.evaluation_rows import rows_of
from tests.openapi_document import id_names
from tests.sampling import NIGHTLY
from tests.statements import statements_of
from tests.team_bodies import (
    BODIES,
    QUERIES,
    SHARED,
    TEAM_QUERIES,
    TRIED_ALONE,
    WITHOUT_IDS,
    filled,
)
from tests.team_walk import (
    PERIOD,
    Asker,
    assert_equal,
    limited_person,
    open_to_teams,
    path_of,
    read_all,
    shown,
    with_methods,
)
from tests.team_world import AT, MARK, Team, TeamWorld
from tests.visitor import Visitor, add_user, signed_in

pytestmark = pytest.mark.long
MUCH = RateLimit(1_000_000, 60)
_ID_NAMES = re.compile(r"'(\w+Ids?)'")
_IDS = re.compile(r'\b[a-z]+_[0-9a-z]{26}\b|"seed":\d+|"(apiKey|secret)":"[^"]+"')


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
    for person in all_askers[:3]:
        # What has been opened is no longer new to its agent.
        person.ask("GET", f"/evaluations/{own.ids['evaluation_id']}")
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
    # An admin fills the caches first; nobody else may get an answer from them.
    for page in ("/", "/executives", "/trends", "/topics"):
        assert world.admin.get(f"{page}?{PERIOD}").status_code == 200
    assert MARK in world.admin.get("/executives").text
    of_call_center = [asker for asker in all_askers if asker.who in ("lead", key.who)]
    assert_unchanged(*of_call_center)
    assert exported(key, world) == files
    # A colleague of the same call centre is foreign to the agent and to those of a campaign.
    world.add("Amy", "Alpha", mark=MARK)
    assert_unchanged(*(asker for asker in all_askers if asker not in of_call_center))


def nothing_like(ids: dict[str, str]) -> dict[str, str]:
    """Return ids of nothing, each with the prefix of another."""
    return {name: new_id(row_id.partition("_")[0]) for name, row_id in ids.items()}


def test_an_id_of_others_answers_as_one_that_does_not_exist(
    world: TeamWorld, flask_app: Flask, base: str, make_caller: Callable[..., Caller]
) -> None:
    """Neither the answer tells them apart, nor its time: the database is asked the same."""
    own = world.add("Ann", "Alpha")
    foreign = world.add("Bob", "Beta", mark=MARK).ids
    # The engagement is of everybody.
    tried = {*foreign, "engagement_id"}
    assert [rule for rule in open_to_teams(flask_app) if not rule.arguments <= tried] == []
    nothing = nothing_like(foreign)
    for asker in askers(base, world.runtime, own, make_caller):
        for method, paths, body in requests_of(asker, flask_app, foreign, nothing):
            answers = []
            for path in paths:
                with statements_of(world.runtime) as sent:
                    answer = asker.ask(method, path, body)
                status, text = shown(answer, *foreign.values(), *nothing.values())
                answers.append((status, text, sent))
            assert answers[0][:2] == answers[1][:2], (asker.who, method, paths)
            sent_differently = [*unified_diff(answers[0][2], answers[1][2], n=0)]
            assert not sent_differently, (asker.who, method, paths, sent_differently)
            is_refused = answers[0][0] >= 400
            assert is_refused or "?" in paths[0] or "live" in paths[0], (asker.who, method, paths)


def requests_of(
    asker: Asker, app: Flask, foreign: dict[str, str], nothing: dict[str, str]
) -> Iterator[tuple[str, list[str], dict[str, Any]]]:
    """Yield the method, two paths and the body of each request with one id in its path or query."""
    reason: dict[str, Any] = {"action": "comment", "reviewer": "A", "reason": "B"}
    for method, rule in asker.routes(app):
        for name in rule.arguments & foreign.keys():
            paths = [path_of(rule, {name: ids[name]}) for ids in (foreign, nothing)]
            for body in ({}, reason) if method != "GET" else ({},):
                yield method, paths, body
        if method == "GET" and not rule.arguments:
            for name, value in (QUERIES if NIGHTLY else TEAM_QUERIES).items():
                yield (
                    method,
                    [f"{rule}?{name}={filled(value, ids)}" for ids in (foreign, nothing)],
                    {},
                )


def own_ids(world: TeamWorld, own: Team, key: Asker) -> dict[str, str]:
    """Return the ids of a team, and of its lead, a plan of its key and a second evaluation."""
    path = f"/evaluations/{own.ids['evaluation_id']}"
    own.ids["scorecard_id"] = world.client.get(path).json()["data"]["scorecardId"]
    own.ids["user_id"] = add_user(world.runtime, "lead", "lena")
    plan = {"name": "Own", "perAgent": 1, "reviewers": [{"userId": own.ids["user_id"]}]}
    made = key.ask("POST", "/api/v1/reviews/plans", plan)
    rows = world.client.get(f"/evaluations?executiveId={own.executive}&channel=chat")
    [second] = {row["id"] for row in rows.json()["data"]} - {own.ids["evaluation_id"]}
    return {**own.ids, "plan_id": made.json()["data"]["id"], "second_id": second}


def test_ids_of_others_in_a_body_answer_as_those_that_do_not_exist(
    world: TeamWorld, flask_app: Flask, base: str, make_caller: Callable[..., Caller]
) -> None:
    team = world.add("Ann", "Alpha")
    foreign = world.add("Bob", "Beta", mark=MARK)
    callers = askers(base, world.runtime, team, make_caller)
    own = own_ids(world, team, callers[3])
    about = ("evaluations", "coaching-sessions", "goals")
    paths = [f"/{name}?executiveId={foreign.executive}" for name in about]
    before = [world.client.get(path).json()["data"] for path in paths]
    accepted: set[str] = set()
    for asker in callers:
        if asker is callers[3]:
            # An evaluation is disputed once: by a person the first, by a key the second.
            own["evaluation_id"] = own["second_id"]
        for method, rule, body in bodies_of(asker, flask_app):
            named = {f"own_{name}": row_id for name, row_id in own.items()}
            answers = []
            for ids in (foreign.ids, nothing_like(foreign.ids), own):
                answer = asker.ask(method, path_of(rule, own), filled(body, {**named, **ids}))
                answers.append([_IDS.sub("ID", str(part)) for part in shown(answer)])
            assert answers[0] == answers[1], (asker.who, rule, body)
            assert MARK not in answers[0][1], (asker.who, rule, body)
            accepted |= {rule.endpoint} if answer.ok else set()
    assert [world.client.get(path).json()["data"] for path in paths] == before
    # A body that is refused for another reason would try nothing.
    assert BODIES.keys() == accepted


def bodies_of(asker: Asker, app: Flask) -> Iterator[tuple[str, Rule, dict[str, Any]]]:
    """Yield the bodies that name rows, with their methods and rules."""
    for method, rule in with_methods(asker.all_rules(app)):
        for body in BODIES.get(rule.endpoint, ()) if method != "GET" else ():
            # Any reviewer may see a conversation of an executive who moves.
            if asker.who != "key of an executive" or "<user_id>" not in repr(body):
                yield method, rule, body


def test_every_route_that_takes_ids_is_tried(flask_app: Flask) -> None:
    """A new route fails here, until the tests above try the ids in its query and in its body."""
    rules = open_to_teams(flask_app)
    changing = {rule.endpoint for method, rule in with_methods(rules) if method != "GET"}
    assert changing == BODIES.keys() | WITHOUT_IDS | TRIED_ALONE
    document = flask_app.test_client().get("/openapi.json").get_json()
    for method, rule in with_methods(rules):
        path = re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", str(rule))
        if path not in document["paths"] or rule.endpoint in TRIED_ALONE:
            continue
        in_body = set(_ID_NAMES.findall(repr(BODIES.get(rule.endpoint))))
        tried = {*QUERIES} if method == "GET" else in_body
        names = id_names(document, path, method.lower())
        assert names <= tried | SHARED, (method, path)


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
