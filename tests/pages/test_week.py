"""A working week in a browser: plan, reviews, a dispute, coaching, an alert, a digest, and who sees what."""

import re
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
import time_machine
from playwright.sync_api import Browser, BrowserContext, Page, expect

from app.alerts import jobs as alerts
from app.core.clock import utc_now
from app.core.runtime import Runtime
from app.factory import create_app
from app.people import service as people
from app.reviews import jobs as reviews
from app.webhooks import mail_server
from app.webhooks.enums import MailSecurity
from tests.caller import Caller
from tests.conftest import caller_of, listening
from tests.contacts import HELPFUL, judge, put, put_chat
from tests.mail_server import PASSWORD as MAIL_PASSWORD
from tests.mail_server import USER, Mailbox, running_mail_server
from tests.pages.conftest import sign_in
from tests.receiver import Receiver
from tests.running import note_started
from tests.visitor import PASSWORD, add_user
from tests.waiting import wait_until
from tests.webhook_harness import WebhookHarness

AGENTS = {"leeds": ("Anna", "Marcus", "Sofia"), "pune": ("Priya", "Rohan", "Kiran")}
LEADS = {"leeds": "lena", "pune": "pavel"}
REVIEWERS = ("helen", "omar")
RUDE = (
    ("customer", "Hello, my parcel has not arrived and I am worried about it."),
    ("agent", "That is your own fault, you idiot. Shut up and stop wasting my time."),
    ("customer", "Pardon? I want my parcel."),
    ("agent", "I do not care. Goodbye."),
)


class Team:
    """The service with the team, on the days of a week that has passed."""

    def __init__(self, harness: WebhookHarness, base: str, browser: Browser) -> None:
        self.runtime: Runtime = harness.runtime
        self.base, self.browser = base, browser
        self.client: Caller = caller_of(self.runtime, base)
        self.centers: dict[str, str] = {}
        self.agents: dict[str, str] = {}
        self.users: dict[str, str] = {}
        self.errors: list[str] = []
        self._contexts: list[BrowserContext] = []
        today = utc_now().replace(hour=0, minute=0, second=0, microsecond=0)
        self.monday = today - timedelta(days=today.weekday() + 7)

    def at(self, day: int, hour: int) -> Any:
        """Travel to an hour of a day of the week; 0 is Monday."""
        return time_machine.travel(self.monday + timedelta(days=day, hours=hour))

    def settle(self) -> None:
        """Make the call centres, the agents and the accounts."""
        add_user(self.runtime, "admin", "adele")
        for center, names in AGENTS.items():
            self.centers[center] = put(self.client, "call-centers", center, {"name": center})["id"]
            self._add(LEADS[center], "lead", call_center_ids=[self.centers[center]])
            for name in names:
                body = {"name": name, "callCenterId": self.centers[center]}
                self.agents[name] = put(self.client, "executives", name, body)["id"]
                self._add(name.lower(), "agent", executive_id=self.agents[name])
        for name in REVIEWERS:
            self._add(name, "reviewer")

    def talk(self, name: str, key: str, at: datetime, lines: Any = HELPFUL) -> None:
        """Put in a chat of an agent."""
        sent = [
            {"role": role, "text": text, "sentAt": (at + timedelta(seconds=20 * place)).isoformat()}
            for place, (role, text) in enumerate(lines)
        ]
        center = next(center for center, names in AGENTS.items() if name in names)
        about = {"executiveId": self.agents[name], "callCenterId": self.centers[center]}
        put_chat(self.client, key, messages=sent, subject=f"Chat of {name}", **about)

    def page_of(self, name: str) -> Page:
        """Sign somebody in, in a browser of their own."""
        context = self.browser.new_context(base_url=self.base, reduced_motion="reduce")
        context.on("weberror", lambda failure: self.errors.append(str(failure.error)))
        self._contexts.append(context)
        page = context.new_page()
        sign_in(page, name, PASSWORD)
        return page

    def close(self) -> None:
        for context in self._contexts:
            context.close()
        self.client.close()

    def _add(self, name: str, role: str, **teams: Any) -> None:
        user_id = self.users[name] = add_user(self.runtime, role, name)
        with self.runtime.db.writing() as session:
            people.change_role(session, people.get(session, user_id), role, **teams)


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    with running_mail_server() as mailbox:
        yield mailbox


