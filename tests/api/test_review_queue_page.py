"""The queue of reviews: what its tabs hold, and what opening an evaluation does."""

import re
from datetime import timedelta

from app.core.clock import utc_now
from app.core.ids import new_id
from app.core.runtime import Runtime
from tests.caller import Caller
from tests.contacts import get, judge, put_chat
from tests.evaluation_rows import rows_of
from tests.visitor import signed_in


def tabs_of(page: str) -> dict[str, int]:
    found = re.findall(r"<a href=\"/review\?[^>]*>([\w-]+) <strong>([\d,]+)</strong>", page)
    return {text: int(count) for text, count in found}


def ids_of(page: str) -> list[str]:
    return re.findall(r'<td><a href="/evaluations/(eval_\w+)"', page)


def test_each_tab_holds_its_own(base: str, runtime: Runtime) -> None:
    yesterday = utc_now() - timedelta(days=2)
    ann, tom = new_id("exec"), new_id("exec")
    judged = {"score": 60, "passed": True, "created_at": yesterday}
    ids = rows_of(
        runtime,
        {**judged, "review_status": "disputed", "created_at": yesterday - timedelta(days=200)},
        {**judged, "review_status": "requested"},
        {**judged, "auto_failed": True, "executive_id": ann},
        {**judged, "executive_id": ann, "created_at": yesterday - timedelta(hours=1)},
        {**judged, "executive_id": tom, "created_at": yesterday - timedelta(hours=2)},
        {**judged, "review_status": "reviewed"},
        {**judged, "created_at": utc_now()},
    )
    visitor = signed_in(base, runtime, "reviewer")
    page = visitor.get("/review").text
    assert tabs_of(page) == {"Disputes": 1, "Auto-fails": 1, "Requested": 1, "Sample": 3}
    assert ids_of(page) == [ids[0]]
    assert ids_of(visitor.get("/review?tab=requested").text) == [ids[1]]
    assert ids_of(visitor.get("/review?tab=auto-fails").text) == [ids[2]]
    # Each executive gets a share before anybody gets a second one; today's wait for tomorrow.
    assert ids_of(visitor.get("/review?tab=sample").text) == [ids[2], ids[4], ids[3]]
    listed = re.search(r'<a href="([^"]+)">As a list', page)
    assert listed
    assert ids[0] in visitor.get(listed[1].replace("&amp;", "&")).text


def test_opening_sets_in_review(client: Caller, base: str, runtime: Runtime) -> None:
    chat = put_chat(client)["evaluationId"]
    judge()
    visitor = signed_in(base, runtime, "reviewer")
    visitor.get("/review?tab=sample")
    for _ in range(2):
        answer = visitor.post(f"/review/{chat}")
        assert (answer.status_code, answer.headers["Location"]) == (303, f"/evaluations/{chat}")
    assert get(client, f"/evaluations/{chat}")["reviewStatus"] == "in_review"
    assert len(get(client, f"/evaluations/{chat}/reviews")) == 1
    assert tabs_of(visitor.get("/review").text)["Requested"] == 1
    assert "No dispute is open." in visitor.get("/review?tab=disputes").text


def test_a_viewer_has_no_queue(base: str, runtime: Runtime) -> None:
    visitor = signed_in(base, runtime, "viewer")
    assert visitor.get("/review").status_code == 403
    assert "/review" not in visitor.get("/evaluations").text
