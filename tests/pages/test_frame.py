"""The frame of the dashboard in a browser: first sign-in, own settings, keyboard, narrow screens."""

import os
import re
import signal
from collections.abc import Callable
from datetime import timedelta

import pytest
from playwright.sync_api import Page, Route, expect
from sqlalchemy import update

from app.core.clock import utc_now
from app.core.hosts import Host
from app.people.models import UserSession
from tests.pages.accessibility import check_accessibility
from tests.pages.conftest import Demo, sign_in
from tests.visitor import PASSWORD, add_user


def test_the_first_admin_has_to_choose_a_password(demo: Demo, page_of: Callable[..., Page]) -> None:
    page = page_of()
    sign_in(page, "admin", demo.admin_password)
    page.goto("/")
    expect(page.get_by_text("Choose a password of your own first.")).to_be_visible()
    check_accessibility(page)
    page.get_by_label("Current password").fill(demo.admin_password)
    page.get_by_label("New password", exact=True).fill(PASSWORD)
    page.get_by_label("New password again").fill(PASSWORD)
    page.get_by_role("button", name="Change the password").click()
    expect(page.get_by_role("status")).to_have_text(
        "Your password was changed. Other sessions have ended."
    )
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in to CQE")
    check_accessibility(page)


def test_the_skip_link_is_the_first_stop_of_the_tab_key(page: Page) -> None:
    page.goto("/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()


def test_the_chosen_colours_win_over_those_of_the_system(page_of: Callable[..., Page]) -> None:
    page = page_of("reviewer", color_scheme="light")
    page.goto("/settings")
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_label("Colours").select_option("dark")
    page.get_by_label("Display name").fill("Nora Field")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("link", name="Nora Field")).to_be_visible()
    assert page.evaluate(ground) != light
    check_accessibility(page)


def test_a_narrow_screen_opens_the_navigation(page_of: Callable[..., Page]) -> None:
    page = page_of("viewer", viewport={"width": 390, "height": 844}, java_script_enabled=False)
    page.goto("/settings")
    expect(page.get_by_role("navigation", name="Pages")).to_be_hidden()
    page.get_by_role("button", name="Menu").press("Enter")
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    page.get_by_role("link", name="Overview").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    expect(page.get_by_role("button", name="Sign out")).to_be_hidden()
    top = page.get_by_role("banner").bounding_box()
    assert top
    assert top["height"] < 100, "the top bar takes more than two rows"


def test_the_whole_menu_fits_a_low_screen(page_of: Callable[..., Page]) -> None:
    page = page_of("admin", viewport={"width": 1366, "height": 768})
    page.goto("/settings")
    menu = page.get_by_role("navigation", name="Pages")
    person = page.get_by_role("region", name="Signed in", exact=True).bounding_box()
    assert person
    for name in ("System", "Audit trail", "Settings"):
        link = menu.get_by_role("link", name=name).bounding_box()
        assert link
        assert link["y"] + link["height"] <= person["y"]


def test_a_narrow_list_shows_whose_conversations_they_are(
    demo: Demo, page_of: Callable[..., Page]
) -> None:
    demo.evaluation("demo-chat-rude-agent")
    width = 390
    page = page_of("viewer", viewport={"width": width, "height": 800})
    page.goto("/evaluations?sort=score")
    place = page.get_by_role("cell", name="Marcus Bell").first.bounding_box()
    assert place
    assert place["x"] + place["width"] < width


@pytest.mark.parametrize(
    "path", ["/executives?days=90", "/campaigns", "/review?tab=unsure", "/evaluations"]
)
def test_a_phone_shows_rows_of_lists_whole(
    demo: Demo, page_of: Callable[..., Page], path: str
) -> None:
    demo.evaluation("demo-chat-rude-agent")
    page = page_of("reviewer", viewport={"width": 390, "height": 844})
    page.goto(path)
    table = page.locator("table.stacked").first
    assert table.evaluate("table => table.parentElement.scrollWidth") < 390
    check_accessibility(page)


def test_keys_lead_to_pages_but_not_from_a_field(page: Page) -> None:
    page.goto("/settings")
    page.get_by_label("Display name").press("g")
    page.keyboard.press("o")
    assert page.url.endswith("/settings")
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    check_accessibility(page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()
    page.keyboard.press("g")
    page.keyboard.press("o")
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")


def test_keys_of_letters_can_be_switched_off(page_of: Callable[..., Page]) -> None:
    page = page_of("lead")
    page.goto("/settings")
    page.get_by_label("Single-letter keyboard shortcuts").select_option("off")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()


def test_a_lost_connection_shows_as_a_strip_until_it_is_back(
    page: Page, console: list[str]
) -> None:
    page.goto("/")
    strip = page.get_by_text("The connection to the service is lost.")
    expect(strip).to_be_hidden()
    show_again = "document.dispatchEvent(new Event('visibilitychange'))"
    page.route("**/live/progress*", lambda route: route.fulfill(status=503, body=""))
    page.evaluate(show_again)
    expect(strip).to_be_visible()
    page.unroute("**/live/progress*")
    page.evaluate(show_again)
    expect(strip).to_be_hidden()
    assert "503" in console.pop()


def test_an_ended_session_leaves_what_was_typed(page: Page, console: list[str]) -> None:
    page.goto("/keys")
    page.route("**/live/progress*", lambda route: route.fulfill(status=401, body=""))
    name = page.get_by_label("Name, such as")
    name.fill("Typed with care")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.get_by_text("Your session has ended. Send the form to sign in")).to_be_visible()
    expect(name).to_have_value("Typed with care")
    assert "401" in console.pop()