@pytest.fixture
def team(harness: WebhookHarness, browser: Browser, mailbox: Mailbox) -> Iterator[Team]:
    app = create_app(harness.runtime.settings)
    note_started(app)
    with listening(app) as base:
        team = Team(harness, base, browser)
        with team.runtime.db.writing() as session:
            mail_server.replace(
                session,
                team.runtime.keyring,
                host="localhost",
                port=mailbox.port,
                security=MailSecurity.STARTTLS,
                user=USER,
                sender="quality@example.com",
                password=MAIL_PASSWORD,
            )
        yield team
        team.close()
    assert team.errors == []


@pytest.mark.long
def test_a_team_works_a_week(
    team: Team, harness: WebhookHarness, receiver: Receiver, mailbox: Mailbox
) -> None:
    with team.at(0, 7):
        team.settle()
        for number, name in enumerate(team.agents):
            for day in (4, 6):
                team.talk(name, f"{name}-{day}", team.monday - timedelta(days=day, minutes=number))
        judge()
        tell(team, receiver)
    with team.at(0, 8):
        draw(team)
    with team.at(1, 9):
        reviewed = review(team)
    with team.at(2, 9):
        dispute(team, reviewed)
    with team.at(2, 15):
        coach(team, reviewed)
    harness.start_sender()
    with team.at(3, 10):
        before = time.monotonic()
        team.talk("Marcus", "rude", team.monday + timedelta(days=3, hours=9), RUDE)
        judge()
        alerts.send_alerts(team.runtime)
        wait_until(lambda: bool(receiver.received("/services/T0/B0/token")))
        assert time.monotonic() - before < 60
    [posted] = receiver.received("/services/T0/B0/token")
    assert b"Marcus" in posted.body
    with team.at(4, 17):
        alerts.send_digests(team.runtime)
    [letter] = mailbox.wait_for(1)
    said = str(letter.get_body(("plain",)))
    assert "Auto-fails of 30 days without a review: 1" in said
    assert "Marcus, chat" in said
    assert "Rohan" not in said
    with team.at(4, 18):
        see_own_only(team, reviewed)


def tell(team: Team, receiver: Receiver) -> None:
    """Let auto-fails ring in Slack, and the week of Leeds come by mail on Friday at 16 o'clock."""

    def made(path: str, **body: Any) -> str:
        answer = team.client.post(f"/alerts/{path}", body)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["data"]["id"])

    slack = made("targets", kind="slack", address=receiver.url("/services/T0/B0/token"))
    mail = made("targets", kind="email", address="lena@example.com")
    made("rules", name="Auto-fails", trigger="auto_fail", targetIds=[slack])
    filters = {"callCenterId": team.centers["leeds"]}
    made("digests", name="Leeds", targetId=mail, every="week", weekday=4, hour=16, filters=filters)


def draw(team: Team) -> None:
    page = team.page_of("adele")
    page.goto("/review/plans")
    page.get_by_label("Name").fill("Weekly")
    page.get_by_label("Conversations of each agent and week").fill("1")
    for name in REVIEWERS:
        page.get_by_role("checkbox", name=name).check()
    page.get_by_role("button", name="Save the plan").click()
    expect(page.get_by_text("Weekly").first).to_be_visible()
    reviews.draw_plans(team.runtime)
    drawn = team.client.get("/reviews/assignments").json()["data"]
    assert {row["executiveId"] for row in drawn} == set(team.agents.values())
    assert len(drawn) == len(team.agents)


