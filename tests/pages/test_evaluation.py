"""The page of one evaluation in a browser: quotes and sound, keys, reviews, revisions."""

import os
import re
import signal
import socket
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from app.core.clock import utc_now
from app.evaluations.judging import judgements
from tests.pages.accessibility import check_accessibility
from tests.pages.conftest import Demo
from tests.recordings import AUDIO, upload
from tests.visitor import Visitor, add_user
from tests.waiting import wait_until

TALKED_OVER = "demo-recording-talked-over"
THREE_GP = AUDIO / "formats" / "jfk.3gp"
SOUND = "document.querySelector('audio')"


@pytest.fixture
def call(demo: Demo, page_of: Callable[..., Page]) -> Page:
    """The page of a recorded call, opened by a reviewer, with its waveform and its sound."""
    page = page_of("reviewer")
    page.goto(demo.evaluation(TALKED_OVER))
    expect(page.locator("[data-clock]")).to_have_text("0:00 / 0:37")
    return page


def wait_for(page: Page, condition: str) -> None:
    """Wait until a condition holds; the policy of the page refuses to evaluate it repeatedly there."""
    wait_until(lambda: page.evaluate(condition), 15)


def position(page: Page) -> float:
    return float(page.evaluate(f"{SOUND}.currentTime"))


def criterion(page: Page, title: str) -> Any:
    return page.locator("[data-criterion]").filter(has=page.locator("h4", has_text=title))


def choose(page: Page, title: str) -> Any:
    chosen = criterion(page, title)
    line = chosen.locator("summary")
    if not line.is_visible():
        page.get_by_text(re.compile(r"^Not judged \(")).click()
    line.click()
    return chosen


def open_review(page: Page) -> None:
    """Open the panel in which a reviewer says what to do and why."""
    page.locator(".review > summary").click()


# Selects the first words of a turn.
SELECT = """said => {
    const text = [...said.childNodes].at(-1).firstChild ?? [...said.childNodes].at(-1);
    getSelection().setBaseAndExtent(text, 0, text, Math.min(6, text.length));
}"""
COLOURED = """() => {
    const canvas = document.querySelector("#player canvas");
    const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const pixels = Array.from({length: data.length / 4}, (_, n) => data.subarray(4 * n, 4 * n + 4));
    const near = (red, green, blue) => pixels.filter(pixel => pixel[3] > 200 &&
        Math.abs(pixel[0] - red) + Math.abs(pixel[1] - green) + Math.abs(pixel[2] - blue) < 20).length;
    return [near(29, 95, 138), near(255, 233, 168), near(124, 192, 236), near(90, 74, 18)];
}"""


def test_the_waveform_has_the_colours_of_the_theme(call: Page) -> None:
    call.emulate_media(color_scheme="light")
    choose(call, "Empathy")
    wait_until(lambda: min(call.evaluate(COLOURED)[:2]) > 50, 15)
    call.emulate_media(color_scheme="dark")
    wait_until(lambda: min(call.evaluate(COLOURED)[2:]) > 50, 15)


def test_a_chosen_criterion_lights_its_quotes_and_plays_them_in_turn(call: Page) -> None:
    chosen = criterion(call, "Empathy")
    quotes = chosen.locator(".quote")
    windows = [
        (
            float(quote.get_attribute("data-from")) / 1000,
            float(quote.get_attribute("data-to")) / 1000,
        )
        for quote in quotes.all()
    ]
    assert len(windows) > 1
    choose(call, "Empathy")
    lit = call.locator("mark.lit")
    texts = lit.all_inner_texts()
    assert "That is not our problem." in texts
    told = " ".join(quotes.all_inner_texts())
    assert [text for text in texts if text not in told] == []
    assert all(
        "communication.empathy" in str(mark.get_attribute("data-criteria")) for mark in lit.all()
    )
    call.evaluate(f"{SOUND}.playbackRate = 4")
    call.keyboard.press("Enter")
    wait_for(call, f"!{SOUND}.paused")
    assert windows[0][0] - 0.1 <= position(call) <= windows[0][0] + 0.5
    # The next part begins as soon as this one has ended.
    wait_for(call, f"{SOUND}.currentTime >= {windows[1][0]} && !{SOUND}.paused")
    assert position(call) <= windows[1][1] + 0.5
    wait_for(call, f"{SOUND}.paused")


