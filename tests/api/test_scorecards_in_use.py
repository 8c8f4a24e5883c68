"""Use of scorecards: campaigns with a scorecard for each channel, and the default of a channel."""

from typing import Any

import pytest

from app.core.runtime import Runtime
from app.scorecards import default_scorecards
from tests.caller import Caller, findings
from tests.contacts import get, judge, put, put_call, put_chat
from tests.own_scorecards import create
from tests.scorecard_drafts import begun, fields_of
from tests.visitor import signed_in

pytestmark = pytest.mark.sql

SHIPPED = default_scorecards.IDS


def judged_by(client: Caller, kind: str = "conversations", **fields: Any) -> str:
    """Put one more contact in, judge it, and return the id of its scorecard."""
    put_one = put_chat if kind == "conversations" else put_call
    record = put_one(client, f"contact-{len(get(client, '/evaluations'))}", **fields)
    judge()
    evaluation_id = get(client, f"/{kind}/{record['id']}")["evaluationId"]
    return str(get(client, f"/evaluations/{evaluation_id}")["scorecardId"])


def test_each_channel_of_a_campaign_has_its_scorecard(client: Caller) -> None:
    ours, bots = create(client), create(client, name="Bots", channel="voice_bot")
    campaign = put(client, "campaigns", "c", {"name": "Returns", "scorecardId": ours["id"]})
    assert campaign["scorecardIds"] == {}
    path = f"/campaigns/{campaign['id']}"
    changed = client.patch(path, {"scorecardIds": {"voice_bot": bots["id"]}}).json()["data"]
    assert (changed["scorecardId"], changed["scorecardIds"]) == (
        ours["id"],
        {"voice_bot": bots["id"]},
    )
    assert judged_by(client, campaignId=campaign["id"]) == ours["id"]
    assert judged_by(client, "voice-calls", campaignId=campaign["id"]) == bots["id"]
    client.patch(path, {"scorecardIds": {"chat": None}})
    assert judged_by(client, campaignId=campaign["id"]) == SHIPPED["chat"]
    # What was chosen here outlives what another system sends.
    again = put(client, "campaigns", "c", {"name": "Returns", "scorecardId": ours["id"]})
    assert again["scorecardIds"] == {"chat": None, "voice_bot": bots["id"]}
    assert judged_by(client, campaignId=campaign["id"]) == SHIPPED["chat"]


def test_a_campaign_is_renamed_and_given_targets(client: Caller) -> None:
    campaign = put(client, "campaigns", "c", {"name": "N", "targets": {"evaluations": 50}})
    path = f"/campaigns/{campaign['id']}"
    changed = client.patch(path, {"name": "Returns, north", "targets": {"score": 80}}).json()[
        "data"
    ]
    assert changed["name"] == "Returns, north"
    assert changed["targets"] == {"score": 80, "evaluations": 50, "passRate": None}
    assert [row["id"] for row in get(client, "/campaigns?q=north")] == [campaign["id"]]
    assert client.patch(path, {}).json()["data"] == changed
    refused = client.patch(path, {"scorecardIds": {"voice": create(client)["id"]}})
    assert refused.status_code == 422
    assert list(findings(refused)) == ["scorecardIds.voice"]
    assert client.patch(path, {"scorecardIds": {"fax": None}}).status_code == 422
    assert client.patch("/campaigns/camp_01m7y8acjwfq8bmhevp404058a", {}).status_code == 404


def test_the_default_of_a_channel_can_be_set(client: Caller) -> None:
    ours = create(client)
    assert not ours["judgesByDefault"]
    answer = client.patch("/scorecards/defaults", {"chat": ours["id"]})
    assert answer.json()["data"] == {**SHIPPED, "chat": ours["id"]}
    assert get(client, f"/scorecards/{ours['id']}")["judgesByDefault"]
    assert not get(client, f"/scorecards/{SHIPPED['chat']}")["judgesByDefault"]
    assert judged_by(client) == ours["id"]
    campaign = put(client, "campaigns", "c", {"name": "N"})
    assert judged_by(client, campaignId=campaign["id"]) == ours["id"]
    other = client.patch("/scorecards/defaults", {"voice": ours["id"]})
    assert other.status_code == 422
    assert list(findings(other)) == ["voice"]
    assert client.patch("/scorecards/defaults", {"fax": None}).status_code == 422
    client.patch("/scorecards/defaults", {"chat": None})
    assert get(client, "/scorecards/defaults") == SHIPPED
    assert judged_by(client) == SHIPPED["chat"]


