"""Overview, list and leaderboards in a browser: linked, filtered, and used by keys alone."""

import re

from playwright.sync_api import Page, expect

from tests.pages.accessibility import check_accessibility
from tests.pages.conftest import Demo


def test_a_bar_and_a_point_open_lists_with_just_their_counts(demo: Demo, page: Page) -> None:
    demo.wait_judged("chat")
    for title in ("Distribution of scores", "Score over time"):
        page.goto("/?channel=chat")
        drawn = page.get_by_role("region", name=title).locator("svg a").last
        count = re.findall(r"(\d+)\)?$", drawn.locator("title").text_content() or "")[0]
        drawn.click()
        expect(page.get_by_role("heading", level=1)).to_have_text(f"Evaluations {count}")


def test_the_crosshair_reads_the_table_of_the_chart(demo: Demo, page: Page) -> None:
    demo.wait_judged("chat")
    page.goto("/")
    figure = page.get_by_role("region", name="Distribution of scores").locator("figure")
    bar = figure.locator("svg a").last
    label = (bar.locator("title").text_content() or "").removeprefix("Score ").split(":")[0]
    bar.locator("rect").hover()
    row = figure.locator("tbody tr").filter(has=page.locator("th", has_text=label))
    count = row.locator("td").text_content()
    expect(figure.locator(".reading")).to_have_text(f"{label}: Evaluations {count}")
    page.get_by_role("heading", level=1).hover()
    expect(figure.locator(".reading")).to_have_text("")


def test_the_list_works_by_keys_alone(demo: Demo, page: Page) -> None:
    demo.wait_judged("chat")
    page.goto("/evaluations?status=completed")
    links = page.locator("[data-row] a")
    page.keyboard.press("j")
    expect(links.nth(0)).to_be_focused()
    page.keyboard.press("j")
    expect(links.nth(1)).to_be_focused()
    page.keyboard.press("x")
    expect(page.get_by_text("1 marked")).to_be_visible()
    page.keyboard.press("k")
    expect(links.nth(0)).to_be_focused()
    page.get_by_role("searchbox").focus()
    page.keyboard.type("jx")
    expect(page.get_by_role("searchbox")).to_have_value("jx")
    expect(page.get_by_text("1 marked")).to_be_visible()
    links.nth(0).click()
    page.go_back()
    expect(page.get_by_text("1 marked")).to_be_visible()
    expect(page.get_by_role("button", name="Request review")).to_be_enabled()


def test_a_filtered_list_reloads_the_same(demo: Demo, page: Page) -> None:
    demo.wait_judged("chat")
    page.goto("/evaluations")
    page.get_by_text("All filters").click()
    page.get_by_label("Score from").fill("80")
    page.get_by_role("group", name="Channel").get_by_label("Chat").check()
    page.locator("details").get_by_role("button", name="Show").click()
    expect(page.get_by_role("link", name="Score from: 80, remove")).to_be_visible()
    heading = page.get_by_role("heading", level=1).text_content()
    rows = page.locator("[data-row]").all_text_contents()
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text(heading or "")
    assert page.locator("[data-row]").all_text_contents() == rows
    assert rows


def test_the_tables_of_the_overview_are_shown_whole(demo: Demo, page: Page) -> None:
    demo.wait_judged("chat")
    for width in (1280, 1024):
        page.set_viewport_size({"width": width, "height": 800})
        page.goto("/?channel=chat")
        assert page.get_by_role("region", name="Weakest criteria").locator("a.chip").count()
        cut = "parts => parts.filter(part => part.scrollWidth > part.clientWidth).length"
        assert page.locator(".card .table").evaluate_all(cut) == 0, width


def test_long_names_leave_the_figures_in_sight(demo: Demo, page: Page) -> None:
    demo.wait_judged("chat")
    for path, width, parts in (
        ("/executives?channel=chat", 1366, "html, .table"),
        ("/trends?groupBy=channel", 390, "html"),
    ):
        page.set_viewport_size({"width": width, "height": 800})
        page.goto(path)
        names = page.locator("th[scope=row] a, .legend li, a.chip")
        assert names.count()
        names.evaluate_all("names => names.forEach(name => name.append('x'.repeat(150)))")
        fits = "parts => parts.every(part => part.scrollWidth <= part.clientWidth)"
        assert page.locator(parts).evaluate_all(fits), path


def test_executives_are_marked_and_compared(demo: Demo, page: Page) -> None:
    demo.wait_judged("chat")
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto("/executives")
    table = page.locator(".table").first
    assert table.evaluate("table => table.scrollWidth - table.clientWidth") == 0
    boxes = page.get_by_role("region", name="People").get_by_role("checkbox")
    boxes.nth(0).check()
    boxes.nth(1).check()
    page.get_by_role("button", name="Compare the marked").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Compare agents")
    check_accessibility(page)
