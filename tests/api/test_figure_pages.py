"""Pages with figures: they say what the API says, and every number leads to what it counts."""

import random
import re
from datetime import timedelta
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest
from sqlalchemy import insert

from app.core.clock import iso_utc
from app.core.runtime import Runtime
from app.evaluations.models import EvaluationTopic
from tests.analytics_world import NOW, World
from tests.caller import Caller
from tests.conftest import SharedService
from tests.visitor import Visitor, signed_in

PERIOD = {"from": iso_utc(NOW - timedelta(days=40)), "to": iso_utc(NOW)}
QUERY = "&".join(f"{name}={text}" for name, text in PERIOD.items())


@pytest.fixture(scope="module")
def world(module_service: SharedService) -> World:
    """400 random evaluations."""
    return World(module_service.runtime, seed=4, number=400)


@pytest.fixture(scope="module")
def figures(module_service: SharedService, world: World) -> SharedService:
    """A service with these evaluations."""
    topics = [
        {"evaluation_id": row["id"], "topic": topic}
        for row in world.rows
        for topic in row["topics"]
    ]
    with module_service.runtime.db.writing() as session:
        session.execute(insert(EvaluationTopic), topics)
    return module_service


@pytest.fixture(scope="module")
def visitor(figures: SharedService) -> Visitor:
    """A viewer of these figures."""
    return signed_in(figures.base, figures.runtime, "viewer")


@pytest.fixture
def client(figures: SharedService) -> Caller:
    return figures.client


def table_of(page: str, title: str) -> list[list[tuple[str, str]]]:
    """Return the rows of the table under a chart, each cell as its text and its link."""
    match = re.search(
        rf"<summary>Numbers of {title}</summary>.*?<tbody>(.*?)</tbody>", page, re.DOTALL
    )
    assert match, title
    rows = re.findall(r"<tr>(.*?)</tr>", match[1], re.DOTALL)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]
    return [[(re.sub(r"<.*?>", "", cell), link_in(cell)) for cell in row] for row in cells]


def link_in(cell: str) -> str:
    match = re.search(r'href="([^"]+)"', cell)
    return unescape(match[1]) if match else ""


def counted(visitor: Visitor, link: str) -> int:
    """Return how many evaluations the list behind a link has."""
    answer = visitor.get(link)
    assert answer.status_code == 200, link
    match = re.search(r'<h1>Evaluations <span class="muted">([\d,]+)', answer.text)
    assert match
    return int(match[1].replace(",", ""))


def figures_of(page: str) -> dict[str, tuple[str, str]]:
    """Return the text and the link of each headline figure."""
    matches = re.findall(r'<dt class="muted">(.*?)</dt>\s*<dd>(.*?)(?:<small|</dd>)', page)
    return {label: (re.sub(r"<.*?>", "", cell), link_in(cell)) for label, cell in matches}


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
    assert len(points) > 5
    assert sum(int(text) for text, _ in points) == scored
    for text, link in [*bars, *points[:3], points[-1]]:
        assert counted(visitor, link) == int(text), link


def test_weak_criteria_lead_to_their_lowest_conversations(world: World, visitor: Visitor) -> None:
    def lowest(path: str, executive_id: str = "") -> None:
        page = visitor.get(f"{path}?{QUERY}").text
        links = re.findall(r'href="/evaluations/(eval_\w+)#criterion-(\w+)"[^>]*>(\d+)<', page)
        assert links
        filters = {"executiveId": executive_id} if executive_id else {}
        rows = world.chosen(NOW - timedelta(days=40), NOW, filters)
        for key in {key for _, key, _ in links}:
            scores = {
                row["id"]: 100 * criterion["normalizedScore"]
                for row in rows
                if row["status"] == "completed"
                for criterion in row["document"]["criteria"]
                if criterion["key"] == key and criterion["normalizedScore"] is not None
            }
            shown = [scores[evaluation_id] for evaluation_id, of, _ in links if of == key]
            assert shown == pytest.approx(sorted(scores.values())[:3])
            assert [f"{score:.0f}" for score in shown] == [
                text for _, of, text in links if of == key
            ]

    executive_id = world.ids["executive"][0]
    lowest("/")
    lowest(f"/executives/{executive_id}", executive_id)
    world.write_parts()
    lowest("/")


