"""Review plans over the API and in pages: drawn on Monday, reviewed, replaced, and ended."""

import threading
from datetime import datetime, timedelta
from typing import Any

import pytest
import time_machine
from sqlalchemy import update

from app.core.clock import utc_now
from app.core.ids import new_id
from app.core.runtime import Runtime
from app.evaluations.models import Evaluation
from app.people import service as people
from app.people.models import User
from app.reviews import assignments as plan_assignments
from app.reviews import jobs, plans
from app.reviews.assignments import EXPIRES_AFTER
from app.reviews.models import ReviewAssignment, ReviewPlan
from tests.caller import Caller, error_code, findings
from tests.contacts import judge, put, put_chat
from tests.evaluation_rows import rows_of
from tests.visitor import add_user, signed_in

PRIYA, TOM = new_id("exec"), new_id("exec")


def next_monday() -> datetime:
    today = utc_now().replace(hour=0, minute=0, second=0, microsecond=0)
    return today + timedelta(days=7 - today.weekday())


def plan(client: Caller, reviewers: list[str], **fields: Any) -> dict[str, Any]:
    body = {
        "name": "Weekly",
        "perAgent": 3,
        "reviewers": [{"userId": user_id} for user_id in reviewers],
        **fields,
    }
    answer = client.post("/reviews/plans", body)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()["data"]
    return made


def conversations(runtime: Runtime, monday: datetime, priya: int = 8, tom: int = 2) -> list[str]:
    agents = [(PRIYA, "Priya")] * priya + [(TOM, "Tom")] * tom
    return rows_of(
        runtime,
        *(
            {
                "conversation_at": monday - timedelta(days=2, minutes=number),
                "executive_id": executive_id,
                "executive": name,
                "score": 70,
                "passed": True,
            }
            for number, (executive_id, name) in enumerate(agents)
        ),
    )


def draw_at(runtime: Runtime, moment: datetime) -> None:
    with time_machine.travel(moment, tick=False):
        jobs.draw_plans(runtime)
        jobs.draw_plans(runtime)


def assignments(client: Caller, query: str = "") -> list[dict[str, Any]]:
    answer = client.get(f"/reviews/assignments?pageSize=100{query}")
    assert answer.status_code == 200, answer.text
    rows: list[dict[str, Any]] = answer.json()["data"]
    return rows


@pytest.mark.sql
def test_a_plan_draws_on_its_day_and_never_the_same_again(client: Caller, runtime: Runtime) -> None:
    nora, ben = add_user(runtime, "reviewer", "nora"), add_user(runtime, "reviewer", "ben")
    monday = next_monday()
    made = plan(client, [nora, ben], filters={"minScore": 50, "channel": ["chat"]})
    assert made["filters"] == {"minScore": 50, "channel": ["chat"]}
    ids = conversations(runtime, monday)
    draw_at(runtime, monday - timedelta(minutes=1))
    assert assignments(client) == []
    draw_at(runtime, monday + timedelta(hours=1))
    rows = assignments(client)
    assert len(rows) == 5
    assert {row["evaluationId"] for row in rows} < set(ids)
    assert sorted(len(assignments(client, f"&reviewer={who}")) for who in (nora, ben)) == [2, 3]
    [drawn] = client.get(f"/reviews/plans/{made['id']}/draws").json()["data"]
    assert drawn["seed"] == f"{made['seed']}:{monday.date()}"
    counts = {
        item["executive"]: (item["pool"], item["wanted"], item["drawn"]) for item in drawn["counts"]
    }
    assert counts == {"Priya": (8, 3, 3), "Tom": (2, 3, 2)}
    due = [row["dueAt"] for row in rows]
    assert min(due) == (monday + timedelta(days=5)).isoformat(timespec="milliseconds")[:-6] + "Z"
    # Another plan finds what nobody holds, and the same plan none of its own again.
    plan(client, [nora], name="Second", perAgent=100, weekday=monday.weekday())
    with runtime.db.writing() as session:
        session.execute(update(ReviewPlan).values(drawn_week=None))
        session.execute(update(ReviewAssignment).values(state="done"))
    # As if the draw of this week came again: the unique week keeps it from counting twice.
    with runtime.db.writing() as session:
        session.execute(
            update(ReviewPlan)
            .where(ReviewPlan.id == made["id"])
            .values(drawn_week=monday.date().isoformat())
        )
    draw_at(runtime, monday + timedelta(hours=2))
    second = [row for row in assignments(client) if row["plan"] == "Second"]
    assert len(second) == 10


