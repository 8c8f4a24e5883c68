"""Trials of scorecards: past conversations judged by two scorecards, and nothing else changed."""

from collections.abc import Callable
from typing import Any

from app.core.clock import utc_now
from app.core.runtime import Runtime
from app.evaluations import jobs, trials
from app.scorecards import service
from tests.caller import Caller, error_code, findings
from tests.contacts import get, judge, messages, put, put_chat
from tests.own_scorecards import create, draft, says
from tests.scorecard_drafts import begun, fields_of, saved
from tests.visitor import signed_in

RUDE = (
    ("customer", "Hello, my parcel has not arrived and I am worried about it."),
    ("agent", "I do not know anything about your parcel, so you have to wait for it."),
    ("customer", "That is no help at all, when does it arrive?"),
    ("agent", "I cannot say when it arrives, so please ask somebody else about it."),
)
HELLO = says("own.hello", "good morning", weight=100)
RECAP = says("own.hello", "good morning", weight=10)
SORRY = says("own.sorry", "I do not know", weight=90)


def judged_chats(client: Caller) -> list[str]:
    """Judge a chat that greets and one that does not; return their evaluations."""
    chats = [put_chat(client, "kind"), put_chat(client, "rude", messages=messages(RUDE))]
    judge()
    return [get(client, "/evaluations", sourceId=chat["id"])[0]["id"] for chat in chats]


def run(client: Caller, runtime: Runtime, body: dict[str, Any]) -> dict[str, Any]:
    """Request a trial, run it in this process, and return it."""
    accepted = client.post("/scorecard-trials", body)
    assert accepted.status_code == 202, accepted.text
    trial = accepted.json()["data"]
    assert (trial["status"], trial["progress"], trial["result"]) == ("queued", 0, None)
    jobs.run_trial(runtime, trial["id"])
    return dict(get(client, f"/scorecard-trials/{trial['id']}"))


def test_a_trial_compares_both_scorecards_and_changes_nothing(
    client: Caller, runtime: Runtime
) -> None:
    kind, rude = judged_chats(client)
    own = create(client, HELLO)
    webhook = client.post(
        "/webhooks", {"url": "https://93.184.216.34/cqe", "events": ["evaluation.completed"]}
    ).json()["data"]
    deliveries = f"/webhooks/{webhook['id']}/deliveries"
    paths = ("/evaluations", deliveries, f"/evaluations/{kind}/results")
    before = [client.get(path).json()["data"] for path in paths]
    trial = run(
        client,
        runtime,
        {"scorecard": draft(RECAP, SORRY, name="Tried"), "baselineId": own["id"]},
    )
    assert trial["status"] == "completed"
    assert (trial["baselineId"], trial["baselineVersion"]) == (own["id"], 1)
    result = trial["result"]
    assert (result["judged"], result["compared"]) == (2, 2)
    assert result["before"] == {"meanScore": 50.0, "passRate": 0.5}
    assert result["after"] == {"meanScore": 50.0, "passRate": 0.5}
    scores = {
        item["evaluationId"]: (item["before"], item["after"], item["passedAfter"])
        for item in result["conversations"]
    }
    assert scores == {kind: (100, 10, False), rude: (0, 90, True)}
    assert [client.get(path).json()["data"] for path in paths] == before
    assert before[1] == []
    names = [item["name"] for item in get(client, "/scorecards")]
    assert "Tried" not in names


def test_a_conversation_without_a_verdict_counts_in_no_mean(
    client: Caller, runtime: Runtime
) -> None:
    judged_chats(client)
    unjudged = {**HELLO, "appliesWhen": {"said": {"anyOf": ["good morning"]}}}
    result = run(client, runtime, {"scorecard": draft(unjudged)})["result"]
    assert (result["compared"], result["withoutVerdictAfter"]) == (1, 1)


def test_a_trial_of_an_invalid_scorecard_is_refused(
    client: Caller, base: str, make_caller: Callable[..., Caller]
) -> None:
    wrong = draft(says("own.a", "hello", weight=98))
    refused = client.post("/scorecard-trials", {"scorecard": wrong})
    assert findings(refused) == {"scorecard.criteria": "RANGE"}
    voice = service.current_default("voice").id
    other = client.post("/scorecard-trials", {"scorecard": draft(), "baselineId": voice})
    assert error_code(other) == "VALIDATION_ERROR"
    narrow = make_caller(base, scopes=["scorecards:manage"])
    assert narrow.post("/scorecard-trials", {"scorecard": draft()}).status_code == 403
    for _ in range(trials.MOST_OPEN):
        assert client.post("/scorecard-trials", {"scorecard": draft()}).status_code == 202
    assert client.post("/scorecard-trials", {"scorecard": draft()}).status_code == 409


def test_a_trial_is_deleted_after_a_day(client: Caller, runtime: Runtime) -> None:
    trial = run(client, runtime, {"scorecard": draft()})
    assert trial["result"]["judged"] == 0
    jobs.purge_trials(runtime)
    assert client.get(f"/scorecard-trials/{trial['id']}").status_code == 200
    with runtime.db.writing() as session:
        trials.purge(session, before=utc_now())
    assert client.get(f"/scorecard-trials/{trial['id']}").status_code == 404


def test_a_draft_is_tried_and_publishing_asks_again_after_a_large_change(
    base: str, client: Caller, runtime: Runtime
) -> None:
    judged_chats(client)
    own = create(client, HELLO)["id"]
    returns = put(client, "campaigns", "returns", {"name": "Returns", "scorecardId": own})
    lead = signed_in(base, runtime, "lead")
    path = begun(lead, own, nextVersion="true")
    saved(lead, path, **{"criteria[0].judge.parameters.statements[0].anyOf": "farewell"})
    assert "was not tried" in lead.get(f"{path}/trial").text
    tried = lead.post(path, {**fields_of(lead, path), "action": "try"})
    assert tried.headers["Location"] == f"{path}/trial"
    page = lead.get(f"{path}/trial").text
    assert "data-live-reload" in page
    trial_id = page.partition('data-live="')[2].partition('"')[0]
    assert lead.get(f"/live/progress?ids={trial_id}").json()["work"][trial_id]["text"] == "Waiting"
    jobs.run_trial(runtime, trial_id)
    page = lead.get(f"{path}/trial").text
    assert "2 conversations with a verdict by both" in page
    assert '<td class="number">50.0</td><td class="number">0.0</td>' in page
    assert page.count("<circle") == 2
    assert "fails now" in page
    assert "No score changes." not in page
    answered = page.partition('id="answers-title"')[2]
    assert "<b>No: 2</b>" in answered
    for evaluation in get(client, "/evaluations"):
        assert f'href="/evaluations/{evaluation["id"]}"' in answered
    asked = lead.post(path, {**fields_of(lead, path), "action": "publish"})
    assert asked.status_code == 409
    assert "of 2 conversations moved from 50.0 to 0.0 (-50.0)." in asked.text
    assert lead.post(f"{path}/publish", {"version": "2"}).status_code == 303
    chat = put_chat(client, "next", campaignId=returns["id"])
    judge()
    evaluation = get(client, "/evaluations", sourceId=chat["id"])[0]
    assert (evaluation["scorecardId"], evaluation["scorecardVersion"]) == (own, 2)
