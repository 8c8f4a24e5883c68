"""Coaching: sessions and goals over the API and on pages, who sees them, and what they changed."""

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update

from app.analytics import jobs
from app.analytics.models import EvaluationFact, ScoreLayout
from app.coaching import service
from app.core.clock import iso_utc, utc_now
from app.core.ids import new_id
from app.core.runtime import Runtime
from app.evaluations.models import Evaluation
from app.privacy import service as privacy
from tests.caller import Caller, error_code, findings
from tests.contacts import judge, put, put_chat
from tests.team_walk import limited_person
from tests.visitor import Visitor, add_user, signed_in

pytestmark = [pytest.mark.sql, pytest.mark.usefixtures("in_november")]
KEY = "opening.greeting"
AT = datetime(2026, 11, 10, 9, tzinfo=UTC)


@pytest.fixture
def base(serve: Callable[..., str]) -> str:
    return serve()


class Center:
    """A call centre with two people, and an evaluation of the first."""

    def __init__(self, client: Caller) -> None:
        self.client = client
        self.id = put(client, "call-centers", "alpha", {"name": "Alpha"})["id"]
        self.ann, self.bob = (
            put(client, "executives", name, {"name": name, "callCenterId": self.id})["id"]
            for name in ("Ann", "Bob")
        )
        put_chat(client, executiveId=self.ann, callCenterId=self.id)
        judge()
        [self.evaluation] = client.get("/evaluations").json()["data"]

    def plan(self, **more: Any) -> Any:
        body = {
            "executiveId": self.ann,
            "scorecardId": self.evaluation["scorecardId"],
            "at": "2026-11-10T09:00:00Z",
            "criteria": [KEY],
            "evidence": [{"evaluationId": self.evaluation["id"], "quote": "Good morning!"}],
            "steps": "Greet with the name.",
            "notes": "Was tired.",
            **more,
        }
        return self.client.post("/coaching-sessions", body)

    def facts(
        self, runtime: Runtime, executive_id: str, scores: Mapping[int, Sequence[float]]
    ) -> None:
        """Write facts with these scores of the criterion, by days from the session."""
        with runtime.db.writing() as session:
            layout = ScoreLayout(
                digest=new_id("x"),
                columns=[{"kind": "criterion", "key": KEY, "title": "Greeting", "section": "o"}],
            )
            session.add(layout)
            session.flush()
            for day, values in scores.items():
                for score in values:
                    at = AT + timedelta(days=day)
                    session.add(
                        EvaluationFact(
                            source_id=new_id("conv"),
                            source_type="conversation",
                            evaluation_id=new_id("eval"),
                            status="completed",
                            channel="chat",
                            executive_id=executive_id,
                            call_center_id=self.id,
                            scorecard_id=self.evaluation["scorecardId"],
                            conversation_at=at,
                            created_at=at,
                            auto_failed=False,
                            topics=[],
                            scores=[score],
                            score_layout_id=layout.id,
                        )
                    )


@pytest.fixture
def center(client: Caller) -> Center:
    return Center(client)


def effect(client: Caller, session_id: str) -> Any:
    return client.get(f"/coaching-sessions/{session_id}/effect").json()["data"]


def exported(runtime: Runtime, caller: Caller, **more: Any) -> list[dict[str, Any]]:
    body = {"dataset": "coaching_sessions", "format": "json", **more}
    job = caller.post("/analytics/export", body).json()["data"]["jobId"]
    jobs.run_export(runtime, job)
    done = caller.get(f"/analytics/export/{job}").json()["data"]
    return list(caller.plain("GET", done["downloadUrl"].removeprefix(caller.base)).json())