def test_the_dates_of_a_period_of_days_can_be_kept(visitor: Visitor) -> None:
    for path in ("/", "/evaluations", "/trends"):
        page = visitor.get(f"{path}?days=365&channel=chat").text
        match = re.search(r'href="([^"]+)">Keep these dates<', page)
        assert match
        kept = unescape(match[1])
        assert kept.startswith(f"{path}?")
        assert ("days=" in kept, "channel=chat" in kept) == (False, True)
        assert "Keep these dates" not in visitor.get(kept).text
        if path == "/evaluations":
            assert counted(visitor, kept) == counted(visitor, "/evaluations?days=365&channel=chat")


def test_without_a_period_before_nothing_is_said_about_changes(visitor: Visitor) -> None:
    year = urlencode({**PERIOD, "from": iso_utc(NOW - timedelta(days=390))})
    page = visitor.get(f"/?{year}").text
    assert "Agents who moved" not in page
    assert "A change in grey" not in page
    assert "A change in grey" in visitor.get(f"/?{QUERY}").text


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


def test_alerts_lead_to_what_they_count(visitor: Visitor, figures: SharedService) -> None:
    page = visitor.get(f"/?{QUERY}").text
    match = re.search(r'<a href="([^"]+)">(\d+) auto-fails not reviewed', page)
    assert match
    assert counted(visitor, unescape(match[1])) == int(match[2])
    assert "<li>The worker does not answer" in page
    admin = signed_in(figures.base, figures.runtime, "admin")
    assert '<a href="/system">The worker does not answer' in admin.get("/").text


def test_a_bad_filter_of_figures_is_told(visitor: Visitor) -> None:
    for query, field in (("executiveId=Tom", "executiveId"), ("from=2020-01-01", "to")):
        answer = visitor.get(f"/?{query}")
        assert (answer.status_code, field in answer.text) == (422, True)
    answer = visitor.get("/trends?metric=talkRatio&groupBy=section")
    assert (answer.status_code, "groupBy-problem" in answer.text) == (422, True)


def test_an_empty_period_says_what_to_do(base: str, runtime: Runtime) -> None:
    page = signed_in(base, runtime, "viewer").get("/").text
    assert "Nothing was judged in this period." in page


def rows_of_board(page: str) -> list[tuple[str, str, str, str]]:
    """Return rank, id, count and the link of the count for each row of a leaderboard."""
    return [
        (rank, key, count, unescape(link))
        for key, rank, link, count in re.findall(
            r'value="(exec_\w+)" aria-label.*?<td class="number"[^>]*>(\S+)</td>.*?'
            r'<td class="number"[^>]*><a href="([^"]+)">([\d,]+)</a>',
            page,
            re.DOTALL,
        )
    ]


def test_executives_are_ranked_as_the_api_ranks_them(client: Caller, visitor: Visitor) -> None:
    page = visitor.get(f"/executives?{QUERY}").text
    members = client.get("/analytics/executives", params=PERIOD).json()["data"]
    shown = {key: (rank, int(count)) for rank, key, count, _ in rows_of_board(page)}
    assert shown == {
        member["id"]: (str(member["rank"] or "–"), member["evaluations"] - member["withoutVerdict"])
        for member in members
    }
    people, bots = page.index(">People</h2>"), page.index(">Bots</h2>")
    for member in members:
        is_bot = page.index(f'value="{member["id"]}"') > bots
        assert is_bot is (member["kind"] == "bot")
        assert f">{member['meanScore']:.1f} <" in page
        assert f">{member['adjustedScore']:.1f} adjusted<" in page
    assert people < bots
    for _, _, count, link in rows_of_board(page):
        assert counted(visitor, link) == int(count)


