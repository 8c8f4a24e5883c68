"""Jobs of a team without a developer, played in a browser on a new service: the time of each.

`python -m bench.team_jobs [FOLDER]`; the pictures of two jobs go to FOLDER, `docs/images` by default.
It needs the test tools and Debian's package chromium-headless-shell.
"""

import csv
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect, sync_playwright

from app.core.clock import utc_now
from app.demo import sample_data
from app.imports.formats.records import Kind
from bench.screenshots import WINDOW, WITHIN_S, picture
from tests.pages.conftest import CHROMIUM, Demo, sign_in
from tests.visitor import PASSWORD, add_user
from tests.walks.service_process import UP, ServiceProcess

TICKETS, CONVERSATIONS, REVIEWS = 300, 200, 20
CALLS = ("delivery-solved", "refund-on-hold", "talked-over")
NOTE = "Zanzibar: this customer is an idiot."
# The last line of a conversation, and whether it tells the ticket number.
ENDS = {
    "Your ticket number is 4711.": "yes",
    "I cannot see your ticket number.": "no",
    "For later, your ticket number: 90210.": "yes",
    "There is no ticket number yet.": "no",
}
Row = Sequence[str]


def play(service: Demo, lead: Page, reviewer: Page, files: Path, pictures: Path) -> None:
    """Let each person do their job, and print how long it takes."""
    tickets, parts, calls, log = write_files(files)
    what = f"{TICKETS} tickets, {CONVERSATIONS} conversations and {len(CALLS)} calls"
    with timed(f"A team lead brings in {what}"):
        bring_table(reviewer, tickets, "zendesk")
        bring_table(reviewer, parts, "intercom")
        bring_calls(reviewer, calls, log)
    with timed("The service judges them"):
        service.wait_judged(within_s=WITHIN_S)
    reviewer.goto("/evaluations?days=all&said=zanzibar")
    print(f"  private notes that are judged: {reviewer.locator('[data-row]').count()}")
    with timed("A QA lead adds a criterion, tries it and publishes it for one campaign"):
        add_criterion(lead)
        print(f"  answers in ten chats: {right_answers(lead)} right")
        publish(lead, pictures)
    lead.goto('/evaluations?days=all&said="cannot+see"')
    picture(lead, pictures / "search.webp")
    with timed(f"A reviewer does {REVIEWS} reviews"):
        review(reviewer)


@contextmanager
def timed(what: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    print(f"{what}: {time.monotonic() - began:.0f} s", flush=True)


def write_files(folder: Path) -> tuple[Path, Path, list[Path], Path]:
    """Write the chats of the demo as a help desk and a messenger export them, and calls with a log."""
    now = utc_now().replace(microsecond=0)
    chats = sample_data.records(Kind.CONVERSATION)
    tickets: list[Row] = [
        ("ticket_id", "campaign", "author_role", "author_name", "html_body", "public", "created_at")
    ]
    parts: list[Row] = [
        ("conversation_id", "part_type", "author_type", "author_name", "body", "created_at")
    ]
    for number in range(TICKETS):
        at = now - timedelta(days=1 + number % 60)
        about = str(4000 + number), ("Deliveries", "Bills")[number % 2]
        for place, (role, text) in enumerate(_lines(chats[number % len(chats)])):
            sent = f"{at + timedelta(minutes=20 * place):%Y-%m-%d %H:%M:%S} UTC"
            author = ("agent", "Ann Lee") if role == "agent" else ("end-user", "Customer")
            tickets.append((*about, *author, f"<p>{text}</p>", "true", sent))
            if place == 1:
                tickets.append((*about, "agent", "Ann Lee", f"<p>{NOTE}</p>", "false", sent))
    for number in range(CONVERSATIONS):
        at = now - timedelta(days=1 + number % 60)
        end = [*ENDS][number % len(ENDS)]
        for place, (role, text) in enumerate([*_lines(chats[number % len(chats)]), ("agent", end)]):
            sent = str(int((at + timedelta(seconds=40 * place)).timestamp()))
            author = ("admin", "Ben Roy") if role == "agent" else ("user", "Customer")
            parts.append((f"part-{number}", "comment", *author, f"<p>{text}</p>", sent))
    log: list[Row] = [("recording_sid", "start_time", "direction")]
    calls = []
    for number, name in enumerate(CALLS):
        calls.append(folder / f"RE{number}.ogg")
        calls[-1].write_bytes(sample_data.folder().joinpath(f"{name}.ogg").read_bytes())
        at = now - timedelta(days=2 + number)
        log.append((f"RE{number}", f"{at:%Y-%m-%d %H:%M:%S} UTC", "inbound"))
    return (
        _write(folder / "tickets.csv", tickets),
        _write(folder / "parts.csv", parts),
        calls,
        _write(folder / "calls.csv", log),
    )


def _lines(chat: dict[str, Any]) -> list[tuple[str, str]]:
    return [(line["role"], line["text"]) for line in chat["messages"]]


def _write(file: Path, rows: Sequence[Row]) -> Path:
    with file.open("w", newline="", encoding="utf-8") as table:
        csv.writer(table).writerows(rows)
    return file


def bring_table(page: Page, file: Path, preset: str) -> None:
    """Drop an export, look at its check, and import it."""
    page.goto("/add")
    page.get_by_text("Options for conversation files").click()
    page.get_by_label("Columns of CSV are those of").select_option(preset)
    page.get_by_text("Create the campaigns").click()
    page.get_by_label("Drop files here").set_input_files(file)
    page.get_by_role("link", name=f"Check of {file.name}").click()
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_text("All evaluations, latest first")).to_be_visible()


