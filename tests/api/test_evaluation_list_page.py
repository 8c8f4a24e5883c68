"""The page with the list of evaluations: filters, chips, pages, saved views, marked rows."""

import re
from collections.abc import Callable
from html import unescape
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest

from app.core.ids import new_id
from app.core.runtime import Runtime
from tests.caller import Caller
from tests.contacts import get, judge, put_chat
from tests.evaluation_rows import rows_of
from tests.visitor import Visitor


def texts(page: str, pattern: str) -> list[str]:
    return [unescape(found) for found in re.findall(pattern, page)]


def links(page: str) -> list[str]:
    return texts(page, r'<a href="(/evaluations/eval_[^"]+)"')


def total(page: str) -> int:
    (found,) = texts(page, r'<h1>Evaluations <span class="muted">([\d,]+)')
    return int(found.replace(",", ""))


def test_the_list_has_what_the_api_lists(runtime: Runtime, visit: Callable[[str], Visitor]) -> None:
    ids = rows_of(
        runtime,
        {"score": 80, "passed": True, "band": "meets", "executive": "Tom Hale"},
        {"score": 31, "passed": None},
        {"status": "failed", "error": {"code": "EMPTY_TRANSCRIPT", "message": "No words."}},
        {"status": "evaluating", "channel": "voice"},
    )
    page = visit("viewer").get("/evaluations?days=all").text
    assert total(page) == 4
    assert [re.findall("eval_[0-9a-z]{26}", link)[0] for link in links(page)] == ids
    for text in ("Tom Hale", "Meets", "no verdict", "Nothing was said", "Being judged"):
        assert text in page


def test_a_row_knows_its_place_and_leads_to_its_neighbour(
    runtime: Runtime, visit: Callable[[str], Visitor]
) -> None:
    ids = rows_of(runtime, *({"score": score} for score in (10, 50, 30)))
    visitor = visit("viewer")
    page = visitor.get("/evaluations?days=all&sort=score&pageSize=2&page=2").text
    (last,) = links(page)
    query = {name: values[0] for name, values in parse_qs(urlsplit(last).query).items()}
    assert query["at"] == "2"
    assert last.startswith(f"/evaluations/{ids[1]}?")
    neighbour = visitor.get(f"/evaluations/at?{urlsplit(last).query.replace('at=2', 'at=1')}")
    assert neighbour.headers["Location"].startswith(f"/evaluations/{ids[2]}?")
    behind = visitor.get("/evaluations/at?in=days%3Dall&at=3")
    assert behind.headers["Location"] == "/evaluations?days=all"
    assert visitor.get("/evaluations/at?in=&at=-1").status_code == 404


def test_an_id_in_the_search_leads_to_its_evaluation(visit: Callable[[str], Visitor]) -> None:
    evaluation = new_id("eval")
    answer = visit("viewer").get(f"/evaluations?q={evaluation}&days=all")
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/evaluations/{evaluation}")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("minScore", "abc"),
        ("maxScore", "101"),
        ("executiveId", "Tom"),
        ("channel", "fax"),
        ("from", "yesterday"),
        ("sort", "name"),
    ],
)
def test_a_bad_filter_has_the_message_of_the_api_at_its_field(
    client: Caller, visit: Callable[[str], Visitor], name: str, value: str
) -> None:
    answer = visit("viewer").get(f"/evaluations?{name}={value}")
    assert answer.status_code == 422
    details = client.get("/evaluations", params={name: value}).json()["error"]["details"]
    (problem,) = texts(answer.text, rf'id="{name}-problem">([^<]+)')
    assert [problem] == [detail["message"] for detail in details]


def test_heads_of_columns_sort_and_rows_name_their_subject(
    runtime: Runtime, visit: Callable[[str], Visitor]
) -> None:
    summary = {"overview": None, "issue": "The parcel is lost.", "outcome": None, "actionItems": []}
    low, high = rows_of(runtime, {"score": 20, "summary": summary}, {"score": 90})
    visitor = visit("viewer")
    page = visitor.get("/evaluations?days=all&channel=chat").text
    assert "The parcel is lost." in page
    first = re.search(r'<a href="([^"]+)">Score</a>', page)
    assert first
    assert "channel=chat" in first[1]
    lowest = visitor.get(unescape(first[1])).text
    assert [low in link for link in links(lowest)] == [True, False]
    assert '<th scope="col" aria-sort="ascending">' in lowest
    again = re.search(r'<a href="([^"]+)">Score <span', lowest)
    assert again
    assert [high in link for link in links(visitor.get(unescape(again[1])).text)] == [True, False]


