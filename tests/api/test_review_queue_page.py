"""The queue of reviews: what its tabs hold, and what opening an evaluation does."""

import re
from datetime import timedelta
from urllib.parse import quote

import pytest

from app.core.clock import utc_now
from app.core.ids import new_id
from app.core.runtime import Runtime
from tests.caller import Caller
from tests.contacts import get, judge, put_chat
from tests.evaluation_rows import rows_of
from tests.visitor import signed_in

# The tab Sample of all days, today's as well.
UNREVIEWED = "tab=sample&from=2026-01-01&to=2099-01-01"


def tabs_of(page: str) -> dict[str, int]:
    matches = re.findall(r"<a href=\"/review\?[^>]*>([\w-]+) <strong>([\d,]+)</strong>", page)
    return {text: int(count) for text, count in matches}


def ids_of(page: str) -> list[str]:
    return re.findall(r'<td><a href="/evaluations/(eval_\w+)\?queue=', page)


def place_of(page: str) -> str:
    match = re.search(r'<span class="number">(\d+ of \d+)</span>', page)
    return match[1] if match else ""


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
        {
            **judged,
            "executive_id": tom,
            "created_at": yesterday - timedelta(hours=2),
            "confidence": 0.5,
        },
        {**judged, "review_status": "reviewed"},
        {**judged, "created_at": utc_now(), "confidence": 0.4},
    )
    visitor = signed_in(base, runtime, "reviewer")
    page = visitor.get("/review").text
    assert tabs_of(page) == {
        "Disputes": 1,
        "Auto-fails": 1,
        "Voices": 0,
        "Requested": 1,
        "Unsure": 2,
        "Sample": 3,
        "Mine": 0,
    }
    assert ids_of(page) == [ids[0]]
    assert ids_of(visitor.get("/review?tab=requested").text) == [ids[1]]
    assert ids_of(visitor.get("/review?tab=auto-fails").text) == [ids[2]]
    assert ids_of(visitor.get("/review?tab=unsure").text) == [ids[6], ids[4]]
    # Each executive gets a share before anybody gets a second one; today's wait for tomorrow.
    assert ids_of(visitor.get("/review?tab=sample").text) == [ids[2], ids[4], ids[3]]
    listed = re.search(r'<a href="([^"]+)">As a list', page)
    assert listed
    assert ids[0] in visitor.get(listed[1].replace("&amp;", "&")).text


def test_the_queue_opens_where_something_waits(base: str, runtime: Runtime) -> None:
    [waiting] = rows_of(runtime, {"score": 60, "passed": True, "review_status": "requested"})
    visitor = signed_in(base, runtime, "reviewer")
    page = visitor.get("/review").text
    assert ids_of(page) == [waiting]
    assert re.search(r'aria-current="page">Requested', page)
    assert "No dispute is open." in visitor.get("/review?tab=disputes").text


@pytest.fixture
def chats(client: Caller) -> list[str]:
    """Three judged chats, the newest first."""
    made = [put_chat(client, f"chat-{number}")["evaluationId"] for number in range(3)]
    judge()
    return made[::-1]


