"""Every page that links lead to: its policy and addresses; of a sample, axe, and what is cut."""

import re
from collections import deque
from urllib.parse import urlsplit

from playwright.sync_api import Page, expect

from app.dashboard.responses import POLICY
from tests.pages.accessibility import check_accessibility, check_narrow_screens
from tests.pages.conftest import DEMO_WITHIN_S, Demo
from tests.sampling import NIGHTLY

_LINKS = """[...document.querySelectorAll("a[href]")].map(
    link => new URL(link.getAttribute("href"), location).href)"""
_DOWNLOADS = (".csv", "/download")
# Opened first, as they are here, and with everything unfolded.
_PAGES_WITH_FIGURES = (
    "/",
    "/evaluations",
    "/executives?minEvaluations=3",
    "/campaigns",
    "/call-centers",
    "/trends?groupBy=channel",
    "/topics",
    "/review?tab=auto-fails",
)


def kind_of(address: str) -> str:
    """Return the path with its ids left out: pages of one kind are opened once."""
    return re.sub(r"[a-z]{2,5}_[0-9a-z]{26}", "<id>", urlsplit(address).path)


def test_every_page_keeps_the_policy_and_is_accessible(demo: Demo, page: Page) -> None:
    demo.wait_judged("chat")
    page.goto("/scorecards")
    page.get_by_label("A new scorecard that starts").select_option("as a copy of Chat")
    page.get_by_role("button", name="Begin a draft").click()
    page.get_by_role("button", name="Try").click()
    mean = page.get_by_role("row", name="Mean score")
    expect(mean).to_be_visible(timeout=1000 * DEMO_WITHIN_S)
    hosts = set()
    page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
    with_figures = [demo.base + path for path in _PAGES_WITH_FIGURES]
    # Of pages of one kind, the first is opened: this draft has a trial.
    waiting, seen = deque([page.url, *with_figures]), set()
    while waiting:
        address = waiting.popleft()
        if kind_of(address) in seen or kind_of(address).endswith(_DOWNLOADS):
            continue
        seen.add(kind_of(address))
        answer = page.goto(address)
        assert answer is not None
        assert answer.status == 200, address
        assert answer.headers["content-security-policy"] == POLICY, address
        if address in with_figures:
            for summary in page.locator("main details > summary").all():
                summary.click()
        # Pages are made of the same parts: those with charts and a fourth of the others show them.
        if NIGHTLY or address in with_figures or len(seen) % 4 == 0:
            check_accessibility(page, in_dark=True)
            check_narrow_screens(page)
        waiting.extend(link for link in page.evaluate(_LINKS) if link.startswith(demo.base))
    assert hosts == {urlsplit(demo.base).netloc}
    assert {"/", "/evaluations", "/evaluations/<id>", "/people", "/keys", "/webhooks"} <= seen
    assert {"/scorecards/drafts/<id>", "/scorecards/drafts/<id>/trial"} <= seen
