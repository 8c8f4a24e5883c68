"""Pages of webhooks and keys over HTTP: secrets show once, a receiver is switched on again."""

import html
import re
from collections.abc import Callable
from datetime import timedelta

import pytest

from app.core.clock import utc_now
from app.core.runtime import Runtime
from app.webhooks import deliveries, service
from app.webhooks.models import Delivery
from tests.caller import Caller
from tests.visitor import Visitor, add_user


@pytest.fixture
def admin(base: str, runtime: Runtime) -> Visitor:
    add_user(runtime, "admin")
    visitor = Visitor(base)
    assert visitor.sign_in("admin").status_code == 303
    return visitor


def create_webhook(admin: Visitor, **form: str) -> tuple[str, str]:
    """Create a webhook by the form; return its path and its secret."""
    admin.get("/webhooks")
    values = {"url": "https://8.8.8.8/hook", "events": "evaluation.completed", **form}
    created = admin.post("/webhooks", values)
    assert created.status_code == 201, created.text
    assert "Content-Encoding" not in created.headers
    [secret] = re.findall(r"whsec_[^<]+", created.text)
    [webhook_id] = set(re.findall(r"/webhooks/(wh_\w+)/test", created.text))
    return f"/webhooks/{webhook_id}", secret


def test_a_webhook_is_created_and_its_secret_shows_once(admin: Visitor) -> None:
    path, secret = create_webhook(admin, description="crm")
    shown = admin.get(path).text
    assert secret not in shown
    assert "Healthy" in shown
    assert "crm" in admin.get("/webhooks").text
    rotated = admin.post(f"{path}/secret").text
    assert "whsec_" in rotated
    assert secret not in rotated


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({"url": "https://10.0.0.1/", "events": "export.ready"}, "url"),
        ({"url": "", "events": "export.ready"}, "url"),
        ({"url": "https://8.8.8.8/"}, "events"),
    ],
)
def test_a_wrong_webhook_is_a_message_at_its_field(
    admin: Visitor, form: dict[str, str], field: str
) -> None:
    admin.get("/webhooks")
    answer = admin.post("/webhooks", form)
    assert answer.status_code == 422
    assert f'id="{field}-problem"' in answer.text


def test_a_webhook_that_was_switched_off_is_tested_switched_on_and_caught_up(
    admin: Visitor, runtime: Runtime
) -> None:
    path, _ = create_webhook(admin)
    webhook_id = path.removeprefix("/webhooks/")
    with runtime.db.writing() as session:
        started = deliveries.send_test(session, webhook_id, None)
        missed = session.get(Delivery, started.delivery_id)
        assert missed is not None
        missed.trigger, missed.state, missed.finished_at = "event", "failed", utc_now()
        webhook = service.get(session, webhook_id)
        webhook.active = False
        webhook.deactivated_at = utc_now() - timedelta(days=2)
    page = admin.get(path).text
    assert "because every delivery failed" in page
    assert "0 delivered, 1 failed" in page
    assert admin.post(f"{path}/test").status_code == 303
    assert "(test)" in admin.get(path).text
    assert admin.post(f"{path}/switch", {"active": "true"}).status_code == 303
    page = admin.get(path).text
    assert "Healthy" in page
    assert "Send the 1 missed again" in page
    assert admin.post(f"{path}/recover").status_code == 303
    assert "missed again" not in admin.get(path).text
    trail = admin.get("/audit.csv").text
    for action in ("created", "tested", "changed", "recovered"):
        assert f"webhook_{action},{webhook_id}" in trail


def test_a_webhook_is_switched_off_and_deleted(admin: Visitor) -> None:
    path, _ = create_webhook(admin)
    admin.get(path)
    assert admin.post(f"{path}/switch", {"active": "false"}).status_code == 303
    assert "by hand" in admin.get(path).text
    assert admin.post(f"{path}/delete").headers["Location"] == "/webhooks?notice=webhook-deleted"
    assert admin.get(path).status_code == 404


@pytest.mark.parametrize("path", ["/keys", "/audit"])
def test_a_page_behind_the_end_of_a_list_leads_to_the_first(
    admin: Visitor, client: Caller, path: str
) -> None:
    page = admin.get(f"{path}?page=99").text
    assert "The list has only 1 page." in page
    assert f'<a href="{path}?page=1">Go to the first page</a>' in page
    assert "No entry matches" not in page


