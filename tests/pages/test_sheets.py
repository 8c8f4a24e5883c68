"""Sheets to print, in a browser: their content, and that they fit on two pages of A4."""

import re

from playwright.sync_api import Page, expect

from tests.pages.accessibility import check_accessibility
from tests.pages.conftest import Demo

# The longest advice, and twice as many sections.
_LONGEST = """() => {
    for (const text of document.querySelectorAll(".advice li > p")) text.textContent = "advice ".repeat(74);
    for (const row of document.querySelectorAll(".sheet tbody tr")) row.after(row.cloneNode(true));
}"""


def page_count(page: Page) -> int:
    """Return how many pages the browser prints."""
    return len(re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True)))


def test_the_sheet_of_an_evaluation_prints_on_two_pages_at_most(demo: Demo, page: Page) -> None:
    page.goto(demo.evaluation("demo-chat-rude-agent"))
    score = page.locator(".score b").inner_text()
    page.get_by_role("link", name="Sheet to print").click()
    expect(page.locator(".score b")).to_have_text(score)
    expect(page.get_by_role("region", name="To improve").get_by_role("listitem")).to_have_count(3)
    check_accessibility(page)
    assert 1 <= page_count(page) <= 2
    page.evaluate(_LONGEST)
    assert page_count(page) <= 2


def test_the_sheet_of_an_executive_quotes_conversations(demo: Demo, page: Page) -> None:
    page.goto(demo.evaluation("demo-chat-rude-agent"))
    page.goto("/executives?minEvaluations=1")
    page.get_by_role("region", name="People").locator("th a[href^='/executives/']").last.click()
    figures = page.locator(".figures dd").all_text_contents()
    page.get_by_role("link", name="Sheet to print").click()
    expect(page.locator(".figures dd")).to_have_text(figures)
    expect(page.get_by_role("region", name="Trend").locator("svg.chart")).to_be_visible()
    advice = page.get_by_role("region", name="To improve").get_by_role("listitem")
    expect(advice.first).to_contain_text("conversations, last")
    check_accessibility(page)
    assert 1 <= page_count(page) <= 2
