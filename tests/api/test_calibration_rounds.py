"""Calibration rounds over the API and on their pages: blind first, then compared."""

import re
from datetime import timedelta
from typing import Any

import pytest
import time_machine

from app.core.clock import utc_now
from app.core.ids import new_id
from app.core.runtime import Runtime
from tests.caller import Caller, findings
from tests.contacts import get, judge, put_chat
from tests.visitor import Visitor, add_user

ROUNDS = "/analytics/calibration-rounds"
GREETING = "answer.opening.greeting"


@pytest.fixture
def chats(client: Caller) -> list[str]:
    """Two judged chats."""
    made = [put_chat(client, f"chat-{number}")["evaluationId"] for number in range(2)]
    judge()
    return made


def rate(client: Caller, evaluation_id: str, reviewer: str, answer: str) -> None:
    rating = {"key": "opening.greeting", "answer": answer}
    body = {"action": "comment", "reviewer": reviewer, "reason": "Blind.", "criteria": [rating]}
    assert client.call("POST", f"/evaluations/{evaluation_id}/reviews", body).status_code == 201


def test_a_round_shows_who_rated_what_and_where_people_differ(
    client: Caller, chats: list[str]
) -> None:
    rate(client, chats[0], "Nora", "no")
    body = {"name": "Week 47", "evaluationIds": chats, "reviewers": ["Nora", "omar", "nora"]}
    made = client.post(ROUNDS, body)
    assert made.status_code == 201, made.text
    created = made.json()["data"]
    assert (created["reviewers"], created["evaluationIds"]) == (["Nora", "omar"], chats)
    assert [row["id"] for row in get(client, ROUNDS)] == [created["id"]]
    # What was rated before the round was not rated for it.
    assert get(client, f"{ROUNDS}/{created['id']}")["ratings"] == []
    for chat, reviewer, answer in (
        (chats[0], "NORA", "no"),
        (chats[0], "Omar", "yes"),
        (chats[1], "Nora", "yes"),
        (chats[1], "Omar", "yes"),
        (chats[1], "Somebody else", "no"),
    ):
        rate(client, chat, reviewer, answer)
    shown = get(client, f"{ROUNDS}/{created['id']}")
    assert [(rating["evaluationId"], rating["reviewer"]) for rating in shown["ratings"]] == [
        (chats[0], "Nora"),
        (chats[0], "omar"),
        (chats[1], "Nora"),
        (chats[1], "omar"),
    ]
    (difference,) = shown["differences"]
    assert (difference["evaluationId"], difference["key"]) == (chats[0], "opening.greeting")
    assert difference["judge"]["answer"] == "yes"
    assert [answer["answer"] for answer in difference["answers"]] == ["no", "yes"]
    (criterion,) = shown["agreement"]["criteria"]
    assert (criterion["pairs"], criterion["humanHuman"]["pairs"]) == (4, 2)


def test_answers_of_others_are_hidden_until_all_have_rated(
    client: Caller, chats: list[str]
) -> None:
    body = {"name": "Week 47", "evaluationIds": chats, "reviewers": ["Nora", "Omar"]}
    path = f"{ROUNDS}/{client.post(ROUNDS, body).json()['data']['id']}"
    for chat in chats:
        rate(client, chat, "Nora", "no")
    rate(client, chats[0], "Somebody else", "no")
    for asked in (path, f"{path}?reviewer=Omar"):
        shown = get(client, asked)
        assert (shown["sealed"], shown["differences"], shown["agreement"]) == (True, [], None)
        assert [rating["score"] for rating in shown["ratings"]] == [None, None]
        assert [rating["judgeScore"] for rating in shown["ratings"]] == [None, None]
        assert [rating["reviewer"] for rating in shown["ratings"]] == ["Nora", "Nora"]
    assert get(client, f"{path}?reviewer=nora")["sealed"] is False
    assert client.get(f"{path}?reviewer=Eve").status_code == 422
    results = get(client, f"/evaluations/{chats[0]}/results")
    for reviews in (get(client, f"/evaluations/{chats[0]}/reviews"), results["reviews"]):
        sealed, other = reviews
        assert (sealed["reviewer"], sealed["criteria"], sealed["reason"]) == ("Nora", [], None)
        assert sealed["sealed"] is True
        assert [criterion["answer"] for criterion in other["criteria"]] == ["no"]
    assert get(client, "/analytics/agreement?from=2026-01-01")["reviewers"] == 1
    rating = {"key": "opening.greeting", "answer": "no"}
    override = {"action": "override", "reviewer": "omar", "reason": "No.", "criteria": [rating]}
    refused = client.post(f"/evaluations/{chats[0]}/reviews", override)
    assert refused.status_code == 409
    assert "'Week 47' is open" in refused.json()["error"]["message"]
    for chat in chats:
        rate(client, chat, "OMAR", "yes")
    shown = get(client, path)
    assert (shown["sealed"], len(shown["differences"])) == (False, 2)
    for reviews in (
        get(client, f"/evaluations/{chats[0]}/reviews"),
        get(client, f"/evaluations/{chats[0]}/results")["reviews"],
    ):
        assert [len(review["criteria"]) for review in reviews] == [1, 1, 1]
        assert "sealed" not in reviews[0]
    assert client.post(f"/evaluations/{chats[0]}/reviews", override).status_code == 201


