"""Exports in a browser: an export runs to its download while the page watches."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.pages.accessibility import check_accessibility
from tests.pages.conftest import Demo


def test_an_export_runs_to_its_download(
    demo: Demo, page_of: Callable[..., Page], console: list[str]
) -> None:
    demo.evaluation("demo-chat-parcel-late")
    page = page_of("reviewer")
    page.goto("/exports")
    page.get_by_label("Rows of").select_option("criteria")
    page.get_by_text("Filters", exact=True).click()
    page.get_by_label("Score from").fill("many")
    check_accessibility(page)
    page.get_by_role("button", name="Request the export").click()
    expect(page.get_by_label("Score from")).to_be_focused()
    console.clear()
    check_accessibility(page)
    page.get_by_label("Score from").fill("1")
    page.get_by_role("button", name="Request the export").click()
    expect(page.get_by_role("status").first).to_contain_text("The export was requested.")
    page.get_by_label("File name").fill("typed meanwhile")
    link = page.get_by_role("link", name="Download Criteria")
    expect(link).to_be_visible()
    expect(page.get_by_label("File name")).to_have_value("typed meanwhile")
    check_accessibility(page)
    with page.expect_download() as waiting:
        link.click()
    assert waiting.value.suggested_filename.endswith(".csv")
    assert len(Path(waiting.value.path()).read_text().splitlines()) > 1