def test_filters_become_chips_that_remove_them(
    runtime: Runtime, visit: Callable[[str], Visitor]
) -> None:
    rows_of(runtime, {"score": 90}, {"score": 20}, {"score": 85, "channel": "voice"})
    visitor = visit("viewer")
    page = visitor.get("/evaluations?days=all&minScore=80&channel=chat&channel=voice_bot").text
    assert total(page) == 1
    chips = dict(re.findall(r'<a class="chip" href="([^"]+)" aria-label="([^"]+), remove"', page))
    assert set(chips.values()) == {"Score from: 80", "Channel: Chat, Voice bot"}
    without_score = next(href for href, text in chips.items() if text.startswith("Score"))
    assert total(visitor.get(unescape(without_score)).text) == 2


def test_an_empty_list_says_what_to_do(runtime: Runtime, visit: Callable[[str], Visitor]) -> None:
    visitor = visit("viewer")
    assert "load the demo" in visitor.get("/evaluations?days=all").text
    rows_of(runtime, {"score": 90})
    assert "Clear all filters" in visitor.get("/evaluations?days=all&maxScore=5").text
    beyond = visitor.get("/evaluations?days=all&page=9").text
    assert "The list has only 1 page." in beyond
    assert "Go to the first page" in beyond
    # The button next to it keeps the period.
    assert '<option value="all" selected>all time' in beyond
    assert (
        "Page size: This must be between 1 and 100."
        in visitor.get("/evaluations?pageSize=500").text
    )


def save(visitor: Visitor, name: str, query: str, **options: str) -> Any:
    visitor.get("/evaluations")
    return visitor.post("/evaluations/views", {"name": name, "query": query, **options})


def test_a_shared_view_is_there_for_others_with_its_count(
    runtime: Runtime, visit: Callable[[str], Visitor]
) -> None:
    rows_of(runtime, {"score": 90}, {"score": 20})
    nora, tom = visit("lead"), visit("viewer")
    query = "days=all&minScore=80"
    saved = save(nora, "Very good", query, isShared="true", isPinned="true")
    assert saved.status_code == 303
    assert saved.headers["Location"] == f"/evaluations?{query}&notice=view-saved"
    assert "The view was saved" in nora.get(saved.headers["Location"]).text
    save(nora, "My own", "days=all")
    seen = tom.get("/evaluations").text
    assert re.search(r"Very good <strong>1</strong> <span class=\"muted\">shared", seen)
    assert "My own" not in seen
    assert "My own" in nora.get("/evaluations").text


def test_a_viewer_shares_no_view(visit: Callable[[str], Visitor]) -> None:
    nora, tom = visit("lead"), visit("viewer")
    assert "Show it to everybody" in nora.get("/evaluations").text
    assert "Show it to everybody" not in tom.get("/evaluations").text
    save(tom, "For all", "minScore=80", isShared="true", isPinned="true")
    assert "For all" in tom.get("/evaluations").text
    assert "For all" not in nora.get("/evaluations").text


def test_views_are_replaced_by_name_and_deleted_by_their_owner_only(
    visit: Callable[[str], Visitor],
) -> None:
    nora, tom = visit("lead"), visit("viewer")
    save(nora, "Mine", "minScore=80", isShared="true")
    save(nora, "Mine", "minScore=90", isShared="true")
    page = nora.get("/evaluations").text
    (path,) = texts(page, r'action="(/evaluations/views/[^"]+/delete)"')
    assert "minScore=90" in page
    assert "minScore=80" not in page
    tom.get("/evaluations")
    assert tom.post(path).status_code == 404
    assert nora.post(path).status_code == 303
    assert "Mine" not in nora.get("/evaluations").text


@pytest.mark.parametrize("name", ["query", "path", "self", "page_filters", "wrong"])
def test_a_filter_that_does_not_exist_does_no_harm(
    visit: Callable[[str], Visitor], name: str
) -> None:
    assert visit("viewer").get(f"/evaluations?{name}=1").status_code == 200


def test_a_view_with_a_bad_filter_is_refused_and_pins_are_limited(
    visit: Callable[[str], Visitor],
) -> None:
    visitor = visit("viewer")
    assert save(visitor, "Bad", "minScore=abc").status_code == 422
    for number in range(5):
        assert save(visitor, f"View {number}", "", isPinned="true").status_code == 303
    assert save(visitor, "One more", "", isPinned="true").status_code == 409
    assert save(visitor, "View 4", "days=all", isPinned="true").status_code == 303


