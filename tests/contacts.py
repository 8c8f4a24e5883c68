"""Conversations and voice calls as other systems send them, put in as a caller does."""

from typing import Any

from app.evaluations import jobs
from tests.caller import Caller
from tests.running import running_runtime

AT = "2026-11-20T09:{:02d}:{:02d}Z"
HELPFUL = (
    ("customer", "Hello, my parcel has not arrived and I am worried about it."),
    ("agent", "Good morning! I am sorry to hear that. May I have your order number, please?"),
    ("customer", "It is 48213, it should have been here on Monday."),
    ("agent", "Thank you. I see it is held at the depot. I will send it again today."),
    ("customer", "Great, thank you so much, that solves it."),
    ("agent", "To recap: it arrives tomorrow by noon. Is there anything else I can do for you?"),
    ("customer", "No, that is all. Thanks, goodbye."),
    ("agent", "Thank you for contacting us. Have a nice day, goodbye."),
)
SAID = (
    ("bot", 0, 4_000, "Hello, this is your automated assistant calling."),
    ("customer", 4_600, 6_000, "Yes, who is it?"),
    ("bot", 6_900, 11_000, "I am calling about your delivery. Is tomorrow at noon fine for you?"),
    ("customer", 11_800, 14_000, "Tomorrow at noon is fine, thank you so much."),
    ("bot", 15_000, 19_000, "Great, it is booked for tomorrow at noon. Anything else I can do?"),
    ("customer", 19_900, 21_000, "No, that is all. Goodbye."),
    ("bot", 21_600, 23_000, "Thank you. Have a nice day, goodbye."),
)


def messages(
    lines: tuple[tuple[str, str], ...] = HELPFUL, *, every_s: int = 20
) -> list[dict[str, Any]]:
    """A message every twenty seconds."""
    return [
        {"role": role, "text": text, "sentAt": AT.format(*divmod(every_s * index, 60))}
        for index, (role, text) in enumerate(lines)
    ]


def turns() -> list[dict[str, Any]]:
    return [
        {"role": role, "startMs": start, "endMs": end, "text": text}
        for role, start, end, text in SAID
    ]


def chat(**fields: Any) -> dict[str, Any]:
    return {"messages": messages(), "platform": "web", "language": "en", **fields}


def call(**fields: Any) -> dict[str, Any]:
    return {
        "status": "completed",
        "startedAt": "2026-11-20T09:30:00Z",
        "answeredAt": "2026-11-20T09:30:05Z",
        "endedAt": "2026-11-20T09:30:29Z",
        "direction": "outbound",
        "fromNumber": "+44 20 7946 0018",
        "toNumber": "+919812345678",
        "botId": "delivery",
        "botName": "Nora",
        "language": "en",
        "turns": turns(),
        **fields,
    }


def put(client: Caller, kind: str, key: str, body: dict[str, Any], query: str = "") -> Any:
    """Put a record in and return it."""
    answer = client.call("PUT", f"/imports/{kind}/{key}{query}", body)
    assert answer.status_code in (200, 201), answer.text
    return answer.json()["data"]


def put_chat(client: Caller, key: str = "chat-1", query: str = "", **fields: Any) -> Any:
    return put(client, "conversations", key, chat(**fields), query)


def put_call(client: Caller, key: str = "call-1", query: str = "", **fields: Any) -> Any:
    return put(client, "voice-calls", key, call(**fields), query)


def judge() -> None:
    """Make the judgements that are due, in this process."""
    jobs.judge(running_runtime())


def get(client: Caller, path: str, **params: Any) -> Any:
    answer = client.get(path, params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]