def test_agents_have_a_table_for_each_call_centre_and_are_filtered_by_it(
    client: Caller, visitor: Visitor
) -> None:
    center = client.call("PUT", "/imports/call-centers/north", {"name": "North"}).json()["data"]
    own = {"name": "E0", "callCenterId": center["id"]}
    agent = client.call("PUT", "/imports/executives/0", own).json()["data"]
    page = visitor.get(f"/executives?{QUERY}&group=callCenter").text
    ungrouped = rows_of_board(visitor.get(f"/executives?{QUERY}").text)
    assert sorted(rows_of_board(page)) == sorted(ungrouped)
    north, others = page.index(">North</h2>"), page.index(">No call centre</h2>")
    assert sorted((north, others)) < [page.index(">Bots</h2>")]
    of_north = page[north : others if others > north else page.index(">Bots</h2>")]
    assert [key for _, key, _, _ in rows_of_board(of_north)] == [agent["id"]]
    chosen = client.get("/evaluations", params=PERIOD).json()["data"][0]["callCenterId"]
    params = {**PERIOD, "callCenterId": chosen}
    filtered = rows_of_board(visitor.get(f"/executives?{QUERY}&callCenterId={chosen}").text)
    members = client.get("/analytics/executives", params=params).json()["data"]
    assert {key for _, key, _, _ in filtered} == {member["id"] for member in members}
    assert 'id="callCenterId"' in page
    assert 'id="callCenterId"' not in visitor.get(f"/call-centers?{QUERY}").text


def test_a_board_is_searched_by_name_and_begins_with_the_lowest(
    client: Caller, visitor: Visitor
) -> None:
    page = visitor.get(f"/executives?{QUERY}&sort=-rank").text
    members = client.get("/analytics/executives", params={**PERIOD, "sort": "-rank"}).json()["data"]
    people = [member["id"] for member in members if member["kind"] == "human"]
    assert [key for _, key, _, _ in rows_of_board(page)][: len(people)] == people
    assert "Highest first" in page
    assert 'aria-sort="descending"' in page
    name = members[0]["name"]
    found = rows_of_board(visitor.get(f"/executives?{QUERY}&name={name.upper()}").text)
    assert members[0]["id"] in {key for _, key, _, _ in found}
    assert len(found) < len(members)
    assert "No name of this period contains" in visitor.get(f"/executives?{QUERY}&name=zzz").text


def test_the_overview_names_who_needs_help_and_the_worst_and_best(
    client: Caller, visitor: Visitor
) -> None:
    page = visitor.get(f"/?{QUERY}").text
    params = {**PERIOD, "minEvaluations": 5, "sort": "-rank"}
    members = client.get("/analytics/executives", params=params).json()["data"]
    ranked = [member for member in members if member["rank"] and member["kind"] == "human"]
    shown = page.partition("Who needs help")[2].partition("</section>")[0]
    assert re.findall(r'href="/executives/(exec_\w+)', shown) == [
        member["id"] for member in sorted(ranked, key=lambda one: one["adjustedScore"])[:3]
    ]
    ends = re.findall(r'<a href="/evaluations/(eval_\w+)">(\d+) of 100</a>', page)
    found = {"hasVerdict": "true", "status": "completed", **PERIOD}
    for (key, score), sort in zip(ends, ("score", "-score"), strict=True):
        listed = client.get("/evaluations", params={**found, "sort": sort}).json()["data"]
        assert int(score) == listed[0]["score"]
        assert client.get(f"/evaluations/{key}").json()["data"]["score"] == int(score)


def test_few_evaluations_have_no_rank(visitor: Visitor) -> None:
    page = visitor.get(f"/executives?{QUERY}&minEvaluations=1000000").text
    board = rows_of_board(page)
    assert board
    assert {rank for rank, *_ in board} == {"–"}
    assert page.count("more for a rank") == len(board)
    assert '<tbody class="unranked">' in page