def test_opening_sets_in_review_and_the_next_is_one_click_away(
    client: Caller, base: str, runtime: Runtime, chats: list[str]
) -> None:
    visitor = signed_in(base, runtime, "reviewer")
    visitor.get("/review?tab=auto-fails")
    for _ in range(2):
        opened = visitor.post(f"/review/{chats[0]}", {"queue": UNREVIEWED})
        assert opened.status_code == 303
    assert len(get(client, f"/evaluations/{chats[0]}/reviews")) == 1
    assert tabs_of(visitor.get("/review").text)["Requested"] == 1
    assert "No dispute is open." in visitor.get("/review?tab=disputes").text
    page = visitor.get(opened.headers["Location"]).text
    # In review it has left the tab, and keeps its place there.
    assert place_of(page) == "1 of 3"
    assert 'data-keys="p"' not in page
    [save] = re.findall(r'id="review" method="post" action="([^"]+)"', page)
    path = save.replace("&amp;", "&")
    refused = visitor.post(path, {"action": "override", "andNext": "1"})
    assert refused.status_code == 422
    assert place_of(refused.text) == "1 of 3"
    for number, chat in enumerate(chats, 1):
        assert get(client, f"/evaluations/{chat}")["reviewStatus"] == "in_review"
        saved = visitor.post(path, {"action": "confirm", "andNext": "1"})
        assert get(client, f"/evaluations/{chat}")["reviewStatus"] == "reviewed"
        path = saved.headers["Location"].replace("?", "/reviews?")
        if number < len(chats):
            assert saved.headers["Location"].startswith(f"/evaluations/{chats[number]}?queue=")
            assert place_of(visitor.get(saved.headers["Location"]).text) == f"{number + 1} of 3"
    assert saved.headers["Location"].startswith("/review?")
    assert ids_of(visitor.get("/review?tab=mine").text) == chats
    assert place_of(visitor.get(f"/evaluations/{chats[1]}?queue=tab%3Dmine").text) == "2 of 3"
    # What was reviewed is opened again as it is.
    path = f"/evaluations/{chats[0]}/reviews?queue=tab%3Dmine"
    assert visitor.post(path, {"action": "confirm", "andNext": "1"}).status_code == 303
    assert get(client, f"/evaluations/{chats[1]}")["reviewStatus"] == "reviewed"


def test_previous_and_next_walk_along_the_queue(
    base: str, runtime: Runtime, chats: list[str]
) -> None:
    visitor = signed_in(base, runtime, "reviewer")
    page = visitor.get(f"/evaluations/{chats[1]}?queue={quote(UNREVIEWED)}").text
    assert place_of(page) == "2 of 3"
    neighbours = re.findall(r'href="/evaluations/(\w+)\?[^"]+" data-keys="([pn])"', page)
    assert neighbours == [(chats[0], "p"), (chats[2], "n")]


def test_a_dispute_waits_until_it_is_accepted(
    client: Caller, base: str, runtime: Runtime, chats: list[str]
) -> None:
    chat = chats[0]
    before = get(client, f"/evaluations/{chat}")["score"]
    visitor = signed_in(base, runtime, "reviewer")
    visitor.get("/review")
    path = f"/evaluations/{chat}/reviews?queue=tab%3Ddisputes"
    wished = {"reason": "No greeting.", "answer.opening.greeting": "answer:no"}
    assert visitor.post(path, {"action": "dispute", **wished}).status_code == 303
    assert "1 open dispute" in visitor.get("/").text
    queue = visitor.get("/review").text
    assert tabs_of(queue)["Disputes"] == 1
    assert ids_of(queue) == [chat]
    assert visitor.post(f"/review/{chat}", {"queue": "tab=disputes"}).status_code == 303
    shown = get(client, f"/evaluations/{chat}")
    assert (shown["reviewStatus"], shown["score"]) == ("disputed", before)
    accepted = visitor.post(path, {"action": "accept_dispute", "andNext": "1", **wished})
    assert accepted.headers["Location"] == "/review?tab=disputes"
    shown = get(client, f"/evaluations/{chat}")
    assert shown["reviewStatus"] == "dispute_accepted"
    assert shown["score"] < before
    assert "open dispute" not in visitor.get("/").text
    assert tabs_of(visitor.get("/review").text)["Disputes"] == 0
    page = visitor.get(f"/evaluations/{chat}").text
    for line in ("disputed,", "accepted the dispute,", f"{before} → {shown['score']}"):
        assert line in page


def test_a_review_of_the_list_stays_at_its_place(
    base: str, runtime: Runtime, chats: list[str]
) -> None:
    visitor = signed_in(base, runtime, "reviewer")
    visitor.get("/evaluations")
    place = "in=days%3Dall&at=1&of=3"
    saved = visitor.post(f"/evaluations/{chats[1]}/reviews?{place}", {"action": "confirm"})
    page = visitor.get(saved.headers["Location"]).text
    assert "Your review was saved." in page
    assert place_of(page) == "2 of 3"
    assert "Save and next" not in page


def test_a_viewer_has_no_queue(base: str, runtime: Runtime) -> None:
    visitor = signed_in(base, runtime, "viewer")
    assert visitor.get("/review").status_code == 403
    assert "/review" not in visitor.get("/evaluations").text
