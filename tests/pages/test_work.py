"""The page of the service's work in a browser."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.pages.accessibility import check_accessibility


def test_a_recording_without_sound_fails_on_an_open_page_and_is_tried_again(
    page_of: Callable[..., Page], tmp_path: Path
) -> None:
    broken = tmp_path / "broken.wav"
    broken.write_text("no sound at all")
    page = page_of("reviewer")
    work = page.context.new_page()
    work.goto("/work")
    page.goto("/add")
    page.get_by_label("Drop files here").set_input_files(broken)
    dropped = page.get_by_role("region", name="Dropped here")
    expect(dropped.get_by_text("Failed:")).to_be_visible(timeout=120_000)
    failed = work.get_by_role("region", name="Failed")
    expect(failed.get_by_role("row", name="broken.wav")).to_be_visible()
    check_accessibility(work)
    failed.get_by_role("row", name="broken.wav").get_by_role("button").click()
    expect(work.get_by_role("status").first).to_contain_text("It is tried again.")
    check_accessibility(work)
