"""First-contact resolution, computed when results are read."""

from datetime import timedelta
from typing import Any

from app.core.clock import iso_utc, utc_now
from tests.caller import Caller
from tests.contacts import HELPFUL, get, judge, put_chat

METRIC = "firstContactResolution"
RUDE = [
    {"role": role, "text": text}
    for role, text in (
        ("customer", "Hello, where is my order? I was charged twice for it."),
        ("agent", "I am unable to find it. Sorry, the system failed."),
        ("customer", "This is terrible. Can you at least refund me?"),
        ("agent", "Unfortunately I can't do that, the request failed again."),
        ("customer", "You are useless. Forget it."),
    )
]


def told(client: Caller, conversation: dict[str, Any]) -> tuple[float | None, str | None]:
    evaluation_id = get(client, f"/conversations/{conversation['id']}")["evaluationId"]
    data = get(client, f"/evaluations/{evaluation_id}/results")
    reasons = {metric["metric"]: metric["reason"] for metric in data["metricsMissing"]}
    return data["metrics"][METRIC], reasons.get(METRIC)


def test_first_contact_resolution_requires_a_week_without_another_contact(
    client: Caller,
) -> None:
    def at(day: int) -> str:
        return f"2026-01-{day:02d}T09:00:00Z"

    alone = put_chat(client, "alone", customerRef="ann", startedAt=at(1), endedAt=at(1))
    later = put_chat(client, "later", customerRef="ann", startedAt=at(20), endedAt=at(20))
    again = put_chat(client, "again", customerRef="ann", startedAt=at(26), endedAt=at(26))
    rude = put_chat(
        client, "rude", customerRef="bob", startedAt=at(1), endedAt=at(1), messages=RUDE
    )
    unknown = put_chat(client, "unknown", startedAt=at(1), endedAt=at(1))
    an_hour_ago = iso_utc(utc_now() - timedelta(hours=1))
    oldest = "0001-01-01T00:00:00Z"
    first = put_chat(client, "first", customerRef="adam", startedAt=oldest, endedAt=oldest)
    fresh = put_chat(client, "fresh", customerRef="eve", startedAt=an_hour_ago, endedAt=an_hour_ago)
    untimed = [{"role": role, "text": text} for role, text in HELPFUL]
    no_times = put_chat(client, "no-times", customerRef="ida", messages=untimed)
    judge()
    assert told(client, no_times) == told(client, fresh)
    assert told(client, alone) == (1, None)
    assert told(client, first) == (1, None)
    assert told(client, later) == (0, None)
    assert told(client, again) == (0, None)
    assert told(client, rude) == (0, None)
    assert told(client, unknown) == (None, "The conversation has no customerRef.")
    assert told(client, fresh) == (None, "Seven days have not passed since the conversation.")
