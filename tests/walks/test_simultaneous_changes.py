"""Two callers change the same record at the same moment."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from app.api_keys import service as api_keys
from app.core.runtime import Runtime
from app.engagements import service as engagements
from app.scorecards import releases
from app.scorecards.enums import ReleaseRule
from tests import own_scorecards
from tests.caller import Caller, error_code
from tests.waiting import wait_until

pytestmark = pytest.mark.postgresql_only("SQLite has one writer at a time")
_WAITING = text(
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE datname = current_database() AND wait_event_type = 'Lock'"
)


def change_both(
    runtime: Runtime, first: Callable[[Session], object], second: Callable[[], Any]
) -> Any:
    """Commit the first change when the second one waits for it; return what the second returns."""
    with ThreadPoolExecutor(1) as pool:
        with runtime.db.writing() as session:
            first(session)
            session.flush()
            waiting = pool.submit(second)
            with runtime.db.reading_once() as other:
                wait_until(lambda: waiting.done() or other.scalar(_WAITING))
        return waiting.result()


def test_an_engagement(runtime: Runtime, client: Caller) -> None:
    made = client.post("/engagements", {"name": "A", "type": "qa"})
    path, etag = f"/engagements/{made.json()['data']['id']}", made.headers["ETag"]

    def rename(session: Session) -> None:
        engagements.change(session, made.json()["data"]["id"], {"name": "B"})

    def describe(**headers: str) -> Any:
        return client.patch(path, {"description": "C"}, headers=headers)

    assert change_both(runtime, rename, lambda: describe(**{"If-Match": etag})).status_code == 412
    assert change_both(runtime, rename, describe).status_code == 200
    shown = client.get(path).json()["data"]
    assert (shown["name"], shown["description"]) == ("B", "C")


def test_an_api_key(runtime: Runtime, client: Caller) -> None:
    key = client.post("/api-keys", {"name": "A", "scopes": ["evaluations:read"]}).json()["data"]

    def rotate(session: Session) -> None:
        api_keys.rotate_key(session, runtime.keyring, key["id"], grace_period_s=3600, caller=None)

    path = f"/api-keys/{key['id']}"
    renamed = change_both(runtime, rotate, lambda: client.patch(path, {"name": "B"}))
    assert renamed.json()["data"]["name"] == "B"
    rotated = change_both(runtime, rotate, lambda: client.post(f"{path}/rotate", {}))
    assert rotated.status_code == 200


def test_what_both_create(runtime: Runtime, client: Caller) -> None:
    card = own_scorecards.create(client)["id"]

    def release(session: Session) -> None:
        releases.change(session, card, {"rule": ReleaseRule.AFTER_DAYS, "days": 3})

    def put() -> Any:
        return client.call("PUT", f"/scorecards/{card}/release", {"rule": "after_days", "days": 5})

    refused = change_both(runtime, release, put)
    assert (refused.status_code, error_code(refused)) == (409, "CONFLICT")
    assert put().status_code == 200