def test_a_session_is_checked_and_its_state_only_advances(center: Center, client: Caller) -> None:
    nothing = new_id("eval")
    for more, found in (
        ({"executiveId": new_id("exec")}, {"executiveId": "FORMAT"}),
        ({"scorecardId": new_id("sc")}, {"scorecardId": "FORMAT"}),
        ({"criteria": ["nothing"]}, {"criteria": "FORMAT"}),
        ({"criteria": []}, {"criteria": "LENGTH"}),
        ({"evidence": [{"evaluationId": nothing}]}, {"evidence[0].evaluationId": "FORMAT"}),
        ({"executiveId": center.bob}, {"evidence[0].evaluationId": "FORMAT"}),
        (
            {"evidence": [{"evaluationId": center.evaluation["id"], "quote": "Good evening!"}]},
            {"evidence[0].quote": "FORMAT"},
        ),
    ):
        assert findings(center.plan(**more)) == found, more
    made = center.plan().json()["data"]
    assert (made["state"], made["evidence"][0]["quote"]) == ("planned", "Good morning!")
    path = f"/coaching-sessions/{made['id']}"
    assert effect(client, made["id"]) == []
    assert client.patch(path, {"state": "held"}).json()["data"]["state"] == "held"
    assert client.patch(path, {"state": "planned"}).status_code == 409
    assert findings(client.patch(path, {"state": "acknowledged"})) == {"state": "FORMAT"}
    assert findings(center.plan(state="acknowledged")) == {"state": "FORMAT"}
    assert client.patch(path, {"state": "closed", "steps": None}).status_code == 200
    assert client.patch(path, {"steps": "More."}).status_code == 409
    listed = client.get("/coaching-sessions", params={"executiveId": center.ann}).json()["data"]
    assert [row["id"] for row in listed] == [made["id"]]
    assert client.get("/coaching-sessions", params={"state": "held"}).json()["data"] == []


def test_did_it_help_compares_both_sides_with_an_interval_and_the_others(
    center: Center, client: Caller, runtime: Runtime
) -> None:
    made = center.plan(state="held").json()["data"]
    center.facts(runtime, center.ann, {-2: [0] * 8 + [100] * 2, 2: [100] * 8})
    # With the evaluation itself, nine after it are too few; what lies beyond thirty days counts on no side.
    center.facts(runtime, center.ann, {-31: [100] * 50, 31: [0] * 50})
    [found] = effect(client, made["id"])
    assert (found["difference"], found["before"]["count"], found["after"]["count"]) == (None, 10, 9)
    assert found["missing"].startswith("not enough conversations yet")
    center.facts(runtime, center.ann, {3: [100]})
    center.facts(runtime, center.bob, {-3: [0] * 10 + [100] * 10, 3: [0] * 10 + [100] * 10})
    [found] = effect(client, made["id"])
    assert found["isShare"] is True
    assert (found["before"]["mean"], found["after"]["mean"]) == (20, 100)
    assert found["difference"]["value"] == 80
    assert found["difference"]["isClear"] is True
    assert found["difference"]["low"] > 0
    # The others, without the agent.
    assert found["team"]["value"] == 0
    assert found["team"]["isClear"] is False


def test_an_agent_reads_what_at_least_five_others_did_meanwhile(
    center: Center, client: Caller, base: str, runtime: Runtime
) -> None:
    add_user(runtime, "admin")
    made = center.plan(state="held").json()["data"]
    ann = limited_person(base, runtime, "agent", executive_id=center.ann)
    people = [
        put(client, "executives", f"other{place}", {"name": f"Other {place}"})["id"]
        for place in range(5)
    ]

    def others() -> str:
        row = re.search(r'<tr><th scope="row">Greeting.*?</tr>', ann.get(path).text, re.DOTALL)[0]
        return re.findall(r"<td>(.*?)</td>", row, re.DOTALL)[-1]

    path = f"/coaching/{made['id']}"
    for executive_id in people[:4]:
        center.facts(runtime, executive_id, {-2: [0] * 5, 2: [0, 0, 0, 0, 100]})
    # Four, and one who has nothing before it.
    center.facts(runtime, people[4], {2: [100] * 10})
    assert others() == "–"
    center.facts(runtime, people[4], {-2: [100] * 10})
    assert others().startswith("+13.3 (")
    assert "Other" not in ann.get(path).text.replace("others", "")
    [found] = effect(client, made["id"])
    assert round(found["team"]["value"], 1) == 13.3


def test_goals_are_set_listed_changed_and_deleted(
    center: Center, client: Caller, runtime: Runtime
) -> None:
    goal = {"executiveId": center.ann, "from": 60, "to": 80, "by": "2026-12-31T00:00:00Z"}
    for more, found in (
        ({"callCenterId": center.id}, {"executiveId": "FORMAT"}),
        ({"criterion": KEY}, {"scorecardId": "FORMAT"}),
        ({"to": 101}, {"to": "RANGE"}),
    ):
        assert findings(client.post("/goals", {**goal, **more})) == found
    made = client.post("/goals", goal).json()["data"]
    assert (made["from"], made["to"], made["callCenterId"]) == (60, 80, center.id)
    path = f"/goals/{made['id']}"
    assert client.patch(path, {"to": 85}).json()["data"]["to"] == 85
    assert len(client.get("/goals").json()["data"]) == 1
    assert client.delete(path).status_code == 204
    assert client.get("/goals").json()["data"] == []
    values = {"call_center_id": center.id, "start_value": 1, "target": 2, "at": AT}
    with runtime.db.writing() as session:
        for _ in range(500):
            service.GOALS.create(session, values, created_by="key_1")
    of_center = {"callCenterId": center.id, "from": 60, "to": 80, "by": "2026-12-31T00:00:00Z"}
    assert error_code(client.post("/goals", of_center)) == "CONFLICT"
    assert client.post("/goals", goal).status_code == 201