def test_a_round_that_is_never_completed_is_unsealed_after_thirty_days(
    client: Caller, chats: list[str]
) -> None:
    body = {"name": "Week 47", "evaluationIds": chats, "reviewers": ["Nora", "Omar"]}
    path = f"{ROUNDS}/{client.post(ROUNDS, body).json()['data']['id']}"
    rate(client, chats[0], "Nora", "no")
    assert get(client, path)["sealed"] is True
    with time_machine.travel(utc_now() + timedelta(days=31)):
        assert get(client, path)["sealed"] is False
        (review,) = get(client, f"/evaluations/{chats[0]}/reviews")
    assert [criterion["answer"] for criterion in review["criteria"]] == ["no"]


def test_a_conversation_that_is_judged_again_holds_no_round_up(
    client: Caller, base: str, runtime: Runtime, chats: list[str]
) -> None:
    nora = Visitor(base)
    people = [add_user(runtime, "reviewer", "nora"), "Omar"]
    assert nora.sign_in("nora").status_code == 303
    body = {"name": "Week 47", "evaluationIds": chats, "reviewers": people}
    created = client.post(ROUNDS, body).json()["data"]
    path = f"{ROUNDS}/{created['id']}"
    assert client.post(f"/evaluations/{chats[0]}/re-evaluate", {}).status_code == 202
    judge()
    page = nora.get(f"/review/calibration/{created['id']}").text
    assert "Rate the 1 conversation left to you" in page
    assert f"/evaluations/{chats[0]}/blind" not in page
    assert "was judged again" in nora.get(f"/evaluations/{chats[0]}/blind").text
    for reviewer in people:
        assert get(client, path)["sealed"] is True
        rate(client, chats[1], reviewer, "no")
    assert get(client, path)["sealed"] is False
    assert get(client, f"/evaluations/{chats[1]}/reviews")[0]["criteria"]


def test_a_round_needs_conversations_and_two_people(client: Caller, chats: list[str]) -> None:
    body: dict[str, Any] = {
        "name": "Week 47",
        "evaluationIds": chats,
        "reviewers": ["Nora", "Omar"],
    }
    for changes, field in (
        ({"evaluationIds": [new_id("eval")]}, "evaluationIds[0]"),
        ({"evaluationIds": []}, "evaluationIds"),
        ({"reviewers": ["Nora"]}, "reviewers"),
        ({"reviewers": ["Nora", "NORA"]}, "reviewers"),
        ({"name": ""}, "name"),
    ):
        refused = client.post(ROUNDS, {**body, **changes})
        assert refused.status_code == 422, changes
        assert list(findings(refused)) == [field]


def test_a_conversation_that_cannot_be_rated_is_named_by_its_place(
    client: Caller, chats: list[str]
) -> None:
    ids = [chats[0], chats[0], new_id("eval")]
    body = {"name": "Week 47", "evaluationIds": ids, "reviewers": ["Nora", "Omar"]}
    assert list(findings(client.post(ROUNDS, body))) == ["evaluationIds[2]"]


def test_people_see_the_results_once_they_have_rated_everything(
    client: Caller, base: str, runtime: Runtime, chats: list[str]
) -> None:
    ids = {name: add_user(runtime, "reviewer", name) for name in ("nora", "omar", "eve")}
    nora, omar, eve = (Visitor(base) for _ in ids)
    for visitor, name in ((nora, "nora"), (omar, "omar"), (eve, "eve")):
        assert visitor.sign_in(name).status_code == 303
    form = nora.post("/evaluations/marked/calibration", {"ids": chats}).headers["Location"]
    assert "2 conversations" in nora.get(form).text
    given = {"name": "Week 47", "ids": ",".join(chats)}
    alone = nora.post("/review/calibration/new", {**given, "reviewers": ids["nora"]})
    assert alone.status_code == 422
    assert 'value="Week 47"' in alone.text
    both = [ids["nora"], ids["omar"]]
    path = nora.post("/review/calibration/new", {**given, "reviewers": both}).headers["Location"]
    assert "Week 47" in nora.get("/review/calibration").text
    for visitor, answer in ((nora, "answer:no"), (omar, "answer:yes")):
        for number, chat in enumerate(chats):
            page = visitor.get(path).text
            assert f"{2 - number} conversation" in page
            assert "Different answers" not in page
            assert f"/evaluations/{chat}?" not in page
            blind = f"/evaluations/{chat}/blind?round={path.rpartition('/')[2]}"
            assert blind in page
            [address] = re.findall(
                r'method="post" action="(/evaluations/[^"]+)"', visitor.get(blind).text
            )
            rating = {"blind": "1", "action": "comment", "reason": "Mine.", GREETING: answer}
            saved = visitor.post(address, rating)
            assert saved.headers["Location"].startswith(path)
    page = nora.get(path).text
    assert "conversations left to you" not in page
    assert len(re.findall("<td>No</td><td>Yes</td><td>Yes</td>", page)) == 2
    # A person who does not rate is not kept in the dark.
    assert "Different answers" in eve.get(path).text
    assert eve.get(f"/review/calibration/{new_id('round')}").status_code == 404
