"""Release: what an agent sees of their evaluations, by the rule of the scorecard, and of reviews."""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
import time_machine
from flask import Flask

from app.analytics import jobs as analytics
from app.core.runtime import Runtime
from app.core.setting_parsers import RateLimit
from tests.caller import Caller, findings
from tests.contacts import HELPFUL, judge, messages, put_chat
from tests.team_walk import PERIOD, Asker, assert_equal, limited_person, read_all
from tests.team_world import AT, MARK, Team, TeamWorld
from tests.visitor import signed_in

pytestmark = pytest.mark.long
MUCH = RateLimit(1_000_000, 60)
# Pages with figures of analytics, whose facts may lie in parts.
FIGURES = (f"/?{PERIOD}", f"/trends?{PERIOD}", f"/topics?{PERIOD}")
RITA = "Rita Reviewer"


@pytest.fixture(autouse=True)
def moment() -> Iterator[time_machine.Traveller]:
    with time_machine.travel(AT, tick=False) as traveller:
        yield traveller


@pytest.fixture
def base(serve: Callable[..., str]) -> str:
    return serve(rate=MUCH, rate_limit_expensive=MUCH)


@pytest.fixture
def world(base: str, runtime: Runtime, client: Caller) -> TeamWorld:
    return TeamWorld(client, runtime, signed_in(base, runtime, "admin"))


def scorecard_of(client: Caller, evaluation_id: str) -> str:
    row = client.get(f"/evaluations/{evaluation_id}").json()["data"]
    return str(row["scorecardId"])


def set_rule(client: Caller, scorecard_id: str, rule: str, **days: int) -> None:
    body = {"rule": rule, **days}
    answer = client.call("PUT", f"/scorecards/{scorecard_id}/release", body)
    assert answer.json()["data"] == {"scorecardId": scorecard_id, "days": None, **body}


def review(client: Caller, evaluation_id: str, action: str = "confirm", **more: object) -> None:
    body = {"action": action, "reviewer": RITA, "reviewerRef": "rita-1", **more}
    answer = client.post(f"/evaluations/{evaluation_id}/reviews", body)
    assert answer.status_code == 201, answer.text


def add_marked_chat(client: Caller, own: Team) -> str:
    """Add a chat of the same agent; return the id of its evaluation."""
    before = {row["id"] for row in client.get("/evaluations").json()["data"]}
    put_chat(
        client,
        "chat-marked",
        messages=messages(HELPFUL, every_s=21),
        subject=f"Parcel {MARK}",
        tags=[MARK],
        executiveId=own.executive,
        callCenterId=own.call_center,
        campaignId=own.campaign,
    )
    judge()
    [added] = {row["id"] for row in client.get("/evaluations").json()["data"]} - before
    return str(added)


def test_what_is_not_released_changes_no_byte_of_any_answer(
    world: TeamWorld, flask_app: Flask, base: str, client: Caller
) -> None:
    own = world.add("Ann", "Alpha")
    scorecard_id = scorecard_of(client, own.ids["evaluation_id"])
    for row in client.get("/evaluations", params={"status": "completed"}).json()["data"]:
        review(client, row["id"])
    set_rule(client, scorecard_id, "after_review")
    visitor = limited_person(base, world.runtime, "agent", executive_id=own.executive)
    agent = Asker("agent", visitor)
    # A page lists what its agent has not opened yet, which the walk does in any order.
    visitor.get(f"/evaluations/{own.ids['evaluation_id']}")
    before = read_all(agent, flask_app, own)
    figures = [agent.ask("GET", path).text.count("tspan") for path in FIGURES]

    marked = add_marked_chat(client, own)
    for path, answer in read_all(agent, flask_app, own).items():
        assert_equal(answer, before[path], path)
        assert marked not in answer[1], path
    nothing = visitor.get("/evaluations/eval_01m892bp80esxtwf6nxygaak5f")
    assert visitor.get(f"/evaluations/{marked}").status_code == nothing.status_code == 404
    # Its facts count nowhere, whether a part has them or not.
    analytics.tidy_parts(world.runtime)
    again = read_all(agent, flask_app, own)
    assert {path: again[path] for path in before} == before
    assert [agent.ask("GET", path).text.count("tspan") for path in FIGURES] == figures

    review(client, marked, "comment", reason="Not a review that releases.")
    assert visitor.get(f"/evaluations/{marked}").status_code == 404
    review(client, marked)
    assert visitor.get(f"/evaluations/{marked}").status_code == 200
    assert marked in visitor.get("/evaluations").text
    # A reviewed one stays to be seen while it is reviewed again.
    review(client, marked, "start")
    assert visitor.get(f"/evaluations/{marked}").status_code == 200