def test_other_leaderboards_say_what_the_api_says(client: Caller, visitor: Visitor) -> None:
    for path in ("/campaigns", "/call-centers"):
        page = visitor.get(f"{path}?{QUERY}").text
        members = client.get(f"/analytics{path}", params=PERIOD).json()["data"]
        assert len(members) == 4
        for member in members:
            assert f">{member['meanScore']:.1f} <" in page
            assert f">{member['adjustedScore']:.1f} adjusted<" in page
            link = re.search(rf'<th scope="row"><a href="([^"]+)">{member["name"]}</a>', page)
            assert link
            overview = visitor.get(unescape(link[1])).text
            assert figures_of(overview)["Score"][0] == f"{member['meanScore']:.1f}"


def test_a_page_behind_the_end_of_a_leaderboard_leads_to_the_first(visitor: Visitor) -> None:
    page = visitor.get(f"/campaigns?{QUERY}&page=7").text
    assert "The list has only 1 page." in page
    assert "Nothing was judged" not in page
    assert f'href="/campaigns?{QUERY.replace("&", "&amp;").replace(":", "%3A")}&amp;page=1"' in page


def test_one_executive_has_figures_of_their_own(client: Caller, visitor: Visitor) -> None:
    member = client.get("/analytics/executives", params=PERIOD).json()["data"][0]
    page = visitor.get(f"/executives/{member['id']}?{QUERY}").text
    assert figures_of(page)["Score"][0] == f"{member['meanScore']:.1f}"
    points = [row[2] for row in table_of(page, "score over time") if row[2][1]]
    assert counted(visitor, points[0][1]) == int(points[0][0])
    assert len(re.findall(r'<a href="/evaluations/eval_\w+">', page)) == 3
    missing = visitor.get("/executives/exec_01k9zq2x8ha4j6k0m3p5q7stvw")
    assert missing.status_code == 404


def test_only_clear_differences_are_called_such(client: Caller, visitor: Visitor) -> None:
    members = client.get("/analytics/executives", params=PERIOD).json()["data"]
    first, second = members[:2]
    ids = f"executiveId={first['id']}&executiveId={second['id']}"
    page = visitor.get(f"/compare?{QUERY}&{ids}").text
    table = table_of(page, "mean scores")
    assert [row[1][0] for row in table] == [f"{each['meanScore']:.1f}" for each in (first, second)]
    for row in table:
        assert counted(visitor, row[3][1]) == int(row[3][0])
    error = (
        1.96
        * sum(
            each["stdev"] ** 2 / (each["evaluations"] - each["withoutVerdict"] - 1)
            for each in (first, second)
        )
        ** 0.5
    )
    differs = abs(first["meanScore"] - second["meanScore"]) > error
    assert ("no clear difference" in page) is not differs
    one = visitor.get(f"/compare?{QUERY}&executiveId={first['id']}")
    assert (one.status_code, "Mark 2 to 4 agents" in one.text) == (422, True)


TRENDS = (
    {"metric": "score"},
    {"metric": "passRate", "groupBy": "channel", "granularity": "week"},
    {"metric": "autoFailRate", "groupBy": "executive", "granularity": "month"},
    {"metric": "evaluations", "groupBy": "topic", "granularity": "month"},
    {"metric": "score", "groupBy": "campaign", "granularity": "month"},
    {"metric": "talkRatio", "granularity": "week"},
    {"metric": "score", "groupBy": "section", "granularity": "month"},
)


def test_a_trend_says_what_the_api_says_and_its_points_lead_to_their_evaluations(
    client: Caller, visitor: Visitor
) -> None:
    for query in TRENDS:
        asked = "&".join(f"{name}={text}" for name, text in query.items())
        page = visitor.get(f"/trends?{QUERY}&{asked}").text
        trend = client.get("/analytics/trends", params={**PERIOD, **query}).json()["data"]
        heading = re.search(r'id="chart-title">(.*?)</h2>', page)
        assert heading
        rows = table_of(page, heading[1].lower())
        counts = [[int(cell[0]) for cell in row[2::2]] for row in rows]
        assert counts == [
            [series["points"][step]["count"] for series in trend["series"]]
            for step in range(len(trend["series"][0]["points"]))
        ], query
        linked = [cell for row in rows for cell in row[2::2] if cell[1]]
        has_links = query["metric"] != "talkRatio" and query.get("groupBy") != "section"
        assert bool(linked) is has_links, query
        for text, link in linked[:2]:
            assert counted(visitor, link) == int(text), link


