"""Idempotency-Key: one effect, the same answer, no secret in plain text."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from sqlalchemy import select

from app.core.clock import utc_now
from app.core.database.idempotency import StoredAnswerRow
from app.core.runtime import Runtime
from tests.caller import Caller, error_code

pytestmark = pytest.mark.sql

BODY = {"name": "A", "type": "qa"}


def test_the_same_request_gets_the_same_answer_once(client: Caller) -> None:
    headers = {"Idempotency-Key": "one"}
    first = client.post("/engagements", BODY, headers=headers)
    again = client.post("/engagements", BODY, headers=headers)
    assert first.status_code == again.status_code == 201
    assert again.content == first.content
    assert again.headers["ETag"] == first.headers["ETag"]
    assert again.headers["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["X-Request-Id"] != first.headers["X-Request-Id"]
    assert client.get("/engagements").json()["totalCount"] == 1


def test_the_quoted_form_is_the_same_key(client: Caller) -> None:
    first = client.post("/engagements", BODY, headers={"Idempotency-Key": "q"})
    again = client.post("/engagements", BODY, headers={"Idempotency-Key": '"q"'})
    assert again.content == first.content


def test_another_request_under_the_key_is_refused(client: Caller) -> None:
    headers = {"Idempotency-Key": "two"}
    client.post("/engagements", BODY, headers=headers)
    for path, body in (("/engagements", {**BODY, "name": "B"}), ("/engagements?x=1", BODY)):
        answer = client.post(path, body, headers=headers)
        assert answer.status_code == 422
        assert error_code(answer) == "IDEMPOTENCY_KEY_REUSED"


def test_keys_of_two_callers_do_not_meet(
    client: Caller, base: str, make_caller: Callable[..., Caller]
) -> None:
    other = make_caller(base)
    headers = {"Idempotency-Key": "three"}
    first = client.post("/engagements", BODY, headers=headers).json()["data"]["id"]
    second = other.post("/engagements", BODY, headers=headers).json()["data"]["id"]
    assert first != second


def test_a_failed_request_may_be_mended_under_its_key(client: Caller) -> None:
    headers = {"Idempotency-Key": "four"}
    assert client.post("/engagements", {"name": "A"}, headers=headers).status_code == 422
    assert client.post("/engagements", BODY, headers=headers).status_code == 201


def test_twins_at_the_same_moment_make_one(client: Caller) -> None:
    def post(_: int) -> Any:
        twin = Caller(client.base, client.api_key, client.secret)
        try:
            return twin.post("/engagements", BODY, headers={"Idempotency-Key": "five"})
        finally:
            twin.close()

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(post, range(8)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.content for answer in answers}) == 1
    assert client.get("/engagements").json()["totalCount"] == 1


def test_kept_answers_are_sealed(client: Caller, runtime: Runtime) -> None:
    body = {"name": "x", "scopes": ["usage:read"]}
    made = client.post("/api-keys", body, headers={"Idempotency-Key": "six"}).json()["data"]
    again = client.post("/api-keys", body, headers={"Idempotency-Key": "six"}).json()["data"]
    assert again == made
    with runtime.db.reading() as session:
        kept = session.scalars(select(StoredAnswerRow.answer)).one()
    assert kept is not None
    assert made["secret"] not in kept
    assert kept.startswith(f"v1.{runtime.keyring.current_id}.")


def test_after_a_day_the_key_is_free(client: Caller) -> None:
    headers = {"Idempotency-Key": "seven"}
    first = client.post("/engagements", BODY, headers=headers).json()["data"]["id"]
    later = utc_now() + timedelta(hours=24, seconds=1)
    with time_machine.travel(later):
        second = client.post("/engagements", BODY, headers=headers).json()["data"]["id"]
    assert second != first