def test_a_goal_says_where_it_stands_with_how_many(
    center: Center, client: Caller, base: str, runtime: Runtime
) -> None:
    goal = {"scorecardId": center.evaluation["scorecardId"], "criterion": KEY, "from": 20, "to": 60}
    goal["by"] = iso_utc(AT + timedelta(days=15))
    of_ann = client.post("/goals", {**goal, "executiveId": center.ann}).json()["data"]
    of_all = client.post("/goals", {**goal, "callCenterId": center.id}).json()["data"]

    def standing(goal: dict[str, Any]) -> Any:
        return client.get(f"/goals/{goal['id']}/progress").json()["data"]

    # The conversation of the fixture.
    assert standing(of_ann) == {"value": 100, "count": 1, "isReached": None}
    center.facts(runtime, center.ann, {1: [0, 100, 100], -16: [0] * 5, 16: [0] * 5})
    assert standing(of_ann) == {"value": 75, "count": 4, "isReached": None}
    center.facts(runtime, center.ann, {2: [100] * 6})
    center.facts(runtime, center.bob, {2: [0] * 10})
    assert standing(of_ann) == {"value": 90.0, "count": 10, "isReached": True}
    assert standing(of_all) == {"value": 45.0, "count": 20, "isReached": False}
    add_user(runtime, "admin")
    lead = limited_person(base, runtime, "lead", call_center_ids=[center.id])
    ann = limited_person(base, runtime, "agent", executive_id=center.ann)
    assert re.search(r"<td>Alpha</td>.*n = 20", lead.get("/coaching").text)
    for page in (
        lead.get(f"/executives/{center.ann}?period=all").text,
        ann.get("/my/coaching").text,
    ):
        assert "n = 10, reached" in page
        assert "n = 20" not in page


def test_targets_of_campaigns_are_shown_where_they_apply(
    center: Center, client: Caller, base: str, runtime: Runtime
) -> None:
    campaign = put(client, "campaigns", "refunds", {"name": "Refunds", "targets": {"score": 85}})
    put(client, "campaigns", "sales", {"name": "Sales", "targets": {"score": 75}})
    put_chat(
        client,
        "second",
        executiveId=center.ann,
        callCenterId=center.id,
        campaignId=campaign["id"],
    )
    judge()
    add_user(runtime, "admin")
    ann = limited_person(base, runtime, "agent", executive_id=center.ann)
    page = ann.get("/my/coaching").text
    assert re.search(r"Refunds</td>.*?n = 1, too few to say.*?85</td>", page, re.DOTALL)
    assert "Sales" not in page


def test_sessions_are_exported_without_notes(
    center: Center, client: Caller, runtime: Runtime
) -> None:
    made = center.plan(state="held").json()["data"]

    def rows(**more: Any) -> list[dict[str, Any]]:
        return exported(runtime, client, **more)

    [row] = rows()
    assert (row["session_id"], row["executive"], row["state"]) == (made["id"], "Ann", "held")
    assert (row["criteria"], row["evidence_quotes"]) == ([KEY], None)
    assert "Was tired." not in str(rows(includeText=True))
    assert rows(includeText=True)[0]["evidence_quotes"] == ["Good morning!"]
    assert rows(to="2026-11-10") == rows(filters={"executiveId": center.bob}) == []
    body = {"dataset": "coaching_sessions", "format": "csv", "filters": {"channel": ["chat"]}}
    assert findings(client.post("/analytics/export", body)) == {"filters": "UNKNOWN"}


