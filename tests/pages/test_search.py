"""The search of what was said in a browser: from the words in the list to the turn."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.pages.accessibility import check_accessibility
from tests.pages.conftest import Demo


def test_a_hit_leads_to_the_turn(demo: Demo, page_of: Callable[..., Page]) -> None:
    demo.evaluation("demo-chat-wants-manager")
    page = page_of("viewer", viewport={"width": 800, "height": 500})
    page.goto("/evaluations?days=90")
    page.get_by_text("All filters").click()
    page.get_by_label("What was said").fill('"believe it when"')
    page.locator("#main").get_by_role("button", name="Show", exact=True).click()
    hit = page.locator(".snippet")
    expect(hit.locator("mark")).to_have_text("believe it when")
    check_accessibility(page)
    hit.get_by_role("link").click()
    turn = page.locator(".turn:target")
    expect(turn).to_contain_text("believe it when")
    expect(turn).to_be_in_viewport()
