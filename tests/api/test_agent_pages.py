"""Pages of agents: their results, and their answers to one evaluation."""

from collections.abc import Callable

import pytest

from app.analytics.engine import rebuilding
from app.core.database.paging import PageRequest
from app.core.runtime import Runtime
from app.people import audit
from app.people.audit import Action
from tests.caller import Caller
from tests.contacts import judge, messages, put, put_chat
from tests.evaluation_rows import rows_of
from tests.team_walk import limited_person
from tests.visitor import Visitor, add_user, signed_in

GREETING = "answer.opening.greeting"


@pytest.fixture
def base(serve: Callable[..., str]) -> str:
    return serve()


def people_of(client: Caller, number: int) -> tuple[str, list[str]]:
    """Put in a call centre with so many executives; return their ids."""
    center = put(client, "call-centers", "alpha", {"name": "Alpha"})["id"]
    return center, [
        put(client, "executives", f"e{index}", {"name": f"The {index}th", "callCenterId": center})[
            "id"
        ]
        for index in range(number)
    ]


def evaluated(client: Caller, executive_id: str, key: str = "chat-1", every_s: int = 20) -> str:
    put_chat(client, key, executiveId=executive_id, messages=messages(every_s=every_s))
    judge()
    newest = client.get("/evaluations", params={"executiveId": executive_id, "sort": "-createdAt"})
    return str(newest.json()["data"][0]["id"])


@pytest.mark.usefixtures("in_november")
def test_an_agent_acknowledges_comments_and_disputes_and_reads_the_answer(
    client: Caller, base: str, runtime: Runtime
) -> None:
    admin = signed_in(base, runtime, "admin")
    _, [executive_id] = people_of(client, 1)
    evaluation_id = evaluated(client, executive_id)
    path = f"/evaluations/{evaluation_id}"
    agent = limited_person(base, runtime, "agent", executive_id=executive_id)
    assert "New to you: 1" in agent.get("/my/results").text
    page = agent.get(path).text
    assert "Your answer" in page
    assert "Seen" in page
    assert "New to you: 0" in agent.get("/my/results").text

    assert agent.post(f"{path}/receipts", {"action": "acknowledged"}).status_code == 303
    assert 'value="acknowledged"' not in agent.get(path).text
    empty = agent.post(f"{path}/receipts", {"action": "commented", "comment": ""})
    assert empty.status_code == 422
    comment = {"action": "commented", "comment": "The line was bad."}
    assert agent.post(f"{path}/receipts", comment).status_code == 303

    typed = {"action": "dispute", "reason": "I was polite.", GREETING: "answer:no"}
    refused = agent.post(f"{path}/disputes", typed)
    assert refused.status_code == 422
    assert "Say of each criterion why its answer is wrong." in refused.text
    assert "I was polite." in refused.text
    lead = {
        "reason.opening.greeting": "I did greet.",
        "quote.opening.greeting": "seg_0002:0:Good morning!",
    }
    answer = agent.post(f"{path}/disputes", {**typed, **lead})
    assert answer.status_code == 303, answer.text
    assert "Send the dispute" not in agent.get(path).text
    assert "Disputed" in agent.get("/my/results").text

    shown = admin.get(path).text
    assert "Answer of the agent" in shown
    assert "The line was bad." in shown
    accepted = {"action": "accept_dispute", "reason": "You are right, sorry."}
    assert admin.post(f"{path}/reviews", accepted).status_code == 303
    page = agent.get(path).text
    assert "You are right, sorry." in page
    assert "A reviewer" in page
    assert "Dispute accepted" in agent.get("/my/results").text
    assert "1 of 1 evaluations were disputed" in admin.get("/review/agreement?days=365").text
    with runtime.db.reading() as session:
        entries = audit.list_page(
            session, PageRequest(page_size=100, sort="at"), object_id=evaluation_id
        )
    actions = {entry["action"] for entry in entries.items}
    assert {Action.ACKNOWLEDGED, Action.ANSWERED, Action.DISPUTED, Action.REVIEWED} <= actions


def test_others_have_no_pages_of_agents(base: str, runtime: Runtime) -> None:
    assert signed_in(base, runtime, "admin").get("/my/results").status_code == 403
    agent = limited_person(base, runtime, "agent")
    assert "not linked to a person" in agent.get("/my/results").text


def test_the_queue_says_to_whom_a_dispute_is_addressed(
    client: Caller, base: str, runtime: Runtime
) -> None:
    admin = signed_in(base, runtime, "admin")
    _, [executive_id] = people_of(client, 1)
    path = f"/evaluations/{evaluated(client, executive_id)}"
    agent = limited_person(base, runtime, "agent", executive_id=executive_id)
    page = agent.get(path).text
    named = page.partition('name="addresseeId"')[2].partition("</select>")[0]
    assert "any lead of the team" in named
    to = named.partition('value="user_')[2].partition('"')[0]
    typed = {"reason": "No.", GREETING: "answer:no", "reason.opening.greeting": "I did."}
    sent = agent.post(f"{path}/disputes", {**typed, "addresseeId": f"user_{to}"})
    assert sent.status_code == 303, sent.text
    assert '<span class="chip">to admin</span>' in admin.get("/review?tab=disputes").text


def test_my_results_show_the_team_only_where_enough_people_are_in_it(
    client: Caller, base: str, runtime: Runtime
) -> None:
    center, executives = people_of(client, 5)
    add_user(runtime, "admin")
    rows = [
        {"executive_id": key, "call_center_id": center, "score": 90 - 10 * place, "passed": True}
        for place, key in enumerate(executives)
    ]
    # Each is a minute older than the one before: those of the fifth come first.
    rows_of(runtime, *rows[:4] * 6, *rows[4:] * 6)
    with runtime.db.writing() as session:
        rebuilding.rebuild_after(session, "")
    agent: Visitor = limited_person(base, runtime, "agent", executive_id=executives[0])
    alone = agent.get("/my/results?from=2026-11-20T11:36:30Z&to=2026-12-01").text
    assert "You" in alone
    assert "Your team" not in alone
    beside = agent.get("/my/results?from=2026-11-01&to=2026-12-01").text
    assert "Your team" in beside
    assert "The 5 people of your call centre have a mean of 70" in beside
    assert not any(f"The {index}th" in beside for index in range(1, 5))