def bring_calls(page: Page, calls: Sequence[Path], log: Path) -> None:
    """Drop recordings with their log."""
    page.goto("/add")
    page.get_by_label("Channels of recordings").select_option("agent-left")
    page.get_by_text("Options for recordings").click()
    page.get_by_label("Log of calls").set_input_files(log)
    page.get_by_label("Columns of the log are those of").select_option("twilio")
    page.get_by_label("Drop files here").set_input_files(calls)
    recordings = page.get_by_role("region", name="Recordings of the last")
    expect(recordings.locator("tbody tr")).to_have_count(len(calls))


def add_criterion(page: Page) -> None:
    """Add "Tells the ticket number" to a scorecard for chats."""
    page.goto("/scorecards")
    page.get_by_label("A new scorecard that starts").select_option("empty, for the channel Chat")
    page.get_by_role("button", name="Begin a draft").click()
    page.get_by_label("Name", exact=True).fill("Chats with a ticket number")
    page.get_by_role("button", name="Add a criterion of your own").click()
    criterion = page.locator("#criterion-0")
    criterion.get_by_label("Title").fill("Tells the ticket number")
    criterion.get_by_label("Question").fill("Does the agent tell the ticket number?")
    criterion.get_by_label("Weight").fill("100")
    criterion.get_by_label("Judged by").select_option("Phrases that must be said")
    criterion.get_by_label("Statement 1", exact=True).fill("the ticket number")
    criterion.get_by_label("Phrases of statement 1").fill("ticket number")


def right_answers(page: Page) -> int:
    """Count the answers that are right among those shown for ten conversations."""
    shown = page.locator("#criterion-0 [data-hits-shown] li")
    expect(shown).to_have_count(10)
    return sum(_is_right(hit) for hit in shown.all_inner_texts())


def _is_right(hit: str) -> bool:
    expected = next((answer for end, answer in ENDS.items() if end in hit), "no")
    return hit.startswith(expected)


def publish(page: Page, pictures: Path) -> None:
    """Publish the draft, and use it for one campaign."""
    page.get_by_role("button", name="Publish").click()
    page.get_by_label("these campaigns").check()
    page.locator("#use").get_by_label("Deliveries").check()
    picture(page, pictures / "use.webp", "#use form")
    page.get_by_role("button", name="Save the use").click()
    expect(page.get_by_text("It counts for new evaluations")).to_be_visible()


def review(page: Page) -> None:
    """Ask for reviews of the newest conversations, and confirm one after the other."""
    page.goto(f"/evaluations?days=all&status=completed&pageSize={REVIEWS}")
    page.get_by_label("Mark all of this page").check()
    page.get_by_role("button", name="Request review").click()
    page.goto("/review?tab=requested")
    page.get_by_role("button", name="Review the evaluation").first.click()
    for number in range(1, REVIEWS + 1):
        page.get_by_role("button", name="Save and next").click()
        page.wait_for_url(re.compile(rf"done={number}\b|/review\?"))


def main() -> None:
    """Start a service without anything in it, and the browsers of two people."""
    pictures = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images")
    with tempfile.TemporaryDirectory() as data, sync_playwright() as driver:
        process = ServiceProcess(Path(data) / "instance", command=[*UP])
        try:
            service = Demo(process.wait_ready())
            browser = driver.chromium.launch(executable_path=CHROMIUM)
            pages = {}
            for role in ("lead", "reviewer"):
                add_user(service.runtime, role, role)
                pages[role] = browser.new_page(base_url=service.base, viewport=WINDOW)
                pages[role].set_default_timeout(WITHIN_S * 1000)
                sign_in(pages[role], role, PASSWORD)
            play(service, pages["lead"], pages["reviewer"], Path(data), pictures)
            browser.close()
            service.runtime.db.engine.dispose()
        finally:
            process.end()


if __name__ == "__main__":
    main()