def test_a_link_to_a_criterion_chooses_it(demo: Demo, page: Page) -> None:
    demo.evaluation(TALKED_OVER)
    page.goto("/")
    weakest = page.get_by_role("region", name="Weakest criteria").locator("tbody tr").first
    title = weakest.get_by_role("rowheader").inner_text()
    weakest.get_by_role("link").first.click()
    expect(criterion(page, title)).to_have_class(re.compile("chosen"))


def test_a_recording_is_heard_by_those_who_have_played_it(
    demo: Demo, page_of: Callable[..., Page]
) -> None:
    page = page_of("lead")
    page.goto(demo.evaluation(TALKED_OVER))
    expect(page.locator("[data-clock]")).to_have_text("0:00 / 0:37")
    head, listener = page.locator(".desk > header"), f"lead-{os.getpid()}"
    page.reload()
    expect(head).not_to_contain_text(listener)
    page.get_by_role("button", name="Play", exact=True).click()
    wait_for(page, f"{SOUND}.currentTime > 0")
    page.reload()
    expect(head).to_contain_text(listener)


def test_words_are_found_over_the_runs_of_quotes_and_a_quote_is_heard_from_before(
    call: Page,
) -> None:
    count = call.locator("#found-count")
    call.get_by_label("Find in the text").fill("CHARGED twice")
    expect(count).to_have_text("1 of 1")
    found = "[...CSS.highlights.get('found-here')].map(range => range.toString())"
    assert [text.casefold() for text in call.evaluate(found)] == ["charged twice"]
    call.get_by_label("Find in the text").fill("a")
    many = int(count.inner_text().removeprefix("1 of "))
    assert many > 2
    call.keyboard.press("Enter")
    expect(count).to_have_text(f"2 of {many}")
    call.keyboard.press("Shift+Enter")
    call.keyboard.press("Shift+Enter")
    expect(count).to_have_text(f"{many} of {many}")
    call.get_by_label("Find in the text").fill("no such words (")
    expect(count).to_have_text("0 of 0")
    before = call.get_by_role("button", name="from 5 s before").last
    before.click()
    wait_for(call, f"!{SOUND}.paused")
    begins = float(before.get_attribute("data-from") or 0) / 1000
    assert begins - 0.1 <= position(call) <= begins + 2


def test_keys_move_the_sound_and_the_lit_turn_and_write_in_a_field(call: Page) -> None:
    call.keyboard.press("]")
    current = call.locator(".turn[aria-current]")
    expect(current).to_have_count(1)
    assert position(call) == pytest.approx(float(current.get_attribute("data-start") or 0) / 1000)
    call.keyboard.press("]")
    call.keyboard.press("]")
    assert position(call) == pytest.approx(float(current.get_attribute("data-start") or 0) / 1000)
    spoken = call.evaluate(
        """at => [...document.querySelectorAll('.turn')]
            .filter(turn => Number(turn.dataset.start) <= at * 1000 + 1).at(-1).id""",
        position(call),
    )
    assert current.get_attribute("id") == spoken
    call.keyboard.press("l")
    after = position(call)
    call.keyboard.press("j")
    assert after - position(call) == pytest.approx(5, abs=0.1)
    call.keyboard.press(".")
    assert call.evaluate(f"{SOUND}.playbackRate") == 1.25
    call.keyboard.press("Space")
    wait_for(call, f"!{SOUND}.paused")
    call.keyboard.press("k")
    wait_for(call, f"{SOUND}.paused")
    at = position(call)
    open_review(call)
    call.get_by_label("Reason").fill("")
    call.get_by_label("Reason").press_sequentially("jkl ,.")
    expect(call.get_by_label("Reason")).to_have_value("jkl ,.")
    assert position(call) == at


def test_space_plays_and_pauses_wherever_the_focus_is(call: Page) -> None:
    empathy = choose(call, "Empathy")
    for key, focused in (
        ("Space", empathy.locator("summary")),
        ("Space", empathy.locator(".quote").first),
        ("Space", call.locator(".review > summary")),
        ("Space", call.get_by_role("button", name="Save the review")),
    ):
        paused = call.evaluate(f"{SOUND}.paused")
        focused.focus()
        call.keyboard.press(key)
        wait_for(call, f"{SOUND}.paused !== {str(paused).lower()}")
    expect(empathy).to_have_attribute("open", "")
    expect(call.locator(".review")).not_to_have_attribute("open", "")
    expect(call.get_by_text("Your review was saved.")).to_have_count(0)


def is_in_view(page: Page, selector: str) -> bool:
    """Return whether all of the first such element is visible in the window."""
    box, window = page.locator(selector).first.bounding_box(), page.viewport_size
    assert box
    assert window
    return box["y"] >= 0 and box["y"] + box["height"] <= window["height"]


