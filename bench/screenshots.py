"""Screenshots of the README and the docs, from a fresh demo: `python -m bench.screenshots [FOLDER]`.

FOLDER is `docs/images` by default. It needs the test tools and Debian's package chromium-headless-shell.
`bench.team_jobs` takes those of a scorecard's use and of a search.
"""

import base64
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import FilePayload, Page, ViewportSize, sync_playwright

from tests.pages.conftest import CHROMIUM, DEMO_WITHIN_S, Demo, sign_in
from tests.pages.test_evaluation import choose
from tests.visitor import PASSWORD, add_user
from tests.waiting import wait_until
from tests.walks.service_process import ServiceProcess

TABLE = b"""Ticket,By,Body,When
4711,Caller,Where is my parcel?,2026-11-21 09:30
4711,Ann Lee,Your ticket number is 4711. It comes tomorrow.,2026-11-21 09:32
"""
WINDOW: ViewportSize = {"width": 1280, "height": 800}
CALL = "demo-recording-talked-over"
WITHIN_S = 1_800


def picture(page: Page, file: Path, part: str = "body") -> None:
    """Write a part of a page as far as it is in view, in a third of the bytes of a PNG."""
    found = page.locator(part).bounding_box()
    assert found
    box = {**found, "height": min(found["height"], WINDOW["height"]), "scale": 1}
    browser = page.context.new_cdp_session(page)
    options = {"format": "webp", "quality": 85, "clip": box}
    file.write_bytes(base64.b64decode(browser.send("Page.captureScreenshot", options)["data"]))


def take(demo: Demo, page: Page, folder: Path) -> None:
    """Open each page and write its picture."""
    page.goto("/")
    picture(page, folder / "overview.webp")
    page.goto("/evaluations?sort=score")
    picture(page, folder / "evaluations.webp")
    page.goto(demo.evaluation(CALL))
    choose(page, "Empathy")
    page.mouse.move(0, 0)
    picture(page, folder / "evaluation.webp")
    take_columns(page, folder)


def take_columns(page: Page, folder: Path) -> None:
    """Drop a table with names of its own, and picture what the page asks."""
    page.goto("/add")
    table = FilePayload(name="desk.csv", mimeType="text/csv", buffer=TABLE)
    page.get_by_label("Drop files here").set_input_files(table)
    page.get_by_text("Checked, with errors").first.wait_for()
    page.get_by_role("link", name="Check of desk.csv").click()
    page.get_by_label("Caller").select_option("customer")
    page.get_by_label("Ann Lee").select_option("agent")
    page.get_by_role("button", name="Show these choices").click()
    page.get_by_role("row", name="Agent Your ticket number").wait_for()
    page.locator("main").screenshot(path=folder / "columns.png")


def main() -> None:
    """Start the demo, wait until all of it is judged, and take the pictures."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as data, sync_playwright() as driver:
        process = ServiceProcess(
            Path(data) / "instance",
            command=[sys.executable, "-P", "-m", "app.cli", "up", "--demo"],
        )
        try:
            demo = Demo(process.wait_ready())
            wait_until(lambda: "The demo is loaded" in process.text, DEMO_WITHIN_S)
            demo.wait_judged(within_s=WITHIN_S)
            add_user(demo.runtime, "lead", "nora")
            browser = driver.chromium.launch(executable_path=CHROMIUM)
            page = browser.new_page(base_url=demo.base, viewport=WINDOW)
            sign_in(page, "nora", PASSWORD)
            take(demo, page, folder)
            browser.close()
            demo.runtime.db.engine.dispose()
        finally:
            process.end()


if __name__ == "__main__":
    main()