def test_topics_are_counted_as_the_api_counts_them(client: Caller, visitor: Visitor) -> None:
    page = visitor.get(f"/topics?{QUERY}").text
    summary = client.get("/analytics/summary", params=PERIOD).json()["data"]
    matches = re.findall(
        r'<th scope="row">(\w+)</th><td class="number"><a href="([^"]+)">(\d+)', page
    )
    assert {topic: int(count) for topic, _, count in matches} == {
        topic["topic"]: topic["count"] for topic in summary["topTopics"]
    }
    for _, link, count in matches:
        assert counted(visitor, unescape(link)) == int(count)


class RareTopic(World):
    """Three evaluations about refunds; before them three about 30 topics, one of which is about refunds, too."""

    def __init__(self, runtime: Runtime) -> None:
        self.topics = [["refund"]] * 3 + [[f"t{number}" for number in range(30)]] * 3
        self.topics[-1] = [*self.topics[-1], "refund"]
        super().__init__(runtime, seed=1, number=len(self.topics))

    def _row(self, dice: random.Random) -> dict[str, Any]:
        topics = self.topics.pop(0)
        moment = NOW - timedelta(days=2 if topics == ["refund"] else 60)
        judged = {"status": "completed", "is_current": True, "score": 50, "passed": True}
        moments = {"conversation_at": moment, "completed_at": moment}
        return {**super()._row(dice), **judged, **moments, "topics": topics}


def test_a_topic_that_was_rare_before_changes_by_the_difference(
    base: str, runtime: Runtime
) -> None:
    RareTopic(runtime)
    page = signed_in(base, runtime, "viewer").get(f"/topics?{QUERY}").text
    row = re.search(r'<th scope="row">refund</th>(.*?)</tr>', page, re.DOTALL)
    assert row
    cells = [
        re.sub(r"<.*?>", "", cell) for cell in re.findall(r'<td class="number">.*?</td>', row[1])
    ]
    assert cells[:3] == ["3", "+2", "50.0"]


def test_filters_stay_from_page_to_page(visitor: Visitor) -> None:
    page = visitor.get("/?days=7&channel=chat&notice=saved").text
    for path in ("/evaluations", "/executives", "/trends", "/topics"):
        assert f'href="{path}?days=7&amp;channel=chat"' in page
    assert 'href="/settings"' in page
    ticked = visitor.get("/evaluations?channel=chat&channel=voice").text
    assert 'href="/executives?channel=chat%2Cvoice"' in ticked


def test_every_page_with_figures_shows_the_filters_that_it_keeps(
    client: Caller, visitor: Visitor
) -> None:
    scorecard = client.get("/scorecards").json()["data"][0]
    filters = f"channel=chat&scorecardId={scorecard['id']}"
    for path in ("/", "/executives", "/campaigns", "/trends", "/topics"):
        page = visitor.get(f"{path}?{QUERY}&{filters}").text
        chips = re.findall(r'<a class="chip" href="([^"]+)" aria-label="(.*?), remove"', page)
        assert [text for _, text in chips] == ["Channel: Chat", f"Scorecard: {scorecard['name']}"]
        without_channel = urlencode({**PERIOD, "scorecardId": scorecard["id"]})
        assert unescape(chips[0][0]) == f"{path}?{without_channel}"
    member = client.get("/analytics/executives", params=PERIOD).json()["data"][0]
    board = visitor.get(f"/executives?{QUERY}&channel=chat,voice,voice_bot").text
    (link,) = re.findall(rf'href="(/executives/{member["id"]}[^"]*)"', board)
    person = visitor.get(unescape(link)).text
    assert figures_of(person)["Score"][0] == f"{member['meanScore']:.1f}"
    assert person.count(", remove") == 1