def test_the_page_is_a_workbench_that_is_never_scrolled_away(call: Page, demo: Demo) -> None:
    # The demo's worst call has most of its criteria open.
    for external_id, longest in (("demo-recording-hold", 1500), (TALKED_OVER, 1700)):
        call.goto(demo.evaluation(external_id))
        assert call.evaluate("document.documentElement.scrollHeight") < longest
    for height in (720, 600):
        call.set_viewport_size({"width": 1280, "height": height})
        bar = call.locator(".bar").bounding_box()
        assert bar
        assert bar["height"] <= 64
        titles = call.locator("section.scored h4").all_inner_texts()
        assert len(titles) > 1
        for title in titles:
            chosen = choose(call, title)
            expect(chosen.locator(".opened")).to_be_visible()
            expect(call.locator("[aria-current=true] > h4")).to_have_text(title)
            for seen in (
                "[data-play]",
                ".wave canvas",
                ".score b",
                ".bar .button.main",
                ".chosen > summary",
                *["mark.lit"][: call.locator("mark.lit").count()],
            ):
                assert is_in_view(call, seen), f"{title}: {seen} is out of view"
    call.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    assert is_in_view(call, "[data-play]")
    first = choose(call, titles[0])
    expect(first).to_have_class(re.compile("chosen"))
    choose(call, titles[0])
    expect(first).not_to_have_attribute("open", "")


def test_failed_and_unsure_criteria_are_open(demo: Demo, page: Page) -> None:
    page.goto(demo.evaluation(TALKED_OVER))
    opened = set()
    for item in page.locator(".scored > details.criterion").all():
        text = item.text_content() or ""
        sure = re.search(r"(\d+) % sure", text)
        matters = "no weight" not in text and item.locator(".answer.unjudged").count() == 0
        fails = item.locator(".answer.none").count() == 1
        is_open = item.get_attribute("open") is not None
        assert is_open == (matters and (fails or (sure is not None and int(sure[1]) <= 50))), text
        opened.add(is_open)
    assert opened == {True, False}


def test_a_phone_shows_the_scorecard_or_the_words_with_the_player_fixed(
    demo: Demo, page_of: Callable[..., Page]
) -> None:
    phone = page_of("reviewer", viewport={"width": 390, "height": 844}, has_touch=True)
    phone.goto(demo.evaluation(TALKED_OVER))
    expect(phone.locator("[data-clock]")).to_have_text("0:00 / 0:37")
    words, back = phone.locator(".transcript"), phone.locator("[data-back]")
    expect(words).to_be_hidden()
    empathy = choose(phone, "Empathy")
    expect(words).to_be_hidden()
    assert is_in_view(phone, ".chosen > summary")
    quote = empathy.locator(".quote").last
    quote.click()
    expect(words).to_be_visible()
    expect(empathy).to_be_hidden()
    wait_for(phone, f"!{SOUND}.paused")
    assert is_in_view(phone, f"#{quote.get_attribute('data-turn')}")
    assert is_in_view(phone, "[data-play]")
    expect(back).to_have_text("Back to Empathy")
    check_accessibility(phone)
    phone.locator(".said").last.evaluate(SELECT)
    back.tap()
    expect(words).to_be_hidden()
    assert is_in_view(phone, ".chosen > summary")
    # The words that were selected on the other tab become a quote.
    empathy.get_by_label("Answer").select_option("answer:1")
    empathy.get_by_role("button", name="Use the selected words").tap()
    expect(empathy.locator("[data-quote-text]")).to_have_text("Bye")
    # So do links: of what was found to its turn, of what failed to its criterion.
    for place, shown in (("seg_0002", words), ("criterion-opening.greeting", empathy)):
        phone.evaluate("id => { location.hash = id; }", place)
        expect(shown).to_be_visible()
    for part, shown in (("Words", words), ("Scorecard", empathy)):
        phone.get_by_text(part, exact=True).first.click()
        expect(shown).to_be_visible()
    open_review(phone)
    expect(phone.get_by_role("textbox", name="Reason")).to_be_visible()
    assert is_in_view(phone, "#reason")
    assert is_in_view(phone, ".bar .button.main")
    check_accessibility(phone)


