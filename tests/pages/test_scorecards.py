"""Scorecards in a browser: read, compared, edited by two people, tried and published."""

import re
from collections.abc import Callable

from playwright.sync_api import APIResponse, Page, Route, expect

from tests.pages.accessibility import check_accessibility
from tests.pages.conftest import DEMO_WITHIN_S, Demo

# Left to its content, a field is as wide as its longest option.
HOLDS_EVERY_OPTION = """field => {
    const width = field.offsetWidth;
    field.style.inlineSize = "max-content";
    return field.offsetWidth <= width;
}"""


def test_a_scorecard_is_read_and_its_versions_compared(page_of: Callable[..., Page]) -> None:
    page = page_of("lead")
    page.goto("/scorecards")
    page.get_by_role("link", name="Chat", exact=True).click()
    expect(page.get_by_role("heading", name="Greeting")).to_be_visible()
    check_accessibility(page)
    page.get_by_role("link", name="Changes from version 1").click()
    expect(page.get_by_role("row", name="Criterion Probing Weight 7 0")).to_be_visible()
    check_accessibility(page)


def test_a_draft_is_checked_while_it_is_typed(page_of: Callable[..., Page]) -> None:
    page = page_of("lead")
    page.goto("/scorecards")
    page.get_by_label("A new scorecard that starts").select_option("as a copy of Chat")
    page.get_by_role("button", name="Begin a draft").click()
    page.get_by_text("Greeting", exact=True).first.click()
    greeting = page.locator("#criterion-0")
    assert greeting.get_by_label("Judged by").evaluate(HOLDS_EVERY_OPTION)
    greeting.get_by_label("Weight").fill("0")
    greeting.get_by_label("Question").fill("Is the agent friendly?")
    expect(page.get_by_text("98 of 100: 2 to give")).to_be_visible()
    expect(greeting.get_by_text("'friendly' means something different to everyone")).to_be_visible()
    expect(page.get_by_role("button", name="Publish")).to_be_disabled()
    check_accessibility(page)
    greeting.get_by_label("Weight").fill("2")
    expect(page.get_by_role("button", name="Publish")).to_be_enabled()
    greeting.get_by_role("button", name="Copy").click()
    expect(page.locator("#criterion-1").get_by_label("Question")).to_have_value(
        "Is the agent friendly?"
    )
    page.locator("#criterion-1").get_by_label("Type").select_option("Measured")
    page.locator("#criterion-1").get_by_label("Judged by").select_option("A metric within a range")
    expect(page.locator("#criterion-1").get_by_label("Full score: at most")).to_be_visible()
    page.get_by_role("link", name="JSON").click()
    expect(page.get_by_label("The draft, as")).to_have_value(re.compile('"metric_range"'))
    check_accessibility(page)


def test_a_button_waits_for_the_save_that_is_under_way(page_of: Callable[..., Page]) -> None:
    page = page_of("lead")
    page.goto("/scorecards")
    page.get_by_label("A new scorecard that starts").select_option("empty, for the channel Chat")
    page.get_by_role("button", name="Begin a draft").click()
    expect(page.get_by_text("saved")).to_be_visible()
    saves: list[tuple[Route, APIResponse]] = []
    page.route("**/live/lint/*", lambda route: saves.append((route, route.fetch())), times=1)
    page.get_by_label("Name", exact=True).fill("Held")
    while not saves:
        page.wait_for_timeout(50)
    page.get_by_role("button", name="Add a criterion of your own").click()
    route, answer = saves[0]
    route.fulfill(response=answer)
    expect(page.locator("#criterion-0")).to_be_visible()
    expect(page.get_by_label("Name", exact=True)).to_have_value("Held")