@pytest.mark.parametrize("detour", ["sign-in", "confirm"])
def test_a_form_that_needs_a_sign_in_first_is_filled_in_again(
    demo: Demo, page_of: Callable[..., Page], detour: str
) -> None:
    name = f"admin-{detour}"
    user_id = add_user(demo.runtime, "admin", name)
    page = page_of()
    sign_in(page, name, PASSWORD)
    page.goto("/keys")
    page.get_by_label("Name, such as").fill("Typed with care")
    page.get_by_label("audio:read").check()
    column = "last_seen_at" if detour == "sign-in" else "confirmed_at"
    values = {column: utc_now() - timedelta(days=1)}
    with demo.runtime.db.writing() as session:
        session.execute(update(UserSession).where(UserSession.user_id == user_id).values(**values))
    page.get_by_role("button", name="Create the key").click()
    page.wait_for_url(re.compile(rf"/{detour}\?"))
    if detour == "sign-in":
        page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_label("Password").press("Enter")
    expect(page.get_by_text("what you sent was not saved")).to_be_visible()
    expect(page.get_by_label("Name, such as")).to_have_value("Typed with care")
    expect(page.get_by_label("audio:read")).to_be_checked()
    expect(page.get_by_label("audio:write")).not_to_be_checked()
    page.get_by_role("button", name="Create the key").click()
    expect(page.get_by_text("Typed with care")).to_be_visible()


def test_signing_out_forgets_what_was_typed(demo: Demo, page_of: Callable[..., Page]) -> None:
    add_user(demo.runtime, "viewer", "viewer-leaving")
    page = page_of()
    sign_in(page, "viewer-leaving", PASSWORD)
    page.goto("/evaluations")
    page.get_by_text("Save these filters as a view").click()
    page.get_by_label("Name", exact=True).fill("Typed with care")
    page.get_by_role("button", name="Save view").click()
    expect(page.get_by_text("The view was saved")).to_be_visible()
    kept = "sessionStorage.getItem('sent')"
    assert "Typed with care" in page.evaluate(kept)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("You have signed out")).to_be_visible()
    assert page.evaluate(kept) is None


def test_refused_choices_have_the_focus(page: Page, console: list[str]) -> None:
    page.goto("/keys")
    page.get_by_label("Name, such as").fill("No scope")
    page.get_by_role("button", name="Create the key").click()
    expect(page.get_by_role("group", name="Scopes")).to_be_focused()
    assert "422" in console.pop()


def test_a_form_that_was_opened_before_another_sign_in_is_filled_in_again(
    demo: Demo, page_of: Callable[..., Page], console: list[str]
) -> None:
    add_user(demo.runtime, "admin", "admin-twice")
    page = page_of()
    sign_in(page, "admin-twice", PASSWORD)
    page.goto("/keys")
    page.get_by_label("Name, such as").fill("Typed with care")
    page.context.clear_cookies()
    sign_in(page.context.new_page(), "admin-twice", PASSWORD)
    page.get_by_role("button", name="Create the key").click()
    page.get_by_role("link", name="Open the form again").click()
    expect(page.get_by_label("Name, such as")).to_have_value("Typed with care")
    assert "403" in console.pop()


def test_a_form_is_sent_once_however_often_its_button_is_pressed(page: Page) -> None:
    page.goto("/exports")
    page.clock.install()
    page.clock.pause_at(utc_now() + timedelta(minutes=1))
    sent: list[str] = []

    def answer(route: Route) -> None:
        sent.append(route.request.method)
        route.fulfill(status=204)

    page.route("**/exports", answer)
    button = page.get_by_role("button", name="Request the export")
    for _ in range(2):
        button.click()
    assert sent == ["POST"]
    # Whoever has stopped the browser can send the form again.
    page.clock.run_for(5000)
    with page.expect_request("**/exports"):
        button.click()
    assert sent == ["POST", "POST"]


def test_a_silent_worker_shows_as_a_strip_until_it_is_back(demo: Demo, page: Page) -> None:
    page.goto("/")
    strip = page.get_by_text("The worker is silent")
    expect(strip).to_be_hidden()
    worker = demo.process.child("cqe: scheduler")
    # Not while it is stopped: it may be stopped while it writes.
    with demo.runtime.db.writing() as session:
        session.execute(update(Host).values(seen_at=utc_now() - timedelta(minutes=1)))
    os.kill(worker, signal.SIGSTOP)
    try:
        # If it has written in between, the strip shows 15 seconds later; a page asks every 4.
        expect(strip).to_be_visible()
    finally:
        os.kill(worker, signal.SIGCONT)
    expect(strip).to_be_hidden()


def test_an_admin_manages_people_by_keyboard_and_mouse(page: Page) -> None:
    page.goto("/people")
    check_accessibility(page)
    page.get_by_label("Name for signing in").fill("Ines")
    page.get_by_label("Role").select_option("reviewer")
    page.keyboard.press("Enter")
    expect(page.get_by_text("One-time password of ines")).to_be_visible()
    check_accessibility(page)
    page.get_by_role("link", name="ines", exact=True).click()
    check_accessibility(page)
    page.get_by_role("button", name="Disable the account").click()
    expect(page.get_by_role("status").first).to_contain_text("The account is disabled")
    page.get_by_role("link", name="What this person did").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Audit trail")
    check_accessibility(page)


def test_the_slash_finds_conversations(demo: Demo, page: Page) -> None:
    path = demo.evaluation("demo-chat-parcel-late")
    page.goto("/settings")
    page.keyboard.press("/")
    page.keyboard.type(path.rsplit("/", 1)[1])
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: path in url)