def test_after_publishing_a_lead_says_what_the_scorecard_is_for(
    client: Caller, base: str, runtime: Runtime
) -> None:
    returns, sales = (
        put(client, "campaigns", name, {"name": name}) for name in ("returns", "sales")
    )
    lead = signed_in(base, runtime, "lead")
    path = begun(lead, SHIPPED["chat"])
    published = lead.post(path, {**fields_of(lead, path), "action": "publish"}).headers["Location"]
    assert "Nothing is judged by it yet" in lead.get(published).text
    page = published.partition("?")[0]
    scorecard_id = page.rpartition("/")[2]
    used = lead.post(f"{page}/use", {"use": "campaigns", "campaign": [returns["id"]]})
    assert "It counts for new evaluations" in lead.get(used.headers["Location"]).text
    assert judged_by(client, campaignId=returns["id"]) == scorecard_id
    assert judged_by(client, campaignId=sales["id"]) == SHIPPED["chat"]
    lead.post(f"{page}/use", {"use": "campaigns", "campaign": [sales["id"]]})
    assert judged_by(client, campaignId=returns["id"]) == SHIPPED["chat"]
    lead.post(f"{page}/use", {"use": "all"})
    assert judged_by(client, campaignId=returns["id"]) == scorecard_id
    assert judged_by(client) == scorecard_id
    assert "all chats" in lead.get(page).text
    lead.post(f"{page}/use", {"use": "none"})
    assert judged_by(client, campaignId=sales["id"]) == SHIPPED["chat"]
    assert judged_by(client) == SHIPPED["chat"]
    assert lead.post(f"{page}/use", {"use": "some"}).status_code == 422


def test_the_form_of_a_campaign(client: Caller, base: str, runtime: Runtime) -> None:
    ours = create(client)
    first, second = (put(client, "campaigns", key, {"name": "Returns"}) for key in ("a", "b"))
    lead = signed_in(base, runtime, "lead")
    page = f"/campaigns/{first['id']}"
    assert f'href="{page}"' in lead.get("/scorecards").text
    assert "1 other campaign of this name" in lead.get(page).text
    form = {"name": "Returns A", "score": "80", "percent": "92.5", "chat": ours["id"]}
    answer = lead.post(page, form)
    assert "1 other campaign" not in lead.get(answer.headers["Location"]).text
    campaign = get(client, page)
    assert campaign["name"] == "Returns A"
    assert campaign["targets"] == {"score": 80, "evaluations": None, "passRate": 0.925}
    assert campaign["scorecardIds"] == {"chat": ours["id"]}
    refused = lead.post(page, {**form, "score": "800", "voice": ours["id"]})
    assert refused.status_code == 422
    assert 'value="800"' in refused.text
    assert lead.post(page, {**form, "voice": ours["id"]}).status_code == 422
    assert get(client, f"/campaigns/{second['id']}")["name"] == "Returns"
    assert signed_in(base, runtime, "viewer").get(page).status_code == 403


def test_e_mail_has_a_default_of_its_own_unless_one_was_chosen(client: Caller) -> None:
    for_email = default_scorecards.ALL["email"]
    assert judged_by(client, platform="email") == for_email
    assert judged_by(client, platform="web") == SHIPPED["chat"]
    shown = get(client, f"/scorecards/{for_email}")
    assert (shown["channel"], shown["judgesByDefault"]) == ("chat", True)
    limits = {
        item["key"]: item["judge"]["parameters"].get("fullSeconds")
        for item in shown["definition"]["criteria"]
        if item["section"] == "responsiveness"
    }
    assert limits == {"responsiveness.first_response": 14_400, "responsiveness.gaps": 28_800}
    assert [row["version"] for row in get(client, f"/scorecards/{for_email}/versions")] == [4]
    ours = create(client)["id"]
    client.patch("/scorecards/defaults", {"chat": ours})
    assert judged_by(client, platform="email") == ours
    assert get(client, f"/scorecards/{for_email}")["judgesByDefault"] is False