def test_two_plans_give_no_conversation_twice(client: Caller, runtime: Runtime) -> None:
    nora = add_user(runtime, "reviewer", "nora")
    monday = next_monday()
    for name in ("One", "Two"):
        plan(client, [nora], name=name, perAgent=5)
    conversations(runtime, monday, priya=6, tom=6)
    draw_at(runtime, monday)
    given = [row["evaluationId"] for row in assignments(client)]
    assert len(given) == len(set(given)) == 12


@pytest.mark.sql
def test_two_workers_give_no_conversation_twice(client: Caller, runtime: Runtime) -> None:
    nora = add_user(runtime, "reviewer", "nora")
    monday = next_monday()
    made = [plan(client, [nora], name=name, perAgent=5)["id"] for name in ("One", "Two")]
    conversations(runtime, monday, priya=6, tom=6)
    with time_machine.travel(monday, tick=False):
        # Both have read before either writes.
        with runtime.db.reading() as session:
            weeks = [plans.week_of(session, plan_id) for plan_id in made]
        for week in weeks:
            with runtime.db.writing() as session:
                plans.draw_week(session, week)
    given = [row["evaluationId"] for row in assignments(client)]
    assert len(given) == len(set(given)) == 12


@pytest.mark.sql
def test_a_replacement_is_none_that_another_plan_draws_meanwhile(
    client: Caller, runtime: Runtime
) -> None:
    nora = add_user(runtime, "reviewer", "nora")
    monday = next_monday()
    plan(client, [nora], perAgent=1)
    conversations(runtime, monday, priya=2, tom=0)
    draw_at(runtime, monday)
    [given] = assignments(client)
    other = plan(client, [nora], name="Other", perAgent=1)["id"]
    path = f"/reviews/assignments/{given['id']}/replace"
    answers: list[Any] = []
    replacing = threading.Thread(
        target=lambda: answers.append(client.post(path, {"reason": "A test call."}))
    )
    with time_machine.travel(monday, tick=False):
        with runtime.db.reading() as session:
            week = plans.week_of(session, other)
        with runtime.db.writing() as session:
            plans.draw_week(session, week)
            replacing.start()
            # It ends now only where it does not wait.
            replacing.join(1)
        replacing.join()
    assert answers[0].json()["data"]["replacement"] is None


@pytest.mark.sql
def test_an_assignment_leads_to_the_newest_revision_and_is_forgotten_in_time(
    client: Caller, runtime: Runtime
) -> None:
    nora = add_user(runtime, "reviewer", "nora")
    put_chat(client, "chat-1", executiveId=put(client, "executives", "ann", {"name": "Ann"})["id"])
    judge()
    [first] = client.get("/evaluations").json()["data"]
    moment = next_monday()
    with runtime.db.writing() as session:
        session.execute(update(Evaluation).values(conversation_at=moment - timedelta(days=1)))
    plan(client, [nora])
    draw_at(runtime, moment + timedelta(hours=1))
    assert client.post(f"/evaluations/{first['id']}/re-evaluate", {}).status_code == 202
    judge()
    [row] = assignments(client)
    assert row["evaluationId"] != first["id"]
    review = {"action": "confirm", "reviewer": "Nora", "reviewerRef": nora}
    path = f"/evaluations/{row['evaluationId']}/reviews"
    assert client.post(path, review).status_code == 201
    for days, left in ((0, 1), (30, 0)):
        later = utc_now() + timedelta(days=days)
        with runtime.db.writing() as session:
            plan_assignments.purge(session, before=later - timedelta(days=1))
        assert len(assignments(client)) == left