def test_the_second_of_two_people_loses_nothing(
    page_of: Callable[..., Page], console: list[str]
) -> None:
    first, second = page_of("lead"), page_of("admin")
    first.goto("/scorecards")
    first.get_by_label("A new scorecard that starts").select_option("empty, for the channel Call")
    first.get_by_role("button", name="Begin a draft").click()
    second.goto(first.url)
    expect(second.get_by_text("saved")).to_be_visible()
    first.get_by_label("Name").fill("Sales calls")
    expect(first.locator("h1")).to_be_visible()
    expect(first.locator("[name=version]")).to_have_value("2")
    second.get_by_label("Description").fill("Typed meanwhile")
    expect(second.get_by_text("has changed this draft meanwhile")).to_be_visible()
    expect(second.get_by_label("Description")).to_have_value("Typed meanwhile")
    second.get_by_role("button", name="Save").click()
    expect(second.get_by_role("row", name="Sales calls")).to_be_visible()
    check_accessibility(second)
    second.get_by_role("button", name="Save").click()
    expect(second.locator("[name=version]")).to_have_value("3")
    expect(second.get_by_label("Description")).to_have_value("Typed meanwhile")
    console.clear()


def test_a_draft_is_tried_on_past_conversations(demo: Demo, page_of: Callable[..., Page]) -> None:
    demo.evaluation("demo-chat-parcel-late")
    page = page_of("lead")
    page.goto("/scorecards")
    page.get_by_label("A new scorecard that starts").select_option("as a copy of Chat")
    page.get_by_role("button", name="Begin a draft").click()
    page.get_by_text("Greeting", exact=True).first.click()
    page.locator("#criterion-0").get_by_label("Weight").fill("40")
    expect(page.get_by_text("too many")).to_be_visible()
    expect(page.get_by_role("button", name="Try")).to_be_disabled()
    page.locator("#criterion-0").get_by_label("Weight").fill("2")
    page.locator("#criterion-0").get_by_label("First turns that count").fill("1")
    expect(page.get_by_role("button", name="Try")).to_be_enabled()
    page.get_by_role("button", name="Try").click()
    mean = page.get_by_role("row", name="Mean score")
    expect(mean).to_be_visible(timeout=1000 * DEMO_WITHIN_S)
    expect(page.get_by_role("heading", name="conversations with a verdict by both")).to_be_visible()
    check_accessibility(page)
    page.get_by_role("link", name="Back to the draft").click()
    page.get_by_text("Discard this draft").click()
    page.get_by_role("button", name="Discard it for everybody").click()
    expect(page.get_by_role("status").first).to_contain_text("The draft was discarded.")


def test_a_criterion_is_written_published_and_used(
    demo: Demo, page_of: Callable[..., Page]
) -> None:
    demo.evaluation("demo-chat-parcel-late")
    page = page_of("lead")
    page.goto("/scorecards")
    page.get_by_label("A new scorecard that starts").select_option("empty, for the channel Chat")
    page.get_by_role("button", name="Begin a draft").click()
    page.get_by_role("button", name="Add a criterion of your own").click()
    criterion = page.locator("#criterion-0")
    page.get_by_label("Name", exact=True).fill("Offers")
    criterion.get_by_label("Title").fill("Offers more help")
    criterion.get_by_label("Question").fill("Does the agent offer more help?")
    criterion.get_by_label("Weight").fill("100")
    blocker = page.get_by_role("link", name="Offers more help: what is done")
    expect(blocker).to_be_visible()
    criterion.locator("summary").first.click()
    blocker.click()
    criterion.get_by_label("What is done", exact=False).first.select_option("offers more help")
    expect(criterion.get_by_text("In the last 10 conversations:")).to_be_visible()
    expect(criterion.get_by_role("link", name="yes").first).to_be_visible()
    expect(blocker).to_be_hidden()
    check_accessibility(page)
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_text("Nothing is judged by it yet")).to_be_visible()
    page.get_by_label("these campaigns").check()
    page.locator("[name=campaign]").first.check()
    check_accessibility(page)
    page.get_by_role("button", name="Save the use").click()
    expect(page.get_by_text("It counts for new evaluations")).to_be_visible()
    page.locator("#use").get_by_role("link").nth(1).click()
    expect(page.get_by_label("Scorecard of chats")).to_contain_text("Offers")
    check_accessibility(page)