@pytest.mark.sql
def test_a_rule_releases_after_days_or_never(
    world: TeamWorld, base: str, client: Caller, moment: time_machine.Traveller
) -> None:
    own = world.add("Ann", "Alpha")
    path = f"/evaluations/{own.ids['evaluation_id']}"
    scorecard_id = scorecard_of(client, own.ids["evaluation_id"])
    visitor = limited_person(base, world.runtime, "agent", executive_id=own.executive)
    lead = limited_person(base, world.runtime, "lead", call_center_ids=[own.call_center])
    for rule, days, status in (("never", {}, 404), ("after_days", {"days": 3}, 404)):
        set_rule(client, scorecard_id, rule, **days)
        assert visitor.get(path).status_code == status
        assert lead.get(path).status_code == 200
    moment.shift(timedelta(days=3, minutes=1))
    again = limited_person(base, world.runtime, "agent", executive_id=own.executive)
    assert again.get(path).status_code == 200


def test_a_rule_is_checked_and_set_on_the_page_of_a_scorecard(
    world: TeamWorld, client: Caller
) -> None:
    scorecard_id = client.get("/scorecards").json()["data"][0]["id"]
    path = f"/scorecards/{scorecard_id}/release"
    assert client.get(path).json()["data"]["rule"] == "at_once"
    for body, found in (
        ({"rule": "after_days"}, {"days": "FORMAT"}),
        ({"rule": "never", "days": 2}, {"days": "FORMAT"}),
        ({"rule": "after_days", "days": 0}, {"days": "RANGE"}),
        ({"rule": "soon"}, {"rule": "ENUM"}),
    ):
        assert findings(client.call("PUT", path, body)) == found
    assert (
        client.call(
            "PUT", "/scorecards/sc_01m892bp80esxtwf6nxygaak5f/release", {"rule": "never"}
        ).status_code
        == 404
    )
    form = {"rule": "after_days", "days": ""}
    assert "Give days with" in world.admin.post(path, form).text
    assert world.admin.post(path, {**form, "days": "5"}).status_code == 303
    assert client.get(path).json()["data"] == {
        "scorecardId": scorecard_id,
        "rule": "after_days",
        "days": 5,
    }


@pytest.mark.parametrize("shows", [False, True])
def test_agents_see_what_reviewers_say_and_by_setting_who(
    serve: Callable[..., str], runtime: Runtime, make_caller: Callable[..., Caller], shows: bool
) -> None:
    base = serve(rate=MUCH, agents_see_reviewers=shows)
    client = make_caller(base)
    world = TeamWorld(client, runtime, signed_in(base, runtime, "admin"))
    own = world.add("Ann", "Alpha")
    evaluation_id = own.ids["evaluation_id"]
    review(
        client,
        evaluation_id,
        "override",
        reason="The parcel had arrived.",
        resolution="resolved",
        criteria=[{"key": "opening.greeting", "answer": "no"}],
    )
    visitor = limited_person(base, runtime, "agent", executive_id=own.executive)
    page = visitor.get(f"/evaluations/{evaluation_id}").text
    assert "The parcel had arrived." in page
    assert (RITA in page) is shows
    found = visitor.get("/evaluations?reviewedBy=rita-1").text
    assert (evaluation_id in found) is shows


@pytest.mark.sql
def test_a_sealed_review_is_not_there_for_the_agent_and_sealed_for_the_lead_of_one_team(
    world: TeamWorld, base: str, client: Caller
) -> None:
    own, other = world.add("Ann", "Alpha"), world.add("Bob", "Beta")
    evaluation_id = own.ids["evaluation_id"]
    body = {
        "name": "Both",
        "evaluationIds": [evaluation_id, other.ids["evaluation_id"]],
        "reviewers": ["rita-1", "omar-2"],
    }
    assert client.post("/analytics/calibration-rounds", body).status_code == 201
    review(client, evaluation_id, "comment", reason="Quite blind.", score=3)
    for role, teams in (
        ("agent", {"executive_id": own.executive}),
        ("lead", {"call_center_ids": [own.call_center]}),
    ):
        page = limited_person(base, world.runtime, role, **teams).get(
            f"/evaluations/{evaluation_id}"
        )
        assert "Quite blind." not in page.text
        assert ("Its answers show when" in page.text) is (role == "lead")