def review(team: Team) -> dict[str, str]:
    """Review all that was drawn, the first of each reviewer in the browser; return the pages of the agents."""
    paths: dict[str, str] = {}
    for name in REVIEWERS:
        page = team.page_of(name)
        page.goto("/review/mine")
        expect(page.get_by_text(re.compile("0 of 3 of the week"))).to_be_visible()
        mine = {
            str(link.text_content()).rpartition(" of ")[2]: str(link.get_attribute("href"))
            for link in page.locator("td a[href^='/evaluations/']").all()
        }
        paths |= mine
        first, *rest = mine.values()
        page.goto(first)
        page.locator("details.review > summary").click()
        page.get_by_label("Reason", exact=True).fill("Heard it.")
        page.get_by_role("button", name="Save the review").click()
        expect(page.get_by_text("Your review was saved.")).to_be_visible()
        for path in rest:
            body = {"action": "confirm", "reviewer": name, "reviewerRef": team.users[name]}
            assert team.client.post(f"{path}/reviews", body).status_code == 201
        page.goto("/review/mine")
        expect(page.get_by_text("3 of 3 of the week")).to_be_visible()
    return paths


def dispute(team: Team, reviewed: dict[str, str]) -> None:
    page = team.page_of("anna")
    page.goto(reviewed["Anna"])
    page.locator("#criterion-opening\\.greeting summary").click()
    answer = page.get_by_label("Answer of Greeting")
    wanted = answer.locator("option").nth(2).get_attribute("value")
    answer.select_option(value=wanted)
    page.locator("[name='reason.opening.greeting']").fill("My name was in the signature.")
    page.locator("details.review > summary").click()
    page.get_by_label("Reason", exact=True).fill("Please look again.")
    page.get_by_role("button", name="Send the dispute").click()
    expect(page.get_by_text("Your dispute was sent.")).to_be_visible()
    lead = team.page_of("lena")
    lead.goto(reviewed["Anna"])
    lead.locator("details.review > summary").click()
    lead.get_by_label("What you do").select_option("accept_dispute")
    lead.get_by_label("Reason", exact=True).fill("You are right.")
    lead.get_by_role("button", name="Save the review").click()
    expect(lead.get_by_text("Your review was saved.")).to_be_visible()
    page.goto("/my/results")
    expect(page.get_by_text("Dispute accepted").first).to_be_visible()


def coach(team: Team, reviewed: dict[str, str]) -> None:
    lead = team.page_of("lena")
    lead.goto(f"/coaching/new?evaluationId={reviewed['Marcus'].rpartition('/')[2]}")
    lead.get_by_label("Day").fill(f"{team.monday + timedelta(days=2):%Y-%m-%d}")
    lead.get_by_label("Greeting").check()
    lead.get_by_label("Agreed steps").fill("Greet with the name.")
    lead.get_by_label("State").select_option("held")
    lead.get_by_role("button", name="Save the session").click()
    expect(lead.get_by_role("heading", name="Coaching of Marcus")).to_be_visible()
    address = lead.url
    page = team.page_of("marcus")
    page.goto("/my/coaching")
    page.locator("td a[href^='/coaching/']").click()
    page.get_by_role("button", name="Acknowledge").click()
    expect(page.get_by_text("You have acknowledged the coaching session.")).to_be_visible()
    lead.goto(address)
    expect(lead.get_by_text("Acknowledged by the agent").first).to_be_visible()


def see_own_only(team: Team, reviewed: dict[str, str]) -> None:
    """Look as an agent at every page with figures or lists: nothing there is of anybody else."""
    page = team.page_of("anna")
    others = [name for name in team.agents if name != "Anna"]
    for path in ("/my/results", "/my/coaching", "/evaluations", "/", "/trends", reviewed["Anna"]):
        page.goto(path)
        text = page.locator("body").inner_text()
        assert not [name for name in others if name in text], path
        assert not [name for name in REVIEWERS if name in text], path
    page.goto("/evaluations")
    expect(page.locator("main")).to_contain_text("2")
    for name in others:
        answer = page.goto(reviewed[name])
        assert answer is not None
        assert answer.status == 404, name
