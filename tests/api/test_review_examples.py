"""Examples from overrides: learned, applied in their engagement, listed, revoked and erased."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from app.core.runtime import Runtime
from app.reviews import service as reviews
from tests.caller import Caller
from tests.contacts import get, judge, messages, put_chat
from tests.visitor import Visitor, signed_in

GREETING = "Tuned in, Radio Service."
REWORDED = "Radio Service, tuned in and listening."
REST = (
    ("customer", "I need a copy of my bill for March, please."),
    ("agent", "I have sent it to your mail address just now."),
    ("customer", "Thank you very much, goodbye."),
)


def judged(client: Caller, key: str, greeting: str, engagement_id: str) -> tuple[str, Any]:
    """Judge a chat that begins with this greeting; return its evaluation and the answer of the criterion."""
    lines = messages((("agent", greeting), *REST))
    made = put_chat(client, key, messages=lines, engagementId=engagement_id)
    judge()
    results = get(client, f"/evaluations/{made['evaluationId']}/results")
    answers = {criterion["key"]: criterion["answer"] for criterion in results["criteria"]}
    return made["evaluationId"], answers["opening.greeting"]


def engagement(client: Caller, name: str) -> str:
    made = client.post("/engagements", {"name": name, "type": "audit"}).json()["data"]
    return str(made["id"])


def override(client: Caller, evaluation_id: str, answer: str, *quotes: str) -> None:
    evidence = [{"segmentId": "seg_0001", "quote": quote} for quote in quotes]
    rating = {"key": "opening.greeting", "answer": answer, "evidence": evidence}
    body = {"action": "override", "reviewer": "Nora", "reason": "Ours.", "criteria": [rating]}
    answered = client.call("POST", f"/evaluations/{evaluation_id}/reviews", body)
    assert answered.status_code == 201, answered.text


@pytest.fixture
def visit(base: str, runtime: Runtime) -> Callable[[str], Visitor]:
    """Return a visitor who has signed in with a role."""
    return partial(signed_in, base, runtime)


def test_an_override_teaches_its_engagement_until_it_is_revoked(
    client: Caller, visit: Callable[[str], Visitor], runtime: Runtime
) -> None:
    ours, theirs = engagement(client, "Harbour"), engagement(client, "Other")
    first, answer = judged(client, "chat-1", GREETING, ours)
    assert answer != "yes"
    override(client, first, "yes", GREETING)
    assert judged(client, "chat-2", REWORDED, ours)[1] == "yes"
    assert judged(client, "chat-3", REWORDED, theirs)[1] != "yes"

    [example] = get(client, "/review-examples", engagementId=ours)
    assert (example["kind"], example["counts"]) == ("greeting", True)
    assert (example["text"], example["evaluationId"]) == (GREETING, first)
    assert get(client, "/review-examples", engagementId=theirs) == []

    lead = visit("lead")
    page = lead.get("/review/examples").text
    assert GREETING in page
    assert "the greeting" in page
    assert lead.post(f"/review/examples/{example['id']}/revoke", {}).status_code == 303
    assert get(client, "/review-examples") == []
    assert judged(client, "chat-4", REWORDED, ours)[1] != "yes"
    trail = visit("admin").get("/audit").text
    assert example["id"] in trail


def test_the_last_override_of_the_same_words_counts(client: Caller) -> None:
    ours = engagement(client, "Harbour")
    first, _ = judged(client, "chat-1", GREETING, ours)
    override(client, first, "yes", GREETING)
    second, answer = judged(client, "chat-2", GREETING, ours)
    assert answer == "yes"
    override(client, second, "no", GREETING)
    [example] = get(client, "/review-examples")
    assert example["counts"] is False
    assert judged(client, "chat-3", GREETING, ours)[1] != "yes"
    assert client.call("DELETE", f"/review-examples/{example['id']}").status_code == 204
    assert (
        client.call("DELETE", "/review-examples/ex_01k9zq4v2me8wb7xq3s5ndt6ha").status_code == 404
    )


def test_examples_go_with_their_conversation(client: Caller, runtime: Runtime) -> None:
    ours = engagement(client, "Harbour")
    first, _ = judged(client, "chat-1", GREETING, ours)
    override(client, first, "yes", GREETING)
    assert len(get(client, "/review-examples")) == 1
    source = get(client, f"/evaluations/{first}")["sourceId"]
    with runtime.db.writing() as session:
        reviews.erase(session, [source])
    assert get(client, "/review-examples") == []
