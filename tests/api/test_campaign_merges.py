"""Merging and renaming campaigns: everything that was of one follows, and so does what still comes in."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress

import pytest
from requests import Response
from sqlalchemy import select, update

from app.campaigns import jobs, merging, service
from app.campaigns.enums import CampaignCount
from app.conversations.models import Conversation
from app.core.clock import utc_now
from app.core.errors import ServiceUnavailable
from app.core.runtime import Runtime
from app.dashboard.pickers import campaign_names
from app.evaluations.models import Evaluation
from app.intake.models import IntakeSource
from app.people import saved_views
from app.people.models import User
from tests.caller import Caller, findings
from tests.contacts import chat, get, judge, put, put_call, put_chat
from tests.statements import statements_of
from tests.visitor import add_user, signed_in

pytestmark = pytest.mark.sql

EXECUTIVE = {"name": "Priya"}


def merged(client: Caller, into: str, *former: str) -> None:
    answer = client.post(f"/campaigns/{into}/merge", {"campaignIds": list(former)})
    assert answer.status_code == 200, answer.text


@pytest.mark.usefixtures("in_november")
def test_all_that_was_of_a_merged_campaign_is_of_the_other(
    client: Caller, base: str, runtime: Runtime, make_caller: Callable[..., Caller]
) -> None:
    into = put(client, "campaigns", "crm-1", {"name": "Returns", "targets": {"score": 80}})["id"]
    targets = {"score": 70, "passRate": 0.9}
    former = put(client, "campaigns", "crm-2", {"name": "Refunds", "targets": targets})["id"]
    agent = put(client, "executives", "p", EXECUTIVE)["id"]
    put_chat(client, "a", campaignId=into, executiveId=agent)
    moved = put_chat(client, "b", campaignId=former, executiveId=agent)
    put_call(client, "c", campaignId=former, executiveId=agent)
    judge()
    limited = make_caller(base, scopes=["evaluations:read"], campaign_ids=[former])
    assert len(get(limited, "/evaluations")) == 2
    plan = client.post(
        "/reviews/plans",
        {
            "name": "Weekly",
            "perAgent": 1,
            "filters": {"campaignId": former},
            "reviewers": [{"userId": add_user(runtime, "reviewer", "rosa")}],
        },
    ).json()["data"]
    rule = client.post(
        "/alerts/rules",
        {"name": "Bad", "trigger": "score_below", "below": 50, "filters": {"campaignId": former}},
    ).json()["data"]
    lead = add_user(runtime, "lead", "lee")
    with runtime.db.writing() as session:
        view = saved_views.save(
            session,
            lead,
            name="Mine",
            query=f"campaignId={former}&days=all",
            is_shared=True,
            is_pinned=False,
        )
        view_id = view.id
        session.execute(update(User).where(User.name == "rosa").values(campaign_ids=[into, former]))
        now, defaults = utc_now(), {"campaignId": former}
        session.add(
            IntakeSource(
                name="twilio",
                active=True,
                sealed_config="",
                defaults=defaults,
                created_at=now,
                updated_at=now,
            )
        )

    merged(client, into, former)

    shown = get(client, f"/campaigns/{into}")
    assert shown["name"] == "Returns"
    assert shown["targets"] == {"score": 80, "evaluations": None, "passRate": 0.9}
    assert shown["counts"] == {
        "conversations": 2,
        "voiceCalls": 1,
        "audioFiles": 0,
        "evaluations": 3,
    }
    jobs.follow_changes(runtime)
    assert get(client, f"/campaigns/{into}") == shown
    evaluations = get(client, "/evaluations", campaignId=into)
    assert {row["campaign"] for row in evaluations} == {"Returns"}
    assert shown["meanScore"] == pytest.approx(
        sum(row["score"] for row in evaluations) / 3, abs=0.01
    )
    assert len(get(client, "/evaluations", q="returns")) == 3
    assert get(client, "/evaluations", q="refunds") == []
    assert get(client, f"/conversations/{moved['id']}")["campaignId"] == into
    [board] = get(client, "/analytics/campaigns", minEvaluations=1)
    assert (board["id"], board["evaluations"]) == (into, 3)
    assert [row["id"] for row in get(client, "/campaigns")] == [into]
    assert [*get(client, f"/reviews/plans/{plan['id']}")["filters"].values()] == [into]
    assert get(client, f"/alerts/rules/{rule['id']}")["filters"] == {"campaignId": into}
    assert len(get(limited, "/evaluations")) == 3
    with runtime.db.reading() as session:
        assert session.scalars(select(IntakeSource.defaults)).all() == [{"campaignId": into}]
        [view] = saved_views.list_visible(session, lead)
        assert (view.id, view.query) == (view_id, f"campaignId={into}&days=all")


def test_what_still_comes_in_for_a_merged_campaign_is_of_the_other(
    client: Caller, runtime: Runtime
) -> None:
    into = put(client, "campaigns", "crm-1", {"name": "Returns"})["id"]
    former = put(client, "campaigns", "crm-2", {"name": "Refunds"})["id"]
    last = put(client, "campaigns", "crm-3", {"name": "Both"})["id"]
    merged(client, into, former)
    merged(client, last, into)
    merged(client, last, into)
    by_id = put_chat(client, "a", campaignId=former)
    by_name = put_chat(client, "b", campaign="Refunds")
    assert by_id["campaignId"] == by_name["campaignId"] == last
    # The other system may go on sending its own record: no double appears, and nothing is renamed.
    again = put(client, "campaigns", "crm-2", {"name": "Refunds"})
    assert (again["id"], again["name"]) == (last, "Both")
    for path in ("/conversations", "/evaluations"):
        assert len(get(client, path, campaignId=former)) == 2, path
    gone = client.get(f"/campaigns/{former}")
    assert gone.status_code == 404
    assert last in gone.json()["error"]["message"]
    # A transaction that was open during the merge has written and counted for the former id.
    with runtime.db.writing() as session:
        late = update(Conversation).where(Conversation.id == by_id["id"])
        session.execute(late.values(campaign_id=former))
        late = update(Evaluation).where(Evaluation.source_id == by_id["id"])
        session.execute(late.values(campaign_id=former, campaign="Refunds"))
        service.count(session, former, CampaignCount.VOICE_CALLS)
    assert get(client, f"/campaigns/{last}")["counts"]["voiceCalls"] == 1
    jobs.follow_changes(runtime)
    assert get(client, f"/conversations/{by_id['id']}")["campaignId"] == last
    assert {row["campaign"] for row in get(client, "/evaluations", campaignId=last)} == {"Both"}
    with runtime.db.reading() as session:
        assert service.name_of(session, former) == "Both"
        assert campaign_names(session, [former])[former] == "Both"


def test_a_name_of_campaigns_that_were_merged_into_several_is_refused(client: Caller) -> None:
    for number in (1, 2):
        into = put(client, "campaigns", f"into-{number}", {"name": f"Returns {number}"})["id"]
        former = put(client, "campaigns", f"former-{number}", {"name": "Refunds"})["id"]
        merged(client, into, former)
    refused = client.call("PUT", "/imports/conversations/a", chat(campaign="Refunds"))
    assert refused.status_code == 422, refused.text
    assert "More than one campaign has this name" in refused.text


def test_what_is_stored_for_people_of_merged_campaigns_stays_theirs(
    client: Caller, base: str, runtime: Runtime, make_caller: Callable[..., Caller]
) -> None:
    """The ids of teams are stored in their order, each once."""
    plan = {
        "name": "Weekly",
        "perAgent": 1,
        "reviewers": [{"userId": add_user(runtime, "reviewer", "rosa")}],
    }
    first, second, third = (
        put(client, "campaigns", key, {"name": key})["id"] for key in ("crm-1", "crm-2", "crm-3")
    )
    plans = {}
    scopes = ["evaluations:read", "reviews:plan"]
    for ids in ([first, second], [first, third], [second, third]):
        limited = make_caller(base, scopes=scopes, campaign_ids=ids)
        answer = limited.post("/reviews/plans", plan)
        assert answer.status_code == 201, answer.text
        plans[answer.json()["data"]["id"]] = limited
    merged(client, third, first)
    for plan_id, limited in plans.items():
        assert plan_id in [row["id"] for row in get(limited, "/reviews/plans")]
    names = [sorted(key["campaignIds"]) for key in get(client, "/api-keys") if key["campaignIds"]]
    assert sorted(names) == [[second, third], [second, third], [third]]


def test_a_campaign_that_is_sent_while_it_is_merged_does_not_come_back(
    client: Caller, runtime: Runtime
) -> None:
    into = put(client, "campaigns", "crm-1", {"name": "Returns"})["id"]
    former = put(client, "campaigns", "crm-2", {"name": "Refunds"})["id"]
    with ThreadPoolExecutor(1) as pool, runtime.db.writing() as session:
        merging.merge(session, into, [former])
        sent = pool.submit(put, client, "campaigns", "crm-2", {"name": "Refunds"})
        wait([sent], timeout=1)
    assert sent.result()["id"] == into
    assert [row["id"] for row in get(client, "/campaigns")] == [into]


def follow_often(runtime: Runtime) -> None:
    for _ in range(5):
        with suppress(ServiceUnavailable):
            jobs.follow_changes(runtime)


@pytest.mark.usefixtures("in_november")
def test_contacts_that_come_in_and_are_judged_during_a_merge_are_of_the_other(
    client: Caller, runtime: Runtime
) -> None:
    into = put(client, "campaigns", "crm-1", {"name": "Returns"})["id"]
    former = put(client, "campaigns", "crm-2", {"name": "Refunds"})["id"]
    for number in range(4):
        put_chat(client, f"first-{number}", campaignId=former)

    def repeated(send: Callable[[], Response]) -> None:
        # A deadlock of PostgreSQL is told as a database that is busy, and all of it is undone.
        while (answer := send()).status_code == 503:
            assert "try again" in answer.text
        assert answer.status_code in (200, 201), answer.text

    def send(number: int) -> Callable[[], Response]:
        path = f"/imports/conversations/late-{number}"
        return lambda: client.call("PUT", path, chat(campaignId=former))

    def merge() -> Response:
        return client.post(f"/campaigns/{into}/merge", {"campaignIds": [former]})

    with ThreadPoolExecutor(6) as pool:
        work = [pool.submit(repeated, send(number)) for number in range(6)]
        # Also while another host moves them.
        work += [pool.submit(judge), pool.submit(repeated, merge)]
        work += [pool.submit(follow_often, runtime) for _ in range(2)]
        work += [pool.submit(repeated, send(number)) for number in range(6, 12)]
        for item in work:
            item.result()
    judge()
    jobs.follow_changes(runtime)

    assert len(get(client, "/conversations", campaignId=into)) == 16
    assert len(get(client, "/evaluations", campaignId=into, status="completed")) == 16
    [board] = get(client, "/analytics/campaigns", minEvaluations=1)
    assert (board["id"], board["evaluations"]) == (into, 16)
    counts = get(client, f"/campaigns/{into}")["counts"]
    assert (counts["conversations"], counts["evaluations"]) == (16, 16)


@pytest.mark.usefixtures("in_november")
def test_large_campaigns_are_moved_and_renamed_in_batches_which_a_kill_may_separate(
    client: Caller, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merging, "BATCH", 2)
    monkeypatch.setattr(jobs, "_BATCHES", 1)
    into = put(client, "campaigns", "crm-1", {"name": "Returns"})["id"]
    former = put(client, "campaigns", "crm-2", {"name": "Refunds"})["id"]
    for key in ("a", "b", "c"):
        put_chat(client, key, campaignId=former)
    judge()
    put_chat(client, "b", campaignId=into, messages=[*chat()["messages"], chat()["messages"][0]])
    judge()
    merged(client, into, former)
    states = []
    for _ in range(7):
        states.append(
            (
                len(get(client, "/conversations", campaignId=into)),
                len(get(client, "/evaluations", campaignId=into, current="false")),
                len(get(client, "/evaluations", q="returns", current="false")),
                get(client, f"/campaigns/{into}")["counts"]["evaluations"],
            )
        )
        jobs.follow_changes(runtime)
    # Conversations, evaluations, evaluations under the name; "b" was judged for both campaigns.
    assert states == [
        (1, 1, 1, 4),
        (3, 1, 1, 4),
        (3, 3, 1, 4),
        (3, 4, 1, 3),
        (3, 4, 3, 3),
        (3, 4, 4, 3),
        (3, 4, 4, 3),
    ]
    [board] = get(client, "/analytics/campaigns", minEvaluations=1)
    assert (board["id"], board["evaluations"]) == (into, 3)


def test_evaluations_of_many_merged_campaigns_are_counted_once(
    client: Caller, runtime: Runtime
) -> None:
    into, *former = (put(client, "campaigns", key, {"name": key})["id"] for key in "abc")
    for campaign_id in former:
        put_chat(client, campaign_id, campaignId=campaign_id)
    judge()
    merged(client, into, *former)
    with statements_of(runtime) as sent:
        jobs.follow_changes(runtime)
    assert sum("count(DISTINCT" in statement for statement in sent) == 1
    assert get(client, f"/campaigns/{into}")["counts"]["evaluations"] == 2


def test_a_conversation_that_is_judged_again_before_it_is_moved_is_counted_once(
    client: Caller,
) -> None:
    into, former = (put(client, "campaigns", key, {"name": key})["id"] for key in "ab")
    put_chat(client, "a", campaignId=former)
    judge()
    merged(client, into, former)
    [evaluation] = get(client, "/evaluations")
    client.post(f"/evaluations/{evaluation['id']}/re-evaluate", {})
    judge()
    assert len(get(client, "/evaluations", current="false")) == 2
    assert get(client, f"/campaigns/{into}")["counts"]["evaluations"] == 1


def test_a_campaign_that_cannot_be_merged_is_named(client: Caller) -> None:
    into = put(client, "campaigns", "crm-1", {"name": "Returns"})["id"]
    other = put(client, "campaigns", "crm-2", {"name": "Refunds"})["id"]
    path = f"/campaigns/{into}/merge"
    missing = "camp_01m7y8acjwfq8bmhevp404058a"
    for ids, field in (
        ([other, into], "campaignIds[1]"),
        ([missing], "campaignIds[0]"),
        ([], "campaignIds"),
    ):
        refused = client.post(path, {"campaignIds": ids})
        assert refused.status_code == 422, refused.text
        assert field in findings(refused)
    assert client.post(f"/campaigns/{missing}/merge", {"campaignIds": [other]}).status_code == 404
    assert len(get(client, "/campaigns")) == 2
    merged(client, into, other)
    last = put(client, "campaigns", "crm-3", {"name": "Last"})["id"]
    gone = client.post(f"/campaigns/{last}/merge", {"campaignIds": [other]})
    assert f"merged into {into}" in gone.text


def test_evaluations_follow_a_new_name(client: Caller, runtime: Runtime) -> None:
    campaign = put(client, "campaigns", "c", {"name": "Returns"})
    put_chat(client, "a", campaignId=campaign["id"])
    judge()
    client.patch(f"/campaigns/{campaign['id']}", {"name": "Sales north"})
    jobs.follow_changes(runtime)
    assert [row["campaign"] for row in get(client, "/evaluations", q="SALES north")] == [
        "Sales north"
    ]
    assert get(client, "/evaluations", q="returns") == []
    put(client, "campaigns", "c", {"name": "Sales"})
    jobs.follow_changes(runtime)
    assert [row["campaign"] for row in get(client, "/evaluations", q="sales")] == ["Sales"]


def test_a_lead_merges_doubles_on_the_page_and_the_audit_trail_says_so(
    client: Caller, base: str, runtime: Runtime
) -> None:
    ids = [put(client, "campaigns", key, {"name": "Returns"})["id"] for key in ("crm-1", "crm-2")]
    refused = client.call("PUT", "/imports/conversations/a", chat(campaign="Returns"))
    assert "merge them" in refused.text
    page = f"/campaigns/{ids[0]}"
    lead = signed_in(base, runtime, "lead")
    assert "1 other campaign of this name" in lead.get(page).text
    put(client, "campaigns", "crm-9", {"name": "Refunds"})
    found = lead.get(f"{page}?q=refu").text.partition('id="merge"')[2]
    assert "Refunds, crm-9" in found
    assert "crm-2" not in found
    assert "Returns, crm-2" in lead.get(page).text.partition('id="merge"')[2]
    nothing = lead.post(f"{page}/merge", {})
    assert nothing.status_code == 422
    assert "Choose the campaigns" in nothing.text
    put_chat(client, "a", campaignId=ids[1])
    answer = lead.post(f"{page}/merge", {"campaignIds": [ids[1]]})
    assert answer.status_code == 303
    shown = lead.get(answer.headers["Location"]).text
    assert "are one now" in shown
    assert "1 evaluation of merged campaigns is still to be moved here" in shown
    jobs.follow_changes(runtime)
    assert "still to be moved" not in lead.get(page).text
    assert ids[1] not in [row["id"] for row in get(client, "/campaigns")]
    admin = signed_in(base, runtime, "admin")
    entries = admin.get("/audit.csv?action=campaigns_merged").text.splitlines()[1:]
    assert sorted(entry.split(",")[3] for entry in entries) == sorted(ids)
    # Links to the one that was merged lead to the other.
    assert f'href="/campaigns/{ids[1]}"' in admin.get("/audit").text
    assert lead.get(f"/campaigns/{ids[1]}").headers["Location"] == page
    listed = lead.get(f"/evaluations?campaignId={ids[1]}&days=all").text
    assert "Returns</option>" in listed
    assert "/evaluations/eval_" in listed
    assert signed_in(base, runtime, "viewer").post(f"{page}/merge", {}).status_code == 403