def test_the_page_is_accessible_and_a_viewer_has_no_player(
    call: Page, demo: Demo, page_of: Callable[..., Page]
) -> None:
    expect(call.locator("[data-wave-state]")).to_have_text("")
    check_accessibility(call)
    viewer = page_of("viewer")
    viewer.goto(demo.evaluation(TALKED_OVER))
    expect(viewer.get_by_role("heading", name="Transcript")).to_be_visible()
    assert viewer.locator("audio").count() == 0
    assert viewer.get_by_role("button", name="Save the review").count() == 0
    scriptless = page_of("reviewer", java_script_enabled=False)
    scriptless.goto(demo.evaluation(TALKED_OVER))
    expect(scriptless.locator("audio[controls]")).to_be_visible()
    viewer.goto(demo.evaluation("demo-chat-slow-night"))
    expect(viewer.get_by_text("without a message").first).to_be_visible()
    check_accessibility(viewer)


def test_an_override_has_the_score_of_its_preview_and_the_judges_answer_stays(
    demo: Demo, page_of: Callable[..., Page]
) -> None:
    page = page_of("reviewer")
    page.goto(demo.evaluation("demo-chat-rude-agent"))
    recap = criterion(page, "Recap")
    before = recap.locator(".answer").inner_text()
    said = page.locator(".turn .said").last
    choose(page, "Recap")
    open_review(page)
    answer, action = recap.get_by_label("Answer"), page.get_by_label("What you do")
    answer.select_option("answer:2")
    expect(action).to_have_value("override")
    answer.select_option("")
    expect(action).to_have_value("confirm")
    answer.select_option("answer:2")
    page.get_by_role("link", name="Sheet to print").click()
    page.go_back()
    # The browser puts the answer back, and the page shows it.
    expect(recap.get_by_label("Answer")).to_be_visible()
    said.evaluate(SELECT)
    recap.get_by_role("button", name="Use the selected words").click()
    expect(page.locator("[data-changes]")).to_have_text("1 change")
    preview = page.locator(".preview")
    expect(preview).to_have_text(re.compile("\u2192 \\d+ (not )?passed"))
    score, former = preview.inner_text().split()[1], page.locator(".score b").inner_text()
    expect(action).to_have_value("override")
    # What lacks a reason is not sent: its field asks for one.
    page.keyboard.press("Control+Enter")
    reason = page.get_by_role("textbox", name="Reason")
    expect(reason).to_be_focused()
    page.keyboard.type("The agent did sum it up.")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("status").first).to_have_text("Your review was saved.")
    expect(page.locator(".score b")).to_have_text(score)
    assert score != former
    changed = criterion(page, "Recap")
    expect(changed.locator(".original")).to_contain_text("The judge's answer: ")
    assert changed.locator(".answer").inner_text() != before
    expect(changed.locator(".quote")).to_have_count(1)


def test_of_two_reviewers_the_second_sees_the_change_and_loses_nothing(
    demo: Demo, page_of: Callable[..., Page], console: list[str]
) -> None:
    path = demo.evaluation("demo-chat-voucher")
    first, second = page_of("reviewer"), page_of("lead")
    for page in (first, second):
        page.goto(path)
        open_review(page)
        page.get_by_label("What you do").select_option("dispute")
        page.get_by_role("textbox", name="Reason").fill("The voucher was sent.")
    first.get_by_role("button", name="Save the review").click()
    expect(first.get_by_role("status").first).to_have_text("Your review was saved.")
    second.get_by_role("button", name="Save the review").click()
    expect(second.get_by_role("alert")).to_contain_text("Nothing was saved")
    expect(second.get_by_role("textbox", name="Reason")).to_have_value("The voucher was sent.")
    expect(second.get_by_role("region", name="Revisions and reviews")).to_contain_text("disputed")
    console.clear()
    # The dispute is decided on the page as it is now.
    second.get_by_label("What you do").select_option("reject_dispute")
    second.get_by_role("button", name="Save the review").click()
    expect(second.get_by_role("status").first).to_have_text("Your review was saved.")
    expect(second.get_by_role("region", name="Revisions and reviews")).to_contain_text(
        "rejected the dispute"
    )


