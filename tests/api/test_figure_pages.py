"""Pages with figures: they say what the API says, and every number leads to what it counts."""

import re
from datetime import timedelta
from html import unescape

import pytest

from app.core.clock import iso_utc
from app.core.runtime import Runtime
from tests.analytics_world import NOW, World
from tests.caller import Caller
from tests.visitor import Visitor, signed_in

PERIOD = {"from": iso_utc(NOW - timedelta(days=40)), "to": iso_utc(NOW)}
QUERY = "&".join(f"{name}={text}" for name, text in PERIOD.items())


@pytest.fixture
def visitor(base: str, runtime: Runtime) -> Visitor:
    """A viewer of a service with 400 random evaluations."""
    World(runtime, seed=4, number=400)
    return signed_in(base, runtime, "viewer")


def table_of(page: str, title: str) -> list[list[tuple[str, str]]]:
    """Return the rows of the table under a chart, each cell as its text and its link."""
    found = re.search(
        rf"<summary>Numbers of {title}</summary>.*?<tbody>(.*?)</tbody>", page, re.DOTALL
    )
    assert found, title
    rows = re.findall(r"<tr>(.*?)</tr>", found[1], re.DOTALL)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]
    return [[(re.sub(r"<.*?>", "", cell), link_in(cell)) for cell in row] for row in cells]


def link_in(cell: str) -> str:
    found = re.search(r'href="([^"]+)"', cell)
    return unescape(found[1]) if found else ""


def counted(visitor: Visitor, link: str) -> int:
    """Return how many evaluations the list behind a link has."""
    answer = visitor.get(link)
    assert answer.status_code == 200, link
    found = re.search(r'<h1>Evaluations <span class="muted">([\d,]+)', answer.text)
    assert found
    return int(found[1].replace(",", ""))


def figures_of(page: str) -> dict[str, tuple[str, str]]:
    """Return the text and the link of each headline figure."""
    found = re.findall(r'<dt class="muted">(.*?)</dt>\s*<dd>(.*?)(?:<small|</dd>)', page)
    return {label: (re.sub(r"<.*?>", "", cell), link_in(cell)) for label, cell in found}


def test_the_overview_says_what_the_summary_says(client: Caller, visitor: Visitor) -> None:
    page = visitor.get(f"/?{QUERY}").text
    summary = client.get(
        "/analytics/summary", params={**PERIOD, "compare": "previous_period"}
    ).json()["data"]
    figures = figures_of(page)
    score = summary["score"]
    assert figures["Score"][0] == f"{score['mean']:.1f}"
    assert figures["Passed"][0] == f"{100 * score['passRate']:.1f} %"
    assert figures["Auto-fail"][0] == f"{100 * score['autoFailRate']:.1f} %"
    assert figures["Compliance"][0] == f"{score['complianceMean']:.1f}"
    judged = re.search(r'id="figures-title"><a href="([^"]+)">([\d,]+) judged', page)
    assert judged
    assert int(judged[2]) == summary["totals"]["completed"]
    assert counted(visitor, unescape(judged[1])) == summary["totals"]["completed"]
    bars = [int(row[1][0]) for row in table_of(page, "distribution of scores")]
    assert bars == [score_class["count"] for score_class in score["distribution"]]
    weakest = summary["weakestCriteria"][0]
    assert f'<th scope="row">{weakest["title"]}</th>' in page


def test_every_number_of_the_overview_leads_to_its_conversations(visitor: Visitor) -> None:
    page = visitor.get(f"/?{QUERY}").text
    passed = counted(visitor, figures_of(page)["Passed"][1])
    scored = counted(visitor, figures_of(page)["Score"][1])
    assert figures_of(page)["Passed"][0] == f"{100 * passed / scored:.1f} %"
    points = [row[2] for row in table_of(page, "score over time") if row[2][1]]
    bars = [row[1] for row in table_of(page, "distribution of scores")]
    assert len(points) > 10
    assert sum(int(text) for text, _ in points) == scored
    for text, link in [*bars, *points[:3], points[-1]]:
        assert counted(visitor, link) == int(text), link


def test_a_filter_of_the_overview_holds_for_all_its_numbers(
    client: Caller, visitor: Visitor
) -> None:
    page = visitor.get(f"/?{QUERY}&channel=chat,voice").text
    summary = client.get("/analytics/summary", params={**PERIOD, "channel": "chat,voice"}).json()[
        "data"
    ]
    judged = re.search(r'id="figures-title"><a href="([^"]+)">([\d,]+) judged', page)
    assert judged
    assert int(judged[2]) == summary["totals"]["completed"]
    assert counted(visitor, unescape(judged[1])) == int(judged[2])


def test_alerts_lead_to_what_they_count(visitor: Visitor) -> None:
    page = visitor.get(f"/?{QUERY}").text
    found = re.search(r'<a href="([^"]+)">(\d+) auto-fails not reviewed', page)
    assert found
    assert counted(visitor, unescape(found[1])) == int(found[2])
    assert "The worker does not answer" in page


@pytest.mark.parametrize(
    ("query", "problem"),
    [("executiveId=Tom", "executiveId"), ("from=2020-01-01&to=2026-01-01", "to")],
)
def test_a_bad_filter_of_figures_is_told(visitor: Visitor, query: str, problem: str) -> None:
    answer = visitor.get(f"/?{query}")
    assert answer.status_code == 422
    assert problem in answer.text


def test_an_empty_period_says_what_to_do(base: str, runtime: Runtime) -> None:
    page = signed_in(base, runtime, "viewer").get("/").text
    assert "Nothing was judged in this period." in page
