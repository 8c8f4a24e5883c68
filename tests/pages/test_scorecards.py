"""Scorecards in a browser: read, compared, edited by two people, tried and published."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.pages.accessibility import check_accessibility


def test_a_scorecard_is_read_and_its_versions_compared(page_of: Callable[..., Page]) -> None:
    page = page_of("lead")
    page.goto("/scorecards")
    page.get_by_role("link", name="Chat", exact=True).click()
    expect(page.get_by_role("heading", name="Greeting")).to_be_visible()
    check_accessibility(page)
    page.get_by_role("link", name="Changes from version 1").click()
    expect(page.get_by_role("row", name="Criterion Probing Weight 7 0")).to_be_visible()
    check_accessibility(page)