def test_a_review_ends_an_assignment_and_others_expire(client: Caller, runtime: Runtime) -> None:
    nora = add_user(runtime, "reviewer", "nora")
    put_chat(client, "chat-1")
    judge()
    [evaluation] = client.get("/evaluations").json()["data"]
    moment = next_monday()
    with runtime.db.writing() as session:
        session.execute(
            update(Evaluation).values(
                executive_id=PRIYA, executive="Priya", conversation_at=moment - timedelta(days=1)
            )
        )
    plan(client, [nora])
    draw_at(runtime, moment + timedelta(hours=1))
    [row] = assignments(client, f"&reviewer={nora}")
    assert row["state"] == "open"
    path = f"/evaluations/{evaluation['id']}/reviews"
    review = {"reviewer": "Nora", "reviewerRef": nora}
    assert client.post(path, {**review, "action": "start"}).status_code == 201
    assert assignments(client)[0]["state"] == "in_review"
    other = {"action": "comment", "reviewer": "Ben", "reason": "Not mine."}
    assert client.post(path, other).status_code == 201
    assert assignments(client, "&state=in_review") != []
    assert client.post(path, {**review, "action": "confirm"}).status_code == 201
    [row] = assignments(client)
    assert row["state"] == "done"
    assert row["doneAt"] is not None
    figures = client.get(f"/analytics/reviewers?to={(moment + timedelta(days=1)).date()}").json()[
        "data"
    ]["reviewers"]
    by_name = {each["reviewer"]: each for each in figures}
    assert by_name[nora]["count"] == 1
    assert by_name[nora]["agreement"] == 1
    assert by_name[nora]["fromJudge"]["mean"] == 0
    # A done one cannot be replaced, and does not expire.
    refused = client.post(f"/reviews/assignments/{row['id']}/replace", {"reason": "No."})
    assert error_code(refused) == "CONFLICT"


@pytest.mark.sql
def test_replaced_and_expired(client: Caller, runtime: Runtime) -> None:
    nora = add_user(runtime, "reviewer", "nora")
    monday = next_monday()
    made = plan(client, [nora])
    conversations(runtime, monday)
    draw_at(runtime, monday)
    rows = assignments(client)
    of_priya = next(row for row in rows if row["executive"] == "Priya")
    of_tom = next(row for row in rows if row["executive"] == "Tom")
    answer = client.post(
        f"/reviews/assignments/{of_priya['id']}/replace", {"reason": "A test call."}
    )
    replaced = answer.json()["data"]
    assert (replaced["replaced"]["state"], replaced["replaced"]["reason"]) == (
        "replaced",
        "A test call.",
    )
    assert replaced["replacement"]["executive"] == "Priya"
    assert replaced["replacement"]["evaluationId"] not in {row["evaluationId"] for row in rows}
    assert replaced["replacement"]["reviewerId"] == nora
    ben = add_user(runtime, "reviewer", "ben")
    assert (
        client.patch(f"/reviews/plans/{made['id']}", {"reviewers": [{"userId": ben}]}).status_code
        == 200
    )
    path = f"/reviews/assignments/{replaced['replacement']['id']}/replace"
    another = client.post(path, {"reason": "Nora has left."}).json()["data"]
    assert another["replacement"]["reviewerId"] == ben
    answer = client.post(f"/reviews/assignments/{of_tom['id']}/replace", {"reason": "Empty."})
    assert answer.json()["data"]["replacement"] is None
    with time_machine.travel(monday + timedelta(days=10) + EXPIRES_AFTER):
        jobs.expire_assignments(runtime)
    assert {row["state"] for row in assignments(client)} == {"replaced", "expired"}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"perAgent": None}, "perAgent"),
        ({"percent": 5}, "perAgent"),
        ({"reviewers": [{"userId": new_id("user")}]}, "reviewers[0].userId"),
        ({"reviewers": []}, "reviewers"),
        ({"filters": {"team": "a"}}, "filters.team"),
        ({"timezone": "Mars/Base"}, "timezone"),
    ],
)
def test_what_cannot_be_planned_is_refused(
    client: Caller, runtime: Runtime, changes: dict[str, Any], field: str
) -> None:
    nora = add_user(runtime, "reviewer", "nora")
    body = {"name": "x", "perAgent": 3, "reviewers": [{"userId": nora}], **changes}
    answer = client.post("/reviews/plans", body)
    assert answer.status_code == 422, answer.text
    assert field in findings(answer)


