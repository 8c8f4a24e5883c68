"""Answers of agents over the API: receipts, disputes in time, their figures and events."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import time_machine

from app.agents import receipts
from app.core.clock import utc_now
from app.core.ids import new_id
from app.core.runtime import Runtime
from app.people import service as people
from app.privacy import service as privacy
from app.reviews.agreement.two_raters import wilson
from tests.caller import Caller, findings
from tests.contacts import judge, put_chat
from tests.happenings import data_of
from tests.visitor import add_user

GREETING = {"key": "opening.greeting", "answer": "no", "reason": "I never said that."}


def chat_evaluation(client: Caller) -> str:
    put_chat(client)
    judge()
    return str(client.get("/evaluations").json()["data"][0]["id"])


@pytest.fixture
def evaluation_id(client: Caller) -> str:
    return chat_evaluation(client)


def dispute(client: Caller, evaluation_id: str, **more: Any) -> Any:
    body = {"reason": "Please look again.", "criteria": [GREETING], **more}
    return client.post(f"/evaluations/{evaluation_id}/disputes", body)


def decide(client: Caller, evaluation_id: str, action: str, **more: Any) -> None:
    body = {"action": action, "reviewer": "Lea", "reason": "Heard it again.", **more}
    assert client.post(f"/evaluations/{evaluation_id}/reviews", body).status_code == 201


def test_receipts_are_added_once_and_a_new_revision_asks_again(
    client: Caller, evaluation_id: str, runtime: Runtime
) -> None:
    path = f"/evaluations/{evaluation_id}/receipts"
    for body in ({"action": "seen"}, {"action": "acknowledged"}, {"action": "seen"}):
        assert client.post(path, body).status_code == 201
    comment = {"action": "commented", "comment": "The line was bad."}
    assert client.post(path, comment).status_code == 201
    given = client.get(path).json()["data"]
    assert [row["action"] for row in given] == ["seen", "acknowledged", "commented"]
    assert given[2]["comment"] == "The line was bad."
    [event] = data_of(runtime, "evaluation.acknowledged")
    assert (event["evaluation_id"], event["revision"]) == (evaluation_id, 1)
    for body, found in (
        ({"action": "seen", "comment": "x"}, {"comment": "FORMAT"}),
        ({"action": "commented"}, {"comment": "FORMAT"}),
        ({"action": "liked"}, {"action": "ENUM"}),
    ):
        assert findings(client.post(path, body)) == found
    again = client.post(f"/evaluations/{evaluation_id}/re-evaluate", {}).json()["data"]["id"]
    listed = client.get(f"/evaluations/{again}/receipts").json()
    assert (listed["data"], listed["pagination"]["totalCount"]) == ([], 0)
    assert client.post(f"/evaluations/{again}/receipts", {"action": "seen"}).status_code == 409


@pytest.mark.sql
def test_a_comment_that_is_written_during_an_erasure_is_erased(
    client: Caller, evaluation_id: str, runtime: Runtime
) -> None:
    source_id = client.get(f"/evaluations/{evaluation_id}").json()["data"]["sourceId"]

    def erase() -> None:
        with runtime.db.writing() as session:
            privacy.erase_conversations(session, [source_id])

    erasing = threading.Thread(target=erase)
    with runtime.db.writing() as session:
        receipts.add(session, evaluation_id, "commented", comment="It was me.", user_id="user_ann")
        erasing.start()
        # It ends now only where it does not wait.
        erasing.join(1)
    erasing.join()
    [receipt] = client.get(f"/evaluations/{evaluation_id}/receipts").json()["data"]
    assert receipt["comment"] is None


@pytest.mark.usefixtures("in_november")
def test_a_dispute_is_opened_once_decided_and_counted(
    client: Caller, evaluation_id: str, runtime: Runtime
) -> None:
    opened = dispute(client, evaluation_id)
    assert opened.status_code == 201, opened.text
    review = opened.json()["data"]
    assert (review["action"], review["statusAfter"]) == ("dispute", "disputed")
    assert dispute(client, evaluation_id).status_code == 409
    decide(
        client, evaluation_id, "accept_dispute", criteria=[{"key": GREETING["key"], "answer": "no"}]
    )
    assert dispute(client, evaluation_id).status_code == 409
    [disputed] = data_of(runtime, "evaluation.disputed")
    assert disputed["criteria"] == [GREETING["key"]]
    [decided] = data_of(runtime, "evaluation.dispute_decided")
    assert decided["decision"] == "accepted"
    assert decided["score_before"] > decided["score"]

    report = client.get("/analytics/disputes").json()["data"]
    rate = wilson(1, 1)
    whole = {"value": 1.0, "low": round(rate.low, 4), "high": 1.0, "hits": 1, "count": 1}
    assert report["disputed"] == report["upheld"] == whole
    [criterion] = report["criteria"]
    assert criterion["key"] == GREETING["key"]
    assert criterion["upheld"] == whole


@pytest.mark.usefixtures("in_november")
def test_of_an_accepted_dispute_only_changed_answers_are_upheld(
    client: Caller, evaluation_id: str
) -> None:
    other = {"key": "communication.courtesy", "answer": 1, "reason": "Nor this."}
    assert dispute(client, evaluation_id, criteria=[GREETING, other]).status_code == 201
    decide(
        client, evaluation_id, "accept_dispute", criteria=[{"key": GREETING["key"], "answer": "no"}]
    )
    criteria = client.get("/analytics/disputes").json()["data"]["criteria"]
    assert {row["key"]: row["upheld"]["hits"] for row in criteria} == {
        GREETING["key"]: 1,
        other["key"]: 0,
    }


def test_a_dispute_ends_with_its_window_and_a_review_opens_it_again(
    client: Caller, evaluation_id: str
) -> None:
    with time_machine.travel(utc_now() + timedelta(days=14, minutes=1)):
        late = dispute(client, evaluation_id)
        assert late.status_code == 409
        assert "could be disputed until" in late.json()["error"]["message"]
        decide(
            client, evaluation_id, "override", criteria=[{"key": GREETING["key"], "answer": "no"}]
        )
        assert dispute(client, evaluation_id).status_code == 201


def test_a_dispute_says_why_and_to_whom(
    client: Caller, evaluation_id: str, runtime: Runtime
) -> None:
    add_user(runtime, "admin")
    viewer, lead, other = (
        add_user(runtime, role, name)
        for role, name in (("viewer", "vic"), ("lead", "lea"), ("lead", "len"))
    )
    with runtime.db.writing() as session:
        people.change_role(
            session, people.get(session, other), "lead", call_center_ids=[new_id("cc")]
        )
    for more, found in (
        ({"criteria": []}, {"criteria": "LENGTH"}),
        ({"criteria": [{**GREETING, "reason": None}]}, {"criteria[0].reason": "TYPE"}),
        (
            {"criteria": [{"key": GREETING["key"], "answer": "no"}]},
            {"criteria[0].reason": "REQUIRED"},
        ),
        ({"criteria": [{**GREETING, "key": "nothing"}]}, {"criteria[0].key": "FORMAT"}),
        ({"addresseeId": viewer}, {"addresseeId": "FORMAT"}),
        ({"addresseeId": other}, {"addresseeId": "FORMAT"}),
    ):
        assert findings(dispute(client, evaluation_id, **more)) == found, more
    opened = dispute(client, evaluation_id, addresseeId=lead)
    assert opened.json()["data"]["addresseeId"] == lead


def test_without_a_window_agents_cannot_dispute(
    serve: Callable[..., str], make_caller: Callable[..., Caller]
) -> None:
    client = make_caller(serve(dispute_days=0))
    assert dispute(client, chat_evaluation(client)).status_code == 409
