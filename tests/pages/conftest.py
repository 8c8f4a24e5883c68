"""Fixtures of browser tests: one service with the demo, one browser, and pages of signed-in people.

A page fails its test on any error in the console: a refusal by the CSP, a missing file, an
exception. A test that provokes one takes `console` and clears it.
"""

import os
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    expect,
    sync_playwright,
)
from sqlalchemy import Select, select

from app.core.runtime import Runtime
from app.core.settings import Settings
from app.evaluations.enums import ENDED
from app.evaluations.models import Evaluation
from app.wiring import build_runtime
from tests.visitor import PASSWORD, add_user
from tests.waiting import wait_until
from tests.walks.service_process import UP, ServiceProcess
from tests.webhook_harness import harness, make_harness, receiver

__all__ = ["harness", "make_harness", "receiver"]

# The shell has no window, and takes a quarter of the processor time.
CHROMIUM = next(
    filter(os.path.exists, ("/usr/bin/chromium-headless-shell", "/usr/bin/chromium")), ""
)
# The speech model needs its time on a busy machine.
DEMO_WITHIN_S = 240
# No test passes or fails by the speed of the machine: this only ends a wait that is in vain.
SHOWN_WITHIN_MS = 60_000
expect.set_options(timeout=SHOWN_WITHIN_MS)


class Demo:
    """The running service with the demo, and a user of each role on demand."""

    def __init__(self, process: ServiceProcess, database_url: str = "") -> None:
        self.process = process
        self.base = f"http://127.0.0.1:{process.port}"
        settings = Settings(
            data_dir=process.data_dir,
            database_url=database_url,
            redis_url="none",
            sqlite_synchronous="NORMAL",
        )
        self.runtime: Runtime = build_runtime(settings)
        self._states: dict[str, Any] = {}

    @property
    def admin_password(self) -> str:
        """The one-time password of the first start."""
        text = (self.process.data_dir / "first-key.txt").read_text()
        found = re.search(r"^Dashboard  admin / (\S+)$", text, re.MULTILINE)
        assert found, text
        return found[1]

    def evaluation(self, external_id: str) -> str:
        """Return the path of the page of an evaluation of the demo, once it has ended."""
        found = select(Evaluation.id).where(
            Evaluation.external_id == external_id,
            Evaluation.is_current,
            Evaluation.status.in_(ENDED),
        )
        wait_until(lambda: self._scalar(found), DEMO_WITHIN_S, every_s=0.2)
        return f"/evaluations/{self._scalar(found)}"

    def wait_judged(self, *channels: str, within_s: int = DEMO_WITHIN_S) -> None:
        """Wait until every conversation of these channels, or of all, has been judged."""
        chosen = select(Evaluation.id)
        if channels:
            chosen = chosen.where(Evaluation.channel.in_(channels))
        waiting = chosen.where(Evaluation.status.not_in(ENDED))
        wait_until(
            lambda: self._scalar(chosen) and not self._scalar(waiting),
            within_s,
            every_s=0.2,
        )

    def signed_in(self, browser: Browser, role: str) -> Any:
        """Return the cookies of a person with this role; each role signs in once."""
        if role not in self._states:
            name = f"{role}-{os.getpid()}"
            add_user(self.runtime, role, name)
            context = browser.new_context(base_url=self.base)
            sign_in(context.new_page(), name, PASSWORD)
            self._states[role] = context.storage_state()
            context.close()
        return self._states[role]

    def _scalar(self, query: Select[str]) -> str | None:
        with self.runtime.db.reading() as session:
            return session.scalar(query.limit(1))


def sign_in(page: Page, name: str, password: str) -> None:
    """Sign in by the form; where the page leads is up to the account."""
    page.goto("/sign-in")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda url: "/sign-in" not in url)


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory, shared_database_url: str) -> Iterator[Demo]:
    """One `up --demo` for all browser tests of a session."""
    process = ServiceProcess(
        tmp_path_factory.mktemp("pages") / "instance",
        command=[*UP, "--demo", "small"],
        CQE_DATABASE_URL=shared_database_url,
    )
    started = Demo(process.wait_ready(), shared_database_url)
    wait_until(lambda: "The demo is loaded" in process.text)
    yield started
    started.runtime.db.engine.dispose()
    process.end()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all browser tests of a session."""
    if not CHROMIUM and os.environ.get("CQE_TEST_BROWSER") != "required":
        pytest.skip("no browser: apt install chromium-headless-shell")
    with sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=CHROMIUM)
        yield launched
        launched.close()


@pytest.fixture
def console() -> list[str]:
    """Errors of every page of the test; the test fails unless the list is empty at its end."""
    return []


@pytest.fixture
def open_context(
    browser: Browser, demo: Demo, console: list[str]
) -> Iterator[Callable[..., BrowserContext]]:
    """Open a browser of its own: `open_context("reviewer")`, or without a role signed out."""
    contexts: list[BrowserContext] = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error":
            console.append(f"{message.text} ({message.location.get('url', '')})")

    def open_one(role: str = "", **options: Any) -> BrowserContext:
        if role:
            options["storage_state"] = demo.signed_in(browser, role)
        # A page that is left during its transition would report that the transition was skipped.
        context = browser.new_context(base_url=demo.base, reduced_motion="reduce", **options)
        context.set_default_timeout(SHOWN_WITHIN_MS)
        context.on("console", note)
        context.on("weberror", lambda failure: console.append(str(failure.error)))
        contexts.append(context)
        return context

    yield open_one
    for context in contexts:
        context.close()
    assert console == []


@pytest.fixture
def page(open_context: Callable[..., BrowserContext]) -> Page:
    """A page of an admin."""
    return open_context("admin").new_page()


@pytest.fixture
def page_of(open_context: Callable[..., BrowserContext]) -> Callable[..., Page]:
    """Open a page of a person with a role: `page_of("viewer")`; `page_of()` is signed out."""
    return lambda role="", **options: open_context(role, **options).new_page()
