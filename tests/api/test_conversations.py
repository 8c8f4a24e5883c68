"""Conversations and their messages: fields, pages, filters and sorts."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.caller import Caller, error_code, findings
from tests.contacts import HELPFUL, get, judge, messages, put_chat

pytestmark = pytest.mark.sql

SHOWN = {
    *("id", "externalId", "channel", "platform", "status", "subject", "engagementId"),
    *("campaignId", "callCenterId", "executiveId", "executives", "customerRef", "language"),
    *("startedAt", "endedAt", "durationSeconds", "messageCount", "customerMessageCount"),
    *("agentMessageCount", "botMessageCount", "firstResponseSeconds", "averageResponseSeconds"),
    *("csat", "disposition", "tags", "evaluationId", "score", "labels"),
    *("conversationAt", "createdAt", "updatedAt"),
}
SHOWN_OF_MESSAGE = {
    *("id", "conversationId", "index", "role", "participantId", "authorName", "executiveId"),
    *("text", "language", "sentAt", "internal", "attachments", "sentiment", "sentimentScore"),
    *("responseSeconds", "redactions", "metadata"),
}
NOBODY = "01m7y8acjwfq8bmhevp404058a"


def said(*lines: tuple[str, int | None, str], **fields: Any) -> list[dict[str, Any]]:
    """Messages of (role, second of the hour or None, text)."""
    return [
        {
            "role": role,
            "text": text,
            "sentAt": None if at is None else f"2026-11-20T09:{at // 60:02d}:{at % 60:02d}Z",
            **fields,
        }
        for role, at, text in lines
    ]


def test_a_conversation_has_all_its_fields(client: Caller) -> None:
    fields: dict[str, Any] = {
        "status": "abandoned",
        "platform": "whatsapp",
        "subject": "Parcel",
        "customerRef": "cust-9",
        "language": "en-GB",
        "startedAt": "2026-11-20T09:59:00+01:00",
        "endedAt": "2026-11-20T09:30:00Z",
        "csat": {"score": 4.5, "comment": "Fine"},
        "disposition": "solved",
        "tags": ["vip"],
        "labels": {"team": "north"},
    }
    made = put_chat(client, **fields)
    assert set(made) == SHOWN
    assert {name: made[name] for name in fields if name != "startedAt"} == {
        **{name: value for name, value in fields.items() if name != "startedAt"},
        "endedAt": "2026-11-20T09:30:00.000Z",
    }
    assert made["channel"] == "chat"
    assert made["startedAt"] == "2026-11-20T08:59:00.000Z"
    assert made["durationSeconds"] == 31 * 60
    assert get(client, f"/conversations/{made['id']}") == made
    assert get(client, "/conversations") == [made]


def test_response_times_measure_people_and_not_bots(client: Caller) -> None:
    lines = said(
        ("customer", 0, "Hello?"),
        ("bot", 1, "A person will be with you soon."),
        ("customer", 10, "Please hurry."),
        ("system", 20, "Asha has joined."),
        ("agent", 70, "Good morning, I am Asha."),
        ("agent", 75, "How can I help?"),
        ("customer", 100, "My parcel is late."),
        ("agent", 130, "It arrives today."),
    )
    lines.insert(4, {**lines[4], "internal": True, "sentAt": "2026-11-20T09:00:30Z"})
    made = put_chat(client, messages=lines)
    assert (made["firstResponseSeconds"], made["averageResponseSeconds"]) == (70, 50)
    assert made["messageCount"] == 9
    assert (made["customerMessageCount"], made["botMessageCount"]) == (3, 1)
    assert made["agentMessageCount"] == 3
    shown = get(client, f"/conversations/{made['id']}/messages")
    assert [row["responseSeconds"] for row in shown] == [
        *(None, None, None, None, None),
        *(70, None, None, 30),
    ]
    assert [row["internal"] for row in shown].index(True) == 4


@pytest.mark.parametrize(
    "lines",
    [
        said(("customer", None, "Hello"), ("agent", None, "Hello")),
        said(("customer", 0, "Hello"), ("agent", None, "Hello")),
        said(("customer", 60, "Hello"), ("agent", 0, "Hello")),
        said(("customer", 0, "Hello"), ("bot", 5, "Hello")),
        said(("agent", 0, "Hello")),
    ],
)
def test_response_times_are_null_without_message_times(
    client: Caller, lines: list[dict[str, Any]]
) -> None:
    made = put_chat(client, messages=lines)
    assert made["firstResponseSeconds"] is None
    assert made["averageResponseSeconds"] is None
    assert made["endedAt"] is None
    if all(line["sentAt"] is None for line in lines):
        assert made["startedAt"] is None
        assert made["durationSeconds"] is None


def test_messages_are_paged_in_order(client: Caller) -> None:
    lines = messages(tuple(("customer" if n % 2 else "agent", f"Line {n}") for n in range(60)))
    lines[3] |= {
        "authorName": "Asha",
        "language": "hi-IN",
        "attachments": [{"fileName": "a.pdf", "sizeBytes": 9}],
        "metadata": {"ticket": 7, "vip": True, "note": "a\nb", "none": None},
        "text": "  family: \U0001f468\u200d\U0001f469\u200d\U0001f467 \u0915\u094d\u200d ",
    }
    made = put_chat(client, messages=lines)
    path = f"/conversations/{made['id']}/messages"
    first = client.get(path).json()
    assert first["pagination"] == {"page": 1, "pageSize": 25, "totalCount": 60, "totalPages": 3}
    assert [row["index"] for row in first["data"]] == list(range(25))
    fourth = first["data"][3]
    assert set(fourth) == SHOWN_OF_MESSAGE
    assert fourth["conversationId"] == made["id"]
    assert fourth["text"] == lines[3]["text"]
    assert fourth["metadata"] == lines[3]["metadata"]
    assert fourth["attachments"] == [
        {"fileName": "a.pdf", "contentType": None, "sizeBytes": 9, "url": None}
    ]
    assert (fourth["participantId"], first["data"][1]["participantId"]) == (
        "customer_2",
        "customer",
    )
    assert [row["index"] for row in get(client, path, page=3)] == list(range(50, 60))
    assert get(client, path, page=4) == []
    assert findings(client.get(path, params={"sort": "index"})) == {"sort": "UNKNOWN"}


def test_messages_show_the_sentiment_of_the_evaluation(client: Caller) -> None:
    note = {"role": "agent", "text": "Terrible customer.", "internal": True}
    lines = messages()
    made = put_chat(client, messages=[lines[0], note, *lines[1:]])
    path = f"/conversations/{made['id']}/messages"
    assert {row["sentiment"] for row in get(client, path)} == {None}
    judge()
    felt = get(client, path)
    assert felt[0]["sentiment"] == "negative"
    assert felt[1]["sentiment"] is None
    assert felt[5]["sentiment"] == "positive"
    assert felt[5]["sentimentScore"] > 0.3


def test_every_filter_selects_its_conversations(client: Caller) -> None:
    engagement = client.post("/engagements", {"name": "E", "type": "qa"}).json()["data"]["id"]
    other = put_chat(client, "other", "?evaluate=false", messages=messages(HELPFUL[:2]))
    wanted = put_chat(
        client,
        "wanted",
        status="abandoned",
        platform="sms",
        engagementId=engagement,
        language="hi-IN",
        subject="Where is my PARCEL?",
        startedAt="2026-10-01T00:00:00Z",
    )
    for filters in (
        {"engagementId": engagement},
        {"platform": "sms,email"},
        {"status": "abandoned"},
        {"hasEvaluation": "true"},
        {"minMessages": 3},
        {"language": "hi"},
        {"q": "my parcel"},
        {"q": "WANTED"},
        {"from": "2026-09-30", "to": "2026-10-02"},
    ):
        data = get(client, "/conversations", **filters)
        assert [row["id"] for row in data] == [wanted["id"]], filters
    for filters in (
        {"hasEvaluation": "false"},
        {"platform": "web"},
        {"language": "en"},
        {"from": "2026-11-20"},
    ):
        data = get(client, "/conversations", **filters)
        assert [row["id"] for row in data] == [other["id"]], filters
    for column, prefix in (("campaignId", "camp"), ("callCenterId", "cc"), ("executiveId", "exec")):
        assert get(client, "/conversations", **{column: f"{prefix}_{NOBODY}"}) == []


def test_every_sort_works_both_ways_with_nulls_last(client: Caller) -> None:
    for count in (2, 8, 5):
        put_chat(client, f"c{count}", messages=messages(HELPFUL[:count]))
    judge()
    undated = said(("customer", None, "Hello"))
    put_chat(client, "undated", "?evaluate=false", messages=undated)
    counts = [row["messageCount"] for row in get(client, "/conversations", sort="messageCount")]
    assert counts == [1, 2, 5, 8]
    assert get(client, "/conversations", sort="-messageCount")[0]["messageCount"] == 8
    for sort in ("startedAt", "-startedAt", "score", "-score"):
        assert get(client, "/conversations", sort=sort)[-1][sort.lstrip("-")] is None
    for sort in ("score", "-score", "startedAt", "-createdAt"):
        whole = [row["id"] for row in get(client, "/conversations", sort=sort)]
        pages = [get(client, "/conversations", sort=sort, page=n, pageSize=1) for n in range(1, 6)]
        assert [row["id"] for page in pages for row in page] == whole
    newest = get(client, "/conversations")
    assert [row["createdAt"] for row in newest] == sorted(
        (row["createdAt"] for row in newest), reverse=True
    )


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"statuss": "open"}, {"statuss": "UNKNOWN"}),
        ({"status": "ended"}, {"status": "ENUM"}),
        ({"platform": "fax"}, {"platform": "ENUM"}),
        ({"minMessages": "-1"}, {"minMessages": "RANGE"}),
        ({"hasEvaluation": "yes"}, {"hasEvaluation": "TYPE"}),
        ({"sort": "subject"}, {"sort": "ENUM"}),
        ({"campaignId": f"eng_{NOBODY}"}, {"campaignId": "FORMAT"}),
        ({"from": "2026-01-02", "to": "2026-01-01"}, {"to": "RANGE"}),
    ],
)
def test_an_invalid_filter_is_refused(
    shared_client: Caller, params: dict[str, str], expected: dict[str, str]
) -> None:
    answer = shared_client.get("/conversations", params=params)
    assert answer.status_code == 422
    assert findings(answer) == expected


def test_reading_requires_its_scope_and_writing_is_not_allowed(
    base: str, client: Caller, make_caller: Callable[..., Caller]
) -> None:
    made = put_chat(client)
    one = f"/conversations/{made['id']}"
    reader = make_caller(base, scopes=["conversations:read"])
    stranger = make_caller(base, scopes=["voice:read", "ingest:write"])
    for path in ("/conversations", one, f"{one}/messages"):
        assert reader.get(path).status_code == 200
        assert error_code(stranger.get(path)) == "INSUFFICIENT_SCOPE"
        refused = client.post(path, {"subject": "A"})
        assert (refused.status_code, error_code(refused)) == (405, "METHOD_NOT_ALLOWED")
        assert "GET" in refused.headers["Allow"]
    for unknown in (f"conv_{NOBODY}", f"call_{NOBODY}", made["id"].replace("conv", "call"), "x"):
        assert client.get(f"/conversations/{unknown}").status_code == 404
        assert client.get(f"/conversations/{unknown}/messages").status_code == 404