def test_reviews_of_marked_rows_are_requested(
    client: Caller, visit: Callable[[str], Visitor]
) -> None:
    chat = put_chat(client)["evaluationId"]
    judge()
    visitor = visit("reviewer")
    visitor.get("/evaluations")
    for _ in range(2):
        form = {"ids": chat, "query": "days=90&channel=chat"}
        answer = visitor.post("/evaluations/marked/request-review", form)
        assert (
            answer.headers["Location"]
            == "/evaluations?days=90&channel=chat&notice=review-requested"
        )
    assert get(client, f"/evaluations/{chat}")["reviewStatus"] == "requested"
    (review,) = get(client, f"/evaluations/{chat}/reviews")
    assert (review["action"], review["reviewer"]) == ("request", "reviewer")
    assert "Review requested" in visitor.get("/evaluations").text


@pytest.mark.parametrize("form", [{}, {"ids": new_id("conv")}], ids=["none", "no evaluation"])
def test_marked_rows_have_to_be_evaluations(
    visit: Callable[[str], Visitor], form: dict[str, str]
) -> None:
    visitor = visit("reviewer")
    visitor.get("/evaluations")
    assert visitor.post("/evaluations/marked/request-review", form).status_code == 422


@pytest.mark.usefixtures("in_november")
def test_judging_again_counts_first(client: Caller, visit: Callable[[str], Visitor]) -> None:
    chat = put_chat(client)["evaluationId"]
    visitor = visit("reviewer")
    visitor.get("/evaluations")
    nothing = visitor.post("/evaluations/marked/judge-again", {"query": "days=all"})
    assert "No evaluation of this list can be judged again" in nothing.text
    judge()
    for form in ({"ids": chat}, {"query": "days=all&channel=chat"}):
        asked = visitor.post("/evaluations/marked/judge-again", form)
        assert "1 evaluation would be judged again" in asked.text
    assert get(client, "/evaluations?current=false&pageSize=5")[0]["revision"] == 1
    assert visitor.post("/evaluations/judge-again", {"ids": chat}).status_code == 303
    judge()
    assert get(client, "/evaluations")[0]["revision"] == 2
    answer = visitor.post("/evaluations/judge-again", {"query": "channel=chat"})
    assert answer.headers["Location"] == "/evaluations?channel=chat&notice=judged-again"
    judge()
    assert get(client, "/evaluations")[0]["revision"] == 3


def test_marked_rows_or_all_of_the_list_go_to_the_form_of_an_export(
    runtime: Runtime, visit: Callable[[str], Visitor]
) -> None:
    ids = rows_of(runtime, {"score": 90}, {"score": 40}, {"score": 30})
    visitor = visit("reviewer")
    visitor.get("/evaluations?days=all")
    path = "/evaluations/marked/export"
    marked = visitor.post(path, {"ids": ids[1:], "query": "minScore=80"})
    form = visitor.get(marked.headers["Location"]).text
    assert f'name="ids" value="{ids[1]},{ids[2]}"' in form
    assert 'name="minScore" value=""' in form
    listed = visitor.post(path, {"query": "minScore=80&days=30"}).headers["Location"]
    query = dict(parse_qsl(listed.partition("?")[2].partition("#")[0]))
    assert set(query) == {"dataset", "minScore", "from", "to"}
    form = visitor.get(listed).text
    assert 'name="minScore" value="80"' in form
    assert f'name="from" type="text" value="{query["from"]}"' in form
    answer = visitor.post("/exports", {"format": "csv", **query})
    assert answer.headers["Location"] == "/exports?notice=export-requested"
    assert visitor.post(path, {"ids": new_id("conv")}).status_code == 422
    assert visit("viewer").post(path, {"ids": ids[0]}).status_code == 403


def test_a_viewer_has_no_actions(runtime: Runtime, visit: Callable[[str], Visitor]) -> None:
    ids = rows_of(runtime, {"score": 90})
    visitor = visit("viewer")
    page = visitor.get("/evaluations?days=all").text
    assert "Judge again" not in page
    assert ">Export<" not in page
    assert 'type="checkbox" name="ids"' not in page
    assert visitor.post("/evaluations/marked/judge-again", {"ids": ids[0]}).status_code == 403