def test_a_caller_of_a_campaign_exports_what_they_recorded_alone(
    center: Center,
    client: Caller,
    base: str,
    runtime: Runtime,
    make_caller: Callable[..., Caller],
) -> None:
    campaign = put(client, "campaigns", "refunds", {"name": "Refunds"})["id"]
    put_chat(client, "second", executiveId=center.ann, callCenterId=center.id, campaignId=campaign)
    judge()
    evidence = [
        {"evaluationId": row["id"]}
        for row in client.get("/evaluations", params={"campaignId": campaign}).json()["data"]
    ]
    scopes = ["coaching:read", "coaching:write", "analytics:export", "evaluations:read"]
    own, other = (make_caller(base, scopes=scopes, campaign_ids=[campaign]) for _ in range(2))
    center.plan()
    center.client = own
    made = center.plan(evidence=evidence).json()["data"]
    [row] = exported(runtime, own)
    assert row["session_id"] == made["id"]
    assert exported(runtime, other) == []
    # The file of one is none of the other's, though their teams are the same.
    jobs_of = {
        caller.key_id: {job["createdBy"] for job in caller.get("/analytics/exports").json()["data"]}
        for caller in (own, other)
    }
    assert jobs_of == {own.key_id: {own.key_id}, other.key_id: {other.key_id}}


def test_a_coach_deletes_their_open_session_and_an_admin_any(
    center: Center, client: Caller, base: str, runtime: Runtime, make_caller: Callable[..., Caller]
) -> None:
    admin = signed_in(base, runtime, "admin")
    ann = limited_person(base, runtime, "agent", executive_id=center.ann)
    other = signed_in(base, runtime, "reviewer")
    typed = {
        "executiveId": center.ann,
        "scorecardId": center.evaluation["scorecardId"],
        "criteria": KEY,
        "at": "2026-11-10",
        "state": "held",
    }
    lead = signed_in(base, runtime, "lead")
    first, second = (
        lead.post("/coaching", typed).headers["Location"].partition("?")[0] for _ in range(2)
    )
    assert "Delete the session" not in other.get(first).text + ann.get(first).text
    assert (
        other.post(f"{first}/delete").status_code == ann.post(f"{first}/delete").status_code == 403
    )
    assert "Delete the session" in lead.get(first).text
    assert lead.post(f"{first}/delete").status_code == 303
    assert lead.get(first).status_code == 404
    assert ann.post(f"{second}/acknowledge").status_code == 303
    assert lead.post(f"{second}/delete").status_code == 403
    assert admin.post(f"{second}/delete").status_code == 303
    audit = admin.get("/audit?action=coaching_deleted").text
    assert all(path.rpartition("/")[2] in audit for path in (first, second))
    key = make_caller(base, scopes=["coaching:read", "coaching:write"])
    path = f"/coaching-sessions/{center.plan().json()['data']['id']}"
    assert error_code(key.delete(path)) == "INSUFFICIENT_SCOPE"
    assert client.delete(path).status_code == 204
    assert client.delete(path).status_code == 404


def test_the_agent_reads_acknowledges_and_does_not_see_what_is_the_coachs(
    center: Center, client: Caller, base: str, runtime: Runtime
) -> None:
    add_user(runtime, "admin")
    made = center.plan(state="held", notesFor="coach").json()["data"]
    shared = center.plan(notes="For both of us.").json()["data"]
    path = f"/coaching/{made['id']}"
    ann = limited_person(base, runtime, "agent", executive_id=center.ann)
    bob = limited_person(base, runtime, "agent", executive_id=center.bob)
    lead = limited_person(base, runtime, "lead", call_center_ids=[center.id])
    other = limited_person(base, runtime, "lead", call_center_ids=[new_id("cc")])
    assert made["id"] in ann.get("/my/coaching").text
    page = ann.get(path).text
    assert "Good morning!" in page
    assert "Was tired." not in page
    assert "For both of us." in ann.get(f"/coaching/{shared['id']}").text
    assert 'Was tired. <span class="muted">The agent does not see them.' in lead.get(path).text
    for visitor in (bob, other):
        assert visitor.get(path).status_code == 404
    assert made["id"] not in bob.get("/my/coaching").text + other.get("/coaching").text
    assert ann.post(path, {"state": "closed"}).status_code == 403
    assert ann.post(f"{path}/acknowledge").status_code == 303
    assert ann.post(f"{path}/acknowledge").status_code == 409
    assert "Acknowledged by the agent" in ann.get(path).text
    # Evidence that is not released is none for the agent.
    rule = f"/scorecards/{center.evaluation['scorecardId']}/release"
    assert client.call("PUT", rule, {"rule": "never"}).status_code == 200
    assert "Good morning!" not in ann.get(path).text
    assert "Good morning!" in lead.get(path).text


