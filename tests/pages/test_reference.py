"""The API reference at /docs sends signed requests from the browser."""

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.pages.conftest import Demo

ROOT = Path(__file__).resolve().parents[2]


def send(operation: Locator) -> Locator:
    """Press Execute of an operation, and return the row of the answer that comes."""
    with operation.page.expect_response(lambda response: "/api/v1/" in response.url):
        operation.get_by_role("button", name="Execute").click()
    return operation.locator(".live-responses-table tbody tr").first


def test_requests_are_signed_with_the_pasted_pair_until_it_is_forgotten(
    demo: Demo, page_of: Callable[..., Page], console: list[str]
) -> None:
    pair = re.findall(r"cqe[ks]_\S+", (demo.process.data_dir / "first-key.txt").read_text())
    page = page_of()
    # Swagger UI reads the whole document before it draws, which takes a busy machine its time.
    page.set_default_timeout(60_000)
    page.goto("/docs#/engagements/createEngagement")
    form = page.locator("#pair")
    form.get_by_label("API key").fill(pair[0])
    form.get_by_label("Secret").fill(pair[1])
    form.get_by_role("button", name="Use this key").click()
    expect(form.get_by_label("Secret")).to_have_value("")
    operation = page.locator("#operations-engagements-createEngagement")
    expect(send(operation)).to_contain_text("201")
    form.get_by_role("button", name="Forget it").click()
    expect(send(operation)).to_contain_text("INVALID_API_KEY")
    assert page.evaluate("[localStorage.length, sessionStorage.length]") == [0, 0]
    assert "401" in console.pop()


def test_the_page_signs_with_the_published_client(demo: Demo, page_of: Callable[..., Page]) -> None:
    served = page_of().request.get("/docs/cqe-client.js")
    assert served.headers["content-type"].startswith("text/javascript")
    assert served.text() == (ROOT / "clients" / "javascript" / "cqe-client.js").read_text()