def test_a_key_shows_its_strings_once_and_works(admin: Visitor, client: Caller) -> None:
    admin.get("/keys")
    answer = admin.post("/keys", {"name": "crm", "scopes": "engagements:read"})
    assert answer.status_code == 201
    assert answer.headers["Cache-Control"] == "no-store"
    assert "Content-Encoding" not in answer.headers
    [api_key] = set(re.findall(r"cqek_\w{36}", answer.text))
    [secret] = set(re.findall(r"cqes_\w{49}", answer.text))
    assert f"Bearer {api_key}" in html.unescape(answer.text)
    [path] = re.findall(r'action="(/keys/key_\w+)/rotate"', answer.text)
    for page in (path, "/keys"):
        shown = admin.get(page).text
        assert api_key not in shown
        assert secret not in shown
    caller = Caller(admin.base, api_key, secret)
    assert caller.get("/engagements").status_code == 200
    rotated = admin.post(f"{path}/rotate", {"grace": "none"}).text
    assert api_key not in rotated
    assert caller.get("/engagements").status_code == 401
    [new_key] = set(re.findall(r"cqek_\w{36}", rotated))
    [new_secret] = set(re.findall(r"cqes_\w{49}", rotated))
    renewed = Caller(admin.base, new_key, new_secret)
    assert renewed.get("/engagements").status_code == 200
    assert admin.post(f"{path}/revoke", {"name": "other"}).status_code == 422
    assert renewed.get("/engagements").status_code == 200
    assert admin.post(f"{path}/revoke", {"name": "crm"}).status_code == 303
    assert renewed.get("/engagements").status_code == 401
    caller.close()
    renewed.close()


def test_a_key_expires_when_the_day_begins_for_the_person(admin: Visitor, client: Caller) -> None:
    admin.get("/settings")
    profile = {"displayName": "A", "theme": "dark", "letterKeys": "on"}
    assert admin.post("/settings", {**profile, "timezone": "Pacific/Kiritimati"}).status_code == 303
    form = {"name": "crm", "scopes": "usage:read", "expiresAt": "2040-01-02"}
    page = admin.post("/keys", form).text
    assert "2 Jan 2040, 00:00" in page
    assert "2040-01-01T10:00:00.000Z" in {
        key["expiresAt"] for key in client.get("/api-keys").json()["data"]
    }


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({"name": "", "scopes": "usage:read"}, "name"),
        ({"name": "x"}, "scopes"),
        ({"name": "x", "scopes": "usage:read", "ipAllowlist": "here"}, "ipAllowlist"),
        ({"name": "x", "scopes": "usage:read", "expiresAt": "2020-01-01"}, "expiresAt"),
    ],
)
def test_a_wrong_key_is_a_message_at_its_field(
    admin: Visitor, form: dict[str, str], field: str
) -> None:
    admin.get("/keys")
    answer = admin.post("/keys", form)
    assert answer.status_code == 422
    assert f'id="{field}-problem"' in answer.text


def test_usage_says_what_the_api_says(admin: Visitor, client: Caller) -> None:
    for _ in range(3):
        assert client.get("/engagements").status_code == 200
    page = admin.get("/usage").text
    summary = client.get("/usage/summary").json()
    # The summary itself was one more call.
    assert summary["usage"]["calls"]["used"] == 4
    assert re.search(r'API calls</th>\s*<td class="number">3</td>', page)
    assert re.search(r"listEngagements</code></td>\s*<td class=\"number\">3</td>", page)
    assert f'value="{summary["billingPeriod"]}"' in page
    wrong = admin.get("/usage?billingPeriod=soon")
    assert wrong.status_code == 422
    assert 'id="billingPeriod-problem"' in wrong.text
    assert "Nothing was used in this month." in admin.get("/usage?billingPeriod=2020-01").text


@pytest.mark.parametrize("path", ["/webhooks", "/keys"])
def test_these_pages_are_for_admins(
    base: str, runtime: Runtime, path: str, make_caller: Callable[..., Caller]
) -> None:
    add_user(runtime, "lead")
    lead = Visitor(base)
    lead.sign_in("lead")
    assert lead.get(path).status_code == 403
    assert f'href="{path}"' not in lead.get("/settings").text
