"""A scorecard and a conversation made to be slow: other evaluations go on in the same worker."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.caller import Caller
from tests.own_scorecards import create, says
from tests.waiting import wait_until
from tests.walks.service_process import ServiceProcess

pytestmark = pytest.mark.long


@pytest.fixture
def client(data_dir: Path) -> Iterator[Caller]:
    service = ServiceProcess(data_dir, CQE_EVALUATION_CPU_SECONDS="0.3")
    yield service.wait_ready().caller()
    service.end()


def criteria(number: int) -> list[dict[str, Any]]:
    """Criteria whose phrases all begin like everything that is said."""
    return [
        says(
            f"own.c{each}",
            *(f"a a a a b{each}x{place}" for place in range(20)),
            weight=100 / number,
        )
        for each in range(number)
    ]


HOSTILE = [{"role": role, "text": "a " * 400} for role in ("customer", "agent")] * 500
PLAIN = [
    {"role": "agent", "text": "Hello, this is Ana from the shop, how may I help you today?"},
    {"role": "customer", "text": "My parcel has not arrived yet, can you please look for it?"},
    {"role": "agent", "text": "I am sorry to hear that. It has been found and comes tomorrow."},
    {"role": "customer", "text": "Great, thank you very much for your help. Goodbye."},
]


def judged(client: Caller, key: str, messages: list[dict[str, str]], **fields: Any) -> None:
    """Import a chat, judged by a scorecard where one is named."""
    items = [{"externalId": key, "messages": messages}]
    answer = client.post("/imports", {"items": items, **fields})
    assert answer.status_code == 202, answer.text


def evaluations(client: Caller) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get("/evaluations?sort=createdAt").json()["data"]
    return found


def test_an_evaluation_that_takes_too_long_fails_and_the_next_one_starts(client: Caller) -> None:
    hostile = create(client, *criteria(100))
    judged(client, "hostile", HOSTILE, scorecardId=hostile["id"])
    judged(client, "bystander", PLAIN)
    wait_until(lambda: {each["status"] for each in evaluations(client)} == {"failed", "completed"})
    [failed] = [each for each in evaluations(client) if each["status"] == "failed"]
    assert failed["error"] == {
        "code": "INTERNAL",
        "message": "This evaluation needs more than 0.3 s of processor time. "
        "Use a scorecard with fewer criteria and phrases.",
    }
