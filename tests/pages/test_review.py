"""Reviewing by keys alone in a browser: from the sign-in to a saved review, and to the next one."""

import os
import re
from collections.abc import Callable

from playwright.sync_api import Dialog, Page, expect

from app.core.database.paging import PageRequest
from app.evaluations import listing, service
from app.evaluations.enums import ReviewStatus
from app.reviews import service as reviews
from app.reviews.schemas.reviews import ReviewCreate
from tests.pages.accessibility import check_accessibility
from tests.pages.conftest import Demo
from tests.sampling import examples
from tests.visitor import PASSWORD, add_user
from tests.waiting import wait_until

FOCUS_IS_VISIBLE = """() => {
    const style = getComputedStyle(document.activeElement);
    return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
}"""
FOCUSED_TEXT = "document.activeElement.innerText.trim()"
MOST_STOPS = 60
REVIEWS = examples(20)


def tab_to(page: Page, text: str) -> None:
    """Press the tab key until what has the focus begins with a text; the focus is visible all along."""
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        assert page.evaluate(FOCUS_IS_VISIBLE), page.evaluate("document.activeElement.outerHTML")
        if page.evaluate(FOCUSED_TEXT).startswith(text):
            return
    raise AssertionError(f"no stop of the tab key begins with {text}")


def stay_when_asked(page: Page, key: str) -> None:
    """Press a key that leads to another page; wait for the browser to ask, and stay."""
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    def is_asked() -> bool:
        page.wait_for_timeout(50)
        return bool(asked)

    page.once("dialog", stay)
    page.keyboard.press("Tab")
    page.keyboard.press(key)
    wait_until(is_asked)
    assert asked == ["beforeunload"]


def test_from_the_sign_in_to_a_saved_review_by_keys_alone(
    demo: Demo, page_of: Callable[..., Page]
) -> None:
    demo.wait_judged("chat")
    name = f"keys-{os.getpid()}"
    add_user(demo.runtime, "reviewer", name)
    page = page_of()
    page.goto("/sign-in")
    expect(page.get_by_label("Name")).to_be_focused()
    page.keyboard.type(name)
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url("/")
    page.keyboard.press("g")
    page.keyboard.press("r")
    expect(page.get_by_role("heading", level=1)).to_have_text("Review")
    tab_to(page, "Unsure")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Unsure")).to_have_attribute("aria-current", "page")
    check_accessibility(page)
    page.keyboard.press("j")
    assert page.evaluate(FOCUS_IS_VISIBLE)
    tab_to(page, "Review")
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: "/evaluations/" in url)
    neighbours = page.get_by_role("navigation", name="Neighbours in the queue")
    expect(neighbours).to_contain_text("1 of ")
    first = page.url
    page.keyboard.press("n")
    page.wait_for_url(lambda url: url != first)
    expect(neighbours).to_contain_text("2 of ")
    second = page.url
    page.keyboard.press("p")
    page.wait_for_url(first)
    page.keyboard.press("ArrowDown")
    assert page.evaluate(FOCUS_IS_VISIBLE)
    page.keyboard.press("c")
    expect(page.get_by_label("What you do")).to_have_value("confirm")
    expect(page.get_by_role("textbox", name="Reason")).to_be_focused()
    assert page.evaluate(FOCUS_IS_VISIBLE)
    page.keyboard.type("Checked by ear.")
    stay_when_asked(page, "n")
    assert page.url == first
    page.keyboard.press("Control+Enter")
    page.wait_for_url(f"{second}&done=1")
    expect(neighbours).to_contain_text("2 of ")
    expect(page.get_by_role("region", name="Revisions and reviews")).to_contain_text(
        "Started a review", ignore_case=True
    )
    with demo.runtime.db.reading() as session:
        saved, opened = (
            service.find(session, url.split("/")[-1].partition("?")[0]).review_status
            for url in (first, second)
        )
    assert (saved, opened) == (ReviewStatus.REVIEWED, ReviewStatus.IN_REVIEW)


def reviewed_in(demo: Demo) -> int:
    with demo.runtime.db.reading() as session:
        found = listing.list_page(session, PageRequest(page_size=1), review_status=["reviewed"])
    return found.total_count


def test_reviews_in_a_row_need_no_scrolling(demo: Demo, page_of: Callable[..., Page]) -> None:
    demo.wait_judged("chat", "voice_bot")
    asked = ReviewCreate().load({"action": "request", "reviewer": "Nora Field"})
    with demo.runtime.db.writing() as session:
        rows = listing.list_page(
            session,
            PageRequest(page_size=REVIEWS),
            channel=["chat", "voice_bot"],
            status=["completed"],
            review_status=["none"],
        ).items
        for row in rows:
            reviews.add(session, row["id"], asked, created_by="test")
    assert len(rows) == REVIEWS
    before = reviewed_in(demo)
    page = page_of("reviewer")
    page.goto("/review?tab=requested")
    page.get_by_role("button", name="Review the evaluation").first.click()
    neighbours = page.get_by_role("navigation", name="Neighbours in the queue")
    save = page.get_by_role("button", name="Save and next")
    for number in range(1, REVIEWS + 1):
        expect(neighbours).to_contain_text(f"{number} of ")
        if number % 4 == 0:
            page.keyboard.press("ArrowDown")
            page.keyboard.press("1")
            expect(page.locator("[data-changes]")).to_have_text("1 change")
            save.click()
            expect(page.get_by_role("textbox", name="Reason")).to_be_focused()
            page.keyboard.type("Heard otherwise.")
        # A chosen criterion may move the page a little; the button stays in view.
        box, window = save.bounding_box(), page.viewport_size
        assert box
        assert window
        assert 0 <= box["y"] <= window["height"] - box["height"]
        # No step of the driver scrolls to it: the press is where the button is.
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.wait_for_url(re.compile(rf"done={number}\b|/review\?"))
        page.wait_for_load_state()
    # The queue may hold what other tests asked for, too.
    wait_until(lambda: reviewed_in(demo) == before + REVIEWS)


def test_marked_conversations_become_a_calibration_round(
    demo: Demo, page_of: Callable[..., Page]
) -> None:
    demo.wait_judged("chat")
    names = [f"round-{who}-{os.getpid()}" for who in ("nora", "omar")]
    for name in names:
        add_user(demo.runtime, "reviewer", name)
    page = page_of("reviewer")
    page.goto("/evaluations?channel=chat&status=completed&pageSize=3")
    page.get_by_label("Mark all of this page").check()
    expect(page.get_by_text("3 marked")).to_be_visible()
    page.locator("[data-row] [type=checkbox]").first.uncheck()
    expect(page.get_by_text("2 marked")).to_be_visible()
    expect(page.get_by_label("Mark all of this page")).not_to_be_checked()
    page.get_by_role("button", name="Calibration round").click()
    expect(page.get_by_text("2 conversations, at most 50.")).to_be_visible()
    page.get_by_label("Name").fill("Week 47")
    for name in names:
        page.get_by_label(name).check()
    check_accessibility(page)
    page.get_by_role("button", name="Create the round").click()
    expect(page.get_by_text("Rate the 2 conversations left to you")).to_be_visible()
    check_accessibility(page)
    page.get_by_role("link", name="Rate").first.click()
    expect(page.get_by_text("You give a second opinion")).to_be_visible()
    page.get_by_role("combobox").first.select_option(index=1)
    page.get_by_role("button", name="Save and compare").click()
    expect(page.get_by_text("Rate the 1 conversation left to you")).to_be_visible()
    check_accessibility(page)
    page.get_by_role("link", name="All rounds").click()
    check_accessibility(page)