def test_an_accepted_dispute_has_the_answers_that_it_demands(
    demo: Demo, page_of: Callable[..., Page]
) -> None:
    path = demo.evaluation("demo-chat-slow-night")
    page = page_of("reviewer")
    page.goto(path)
    greeting = criterion(page, "Greeting")
    before = greeting.locator(".answer").inner_text()
    choose(page, "Greeting")
    greeting.get_by_label("Answer").select_option("not_applicable")
    expect(page.locator("[data-changes]")).to_have_text("1 change")
    expect(page.locator(".preview")).to_contain_text("\u2192")
    score = re.findall(r"\u2192 (\d+)", page.locator(".preview").inner_text())[0]
    open_review(page)
    page.get_by_label("What you do").select_option("dispute")
    page.get_by_role("textbox", name="Reason").fill("The bot had greeted already.")
    page.get_by_role("button", name="Save the review").click()
    expect(page.get_by_role("status").first).to_have_text("Your review was saved.")
    assert criterion(page, "Greeting").locator(".answer").inner_text() == before
    lead = page_of("lead")
    lead.goto("/")
    expect(lead.get_by_role("link", name=re.compile("dispute"))).to_be_visible()
    lead.goto("/review?tab=disputes")
    row = lead.locator("[data-row]", has=lead.locator(f"a[href^='{path}']"))
    row.get_by_role("button", name="Review the evaluation").click()
    open_review(lead)
    lead.get_by_label("What you do").select_option("accept_dispute")
    lead.get_by_role("textbox", name="Reason").fill("Agreed.")
    lead.get_by_role("button", name="Save the review").click()
    expect(lead.get_by_role("status").first).to_have_text("Your review was saved.")
    expect(lead.locator(".score b")).to_have_text(score)
    history = lead.get_by_role("region", name="Revisions and reviews")
    expect(history).to_contain_text("accepted the dispute")


def test_judging_again_opens_a_revision_that_compares_itself(
    demo: Demo, page_of: Callable[..., Page]
) -> None:
    page = page_of("reviewer")
    # No override teaches its engagement, so nothing differs.
    page.goto(demo.evaluation("demo-call-thursday-fine"))
    bar = page.get_by_role("progressbar", name="Progress")
    # Workers end when they have been idle for a while, and the scheduler starts them.
    wait_until(lambda: "cqe: evaluation" not in demo.process.children().values(), 30)
    scheduler = demo.process.child("cqe: scheduler")
    os.kill(scheduler, signal.SIGSTOP)
    try:
        page.get_by_role("button", name="Judge again").click()
        expect(page.get_by_role("status").first).to_contain_text("is judged again")
        expect(bar).to_have_js_property("value", 0)
        page.evaluate("document.body.dataset.opened = 'once'")
        with demo.runtime.db.writing() as session:
            lease = judgements.claim(session, "")
            assert lease
            judgements.begin(session, lease)
        expect(page.get_by_text("Being judged")).to_be_visible()
        expect(bar).to_have_js_property("value", 50)
        assert page.evaluate("document.body.dataset.opened") == "once"
        with demo.runtime.db.writing() as session:
            judgements.release(session, lease, due_at=utc_now(), counts=False)
    finally:
        os.kill(scheduler, signal.SIGCONT)
    expect(page.get_by_role("heading", name="Changed since revision 1")).to_be_visible()
    expect(page.get_by_text("No answer differs.")).to_be_visible()
    page.get_by_role("link", name="Revision 1").click()
    expect(
        page.get_by_text("Another revision of this conversation is the current one.")
    ).to_be_visible()


def test_a_browser_plays_the_copy_of_what_it_cannot_play(demo: Demo, page: Page) -> None:
    caller = demo.process.caller()
    recording = upload(caller, THREE_GP.read_bytes(), contentType="audio/mp4")
    wave = f"/audio-files/{recording}/waveform"
    wait_until(lambda: caller.get(wave).json()["data"]["status"] == "ready")
    page.goto("/")
    length = page.evaluate(
        """url => new Promise((resolve, reject) => {
            const audio = new Audio(url);
            audio.addEventListener("loadedmetadata", () => resolve(audio.duration));
            audio.addEventListener("error", () => reject(audio.error.message));
        })""",
        f"/recordings/{recording}/sound?original",
    )
    assert length == pytest.approx(11.02, abs=0.1)


def test_paused_listeners_leave_the_service_free(demo: Demo) -> None:
    body = b"RIFF" + bytes(4 << 20)
    recording = upload(demo.process.caller(), body)
    add_user(demo.runtime, "admin", "listener")
    visitor = Visitor(demo.base)
    visitor.sign_in("listener")
    request = (
        f"GET /recordings/{recording}/sound?original HTTP/1.1\r\nHost: 127.0.0.1:{demo.process.port}\r\n"
        f"Cookie: {visitor.cookie}\r\nRange: bytes=0-\r\n\r\n"
    )
    with ExitStack() as paused:
        for _ in range(20):
            listener = paused.enter_context(
                socket.create_connection(("127.0.0.1", demo.process.port), timeout=10)
            )
            listener.sendall(request.encode())
            assert listener.recv(12) == b"HTTP/1.1 206"
        assert demo.process.health()["code"] == 200