def test_a_lead_of_one_team_plans_for_it_alone(base: str, client: Caller, runtime: Runtime) -> None:
    own, other = new_id("cc"), new_id("cc")
    lead = signed_in(base, runtime, "lead")
    nora = add_user(runtime, "reviewer", "nora")
    monday = next_monday()
    common = {"conversation_at": monday - timedelta(days=1), "score": 70, "passed": True}
    mine, foreign = rows_of(
        runtime,
        {**common, "call_center_id": own, "executive_id": PRIYA, "executive": "Priya"},
        {**common, "call_center_id": other, "executive_id": TOM, "executive": "MARKED"},
    )
    with runtime.db.writing() as session:
        session.execute(update(User).where(User.name == "lead").values(call_center_ids=[own]))
    lead.get("/review/plans")
    made = lead.post(
        "/review/plans",
        {
            "name": "Own",
            "perAgent": "3",
            "dueDays": "5",
            "weekday": "0",
            "timezone": "UTC",
            "reviewers": nora,
        },
    )
    assert made.status_code == 303, made.text
    of_percent = {"name": "Tenth", "percent": "10", "minimum": "2", "reviewers": nora}
    shares = {"dueDays": "5", "weekday": "0", f"share.{nora}": "3"}
    assert lead.post("/review/plans", {**of_percent, "perAgent": "3"}).status_code == 422
    tenth = lead.post("/review/plans", {**of_percent, **shares, "perAgent": ""})
    made_id = tenth.headers["Location"].rpartition("/")[2].partition("?")[0]
    values = client.get(f"/reviews/plans/{made_id}").json()["data"]
    assert (values["perAgent"], values["percent"], values["minimum"]) == (None, 10, 2)
    assert values["reviewers"] == [{"userId": nora, "share": 3}]
    assert client.delete(f"/reviews/plans/{made_id}").status_code == 204
    page = plan(client, [nora], name="FOREIGN")["id"]
    draw_at(runtime, monday)
    assert {row["evaluationId"] for row in assignments(client)} == {mine, foreign}
    shown = lead.get(made.headers["Location"]).text
    assert "Priya" in shown
    assert "MARKED" not in shown + lead.get("/review/reviewers").text
    assert "FOREIGN" not in lead.get("/review/plans").text
    assert lead.get(f"/review/plans/{page}").status_code == 404


def test_the_pages_of_a_week(base: str, client: Caller, runtime: Runtime) -> None:
    reviewer = signed_in(base, runtime, "reviewer")
    lead = signed_in(base, runtime, "lead")
    assert "No plan has given you" in reviewer.get("/review/mine").text
    assert reviewer.get("/review/plans").status_code == 403
    assert "No plan yet" in lead.get("/review/plans").text
    assert "There are no reviews in this period." in lead.get("/review/reviewers").text
    with runtime.db.reading() as session:
        found = people.find_by_name(session, "reviewer")
    assert found is not None
    monday = next_monday() - timedelta(days=7)
    made = plan(client, [found.id], dueDays=14)
    with runtime.db.writing() as session:
        session.execute(update(ReviewPlan).values(drawn_week=None))
    conversations(runtime, monday)
    sample = f"/review?tab=sample&from={monday - timedelta(days=7):%Y-%m-%d}&to=2099-01-01"
    assert "Sample <strong>10</strong>" in reviewer.get(sample).text
    with runtime.db.writing() as session:
        session.execute(
            update(Evaluation).where(Evaluation.executive_id == TOM).values(status="queued")
        )
    jobs.draw_plans(runtime)
    assert assignments(client) == [], "a draw waits until the week is judged"
    with runtime.db.writing() as session:
        session.execute(update(Evaluation).values(status="completed"))
    jobs.draw_plans(runtime)
    shown = reviewer.get("/review/mine").text
    assert "0 of 5 of the week of" in shown
    given = {row["evaluationId"] for row in assignments(client)}
    queue = reviewer.get(sample).text
    assert "Sample <strong>5</strong>" in queue
    assert not any(evaluation_id in queue for evaluation_id in given)
    page = lead.get(f"/review/plans/{made['id']}").text
    assert "Too few conversations: ask for fewer." in page
    [row, *_] = assignments(client)
    answer = lead.post(
        f"/review/plans/{made['id']}/assignments/{row['id']}", {"reason": "A test call."}
    )
    assert answer.status_code == 303
    assert "Replaced" in lead.get(f"/review/plans/{made['id']}").text
    # Who has left keeps no plan on.
    with runtime.db.writing() as session:
        session.execute(update(User).where(User.id == found.id).values(disabled_at=utc_now()))
    assert lead.post(f"/review/plans/{made['id']}", {"change": "off"}).status_code == 303
