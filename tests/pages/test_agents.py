"""Pages of an agent in a browser: accessible, not cut on narrow screens, and leading to a dispute."""

import os
from collections.abc import Callable

from playwright.sync_api import Page, expect

from app.coaching import service as coaching
from app.core.clock import utc_now
from app.evaluations import service as evaluations
from app.people import service as people
from tests.pages.accessibility import check_accessibility, check_narrow_screens
from tests.pages.conftest import Demo


def test_an_agent_reads_their_pages_and_disputes(demo: Demo, page_of: Callable[..., Page]) -> None:
    path = demo.evaluation("demo-chat-data-worry")
    page = page_of("agent")
    with demo.runtime.db.writing() as session:
        row = evaluations.find(session, path.removeprefix("/evaluations/"))
        user = people.find_by_name(session, f"agent-{os.getpid()}")
        assert user is not None
        people.change_role(session, user, "agent", executive_id=row.executive_id)
        planned = {
            "executive_id": row.executive_id,
            "scorecard_id": row.scorecard_id,
            "at": utc_now(),
            "criteria": ["opening.greeting"],
            "evidence": [{"evaluation_id": row.id, "quote": None}],
            "steps": "Greet with the name.",
            "notes_for": "both",
            "state": "held",
        }
        made = coaching.add_session(session, planned, coach="Lea", created_by=user.id)
    for address in ("/my/results", path, "/my/coaching", f"/coaching/{made['id']}"):
        page.goto(address)
        check_accessibility(page)
        check_narrow_screens(page)
    page.get_by_role("button", name="Acknowledge").click()
    expect(page.get_by_text("You have acknowledged the coaching session.")).to_be_visible()

    page.goto(path)
    page.locator("#criterion-opening\\.greeting summary").click()
    page.get_by_label("Answer of Greeting").select_option(index=2)
    page.locator("[name='reason.opening.greeting']").fill("I did greet.")
    page.locator("details.review > summary").click()
    page.get_by_label("Reason", exact=True).fill("Please look again.")
    page.get_by_role("button", name="Send the dispute").click()
    expect(page.get_by_text("Your dispute was sent.")).to_be_visible()
    page.goto("/my/results")
    expect(page.get_by_text("Disputed").first).to_be_visible()