def test_a_lead_starts_a_session_from_an_evaluation_and_follows_it(
    center: Center, base: str, runtime: Runtime
) -> None:
    lead: Visitor = signed_in(base, runtime, "lead")
    assert "No coaching session is recorded." in lead.get("/coaching").text
    evaluation = lead.get(f"/evaluations/{center.evaluation['id']}").text
    start = f"/coaching/new?evaluationId={center.evaluation['id']}"
    assert start in evaluation
    form = lead.get(start).text
    assert f'value="{center.ann}" selected' in form
    typed = {
        "executiveId": center.ann,
        "scorecardId": center.evaluation["scorecardId"],
        "evaluationId": center.evaluation["id"],
        "quote": "Good morning!",
        "criteria": KEY,
        "at": "2026-11-10",
        "steps": "=Greet.",
        "state": "held",
    }
    refused = lead.post("/coaching", {**typed, "quote": "Good evening!"})
    assert refused.status_code == 422
    assert "The quote must occur" in refused.text
    unknown = lead.post("/coaching", {**typed, "evaluationId": new_id("eval")})
    assert (unknown.status_code, "=Greet." in unknown.text) == (422, True)
    made = lead.post("/coaching", typed)
    assert made.status_code == 303, made.text
    path = made.headers["Location"].partition("?")[0]
    assert "not enough conversations yet" in lead.get(path).text
    assert "=Greet." in lead.get(path).text
    assert lead.post(path, {"state": "held", "steps": ""}).status_code == 303
    assert "None are agreed yet." in lead.get(path).text
    assert lead.post(path, {"state": "closed", "steps": "Done."}).status_code == 303
    assert 'href="/exports?dataset=coaching_sessions#new"' in lead.get("/coaching").text
    assert path in lead.get("/coaching").text
    goal = {"executiveId": center.ann, "from": "60", "to": "x", "by": "2026-12-31"}
    assert lead.post("/goals", goal).status_code == 422
    assert lead.post("/goals", {**goal, "to": "80"}).status_code == 303
    of_team = {**goal, "to": "90", "executiveId": "", "callCenterId": center.id, "criterion": KEY}
    refused = lead.post("/goals", {**of_team, "executiveId": center.ann})
    assert "Give executiveId or callCenterId, one of them." in refused.text
    of_team["scorecardId"] = typed["scorecardId"]
    assert f'value="{center.id}"' in lead.get("/goals/new").text
    assert lead.post("/goals", of_team).status_code == 303
    page = lead.get("/coaching").text
    assert re.search(r"<td>Alpha</td><td>Greeting</td>.*?>90</td>", page, re.DOTALL)
    assert '<td class="number">80</td>' in page
    for delete in re.findall(r'action="(/goals/[^"]+/delete)"', page):
        assert lead.post(delete).status_code == 303
    assert "No goal is set." in lead.get("/coaching").text


def test_no_quote_is_added_while_its_words_are_erased(
    center: Center, client: Caller, runtime: Runtime
) -> None:
    path = f"/coaching-sessions/{center.plan(evidence=[]).json()['data']['id']}"
    quote = {"evaluationId": center.evaluation["id"], "quote": "Good morning!"}
    answers: list[Any] = []
    adding = threading.Thread(
        target=lambda: answers.append(client.patch(path, {"evidence": [quote]}))
    )
    with runtime.db.writing() as session:
        privacy.erase_conversations(session, [center.evaluation["sourceId"]])
        adding.start()
        # It ends now only where it does not wait.
        adding.join(1)
    adding.join()
    assert findings(answers[0]) == {"evidence[0].quote": "FORMAT"}


def test_erasure_takes_the_quotes_and_retention_the_rest(
    center: Center, client: Caller, runtime: Runtime
) -> None:
    made = center.plan().json()["data"]
    kept = {"evaluationId": center.evaluation["id"], "quote": "Good morning!"}
    with runtime.db.writing() as session:
        service.erase(session, [new_id("conv")])
    path = f"/coaching-sessions/{made['id']}"
    assert client.get(path).json()["data"]["evidence"] == [kept]
    with runtime.db.writing() as session:
        service.erase(session, [center.evaluation["sourceId"]])
    assert client.get(path).json()["data"]["evidence"] == [{**kept, "quote": None}]
    # What is stored is not checked again by a change of something else.
    with runtime.db.writing() as session:
        session.execute(update(Evaluation).values(executive_id=center.bob))
    changed = client.patch(f"/coaching-sessions/{made['id']}", {"steps": "More."})
    assert changed.status_code == 200, changed.text
    with runtime.db.writing() as session:
        assert service.SESSIONS.purge(session, before=AT) == 0
        assert service.SESSIONS.purge(session, before=utc_now() + timedelta(days=400)) == 1
