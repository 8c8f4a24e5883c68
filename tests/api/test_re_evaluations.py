"""Judging once more: one evaluation or many, by another scorecard or by a newer version."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import func, select, update

from app.analytics.engine import rebuilding
from app.core.clock import utc_now
from app.core.ids import new_id
from app.core.runtime import Runtime
from app.evaluations import jobs
from app.evaluations.judging import bulk, judgements
from app.evaluations.models import (
    Evaluation,
    EvaluationJob,
    EvaluationResult,
    ReEvaluation,
    StoredTranscript,
)
from app.scorecards import service as scorecards
from tests.caller import Caller, error_code, findings
from tests.contacts import get, judge, put_call, put_chat
from tests.happenings import happened
from tests.own_scorecards import add_version, create, says

pytestmark = pytest.mark.sql


def chats(client: Caller, number: int, **fields: Any) -> list[str]:
    """Put chats in and have them judged; return the ids of their evaluations."""
    made = [put_chat(client, f"chat-{n}", **fields)["evaluationId"] for n in range(number)]
    judge()
    return made


def again(client: Caller, evaluation_id: str, **body: Any) -> Any:
    answer = client.post(f"/evaluations/{evaluation_id}/re-evaluate", body)
    assert answer.status_code == 202, answer.text
    return answer.json()["data"]


def many(client: Caller, **body: Any) -> Any:
    answer = client.post("/re-evaluations", {"filters": {}, **body})
    assert answer.status_code == 202, answer.text
    return answer.json()["data"]


def wrong_facts(runtime: Runtime) -> list[str]:
    with runtime.db.reading() as session:
        return list(rebuilding.fact_differences(session))


@pytest.mark.usefixtures("in_november")
def test_one_is_judged_again_and_what_was_found_stays_until_then(
    client: Caller, runtime: Runtime
) -> None:
    own = create(client)
    (first,) = chats(client, 1, labels={"team": "north"})
    before = get(client, f"/evaluations/{first}")
    started = again(client, first, scorecardId=own["id"])
    assert (started["revision"], started["status"], started["supersedesId"]) == (2, "queued", first)
    assert started["statusUrl"].endswith(f"/api/v1/evaluations/{started['id']}")
    assert get(client, f"/evaluations/{first}")["isCurrent"] is True
    assert error_code(client.post(f"/evaluations/{first}/re-evaluate", {})) == "CONFLICT"
    judge()
    after = get(client, f"/evaluations/{started['id']}")
    assert (after["status"], after["score"], after["isCurrent"]) == ("completed", 100, True)
    assert (after["scorecardId"], after["scorecardName"]) == (own["id"], "Ours")
    carried = ("createdAt", "sourceId", "labels", "externalId", "startedAt", "durationSeconds")
    assert {name: after[name] for name in carried} == {name: before[name] for name in carried}
    former = get(client, f"/evaluations/{first}")
    assert (former["isCurrent"], former["score"]) == (False, before["score"])
    # The list, the source, the analytics and the events follow.
    assert [row["id"] for row in get(client, "/evaluations")] == [after["id"]]
    assert get(client, f"/conversations/{after['sourceId']}")["score"] == 100
    assert get(client, "/analytics/summary")["score"]["mean"] == 100
    assert wrong_facts(runtime) == []
    assert happened(runtime).count("evaluation.completed") == 2
    refused = client.post(f"/evaluations/{first}/re-evaluate", {})
    assert error_code(refused) == "CONFLICT"
    assert refused.json()["error"]["message"] == (
        f"{after['id']} is the current evaluation of this source; request that one."
    )
    missing = client.post(f"/evaluations/{new_id('eval')}/re-evaluate", {})
    assert error_code(missing) == "RESOURCE_NOT_FOUND"


def test_the_newest_version_is_taken_unless_another_is_asked_for(client: Caller) -> None:
    own = create(client)
    add_version(client, own["id"], says("own.bye", "farewell", weight=100))
    (made,) = chats(client, 1)
    made = again(client, made, scorecardId=own["id"], scorecardVersion=1)["id"]
    judge()
    assert get(client, f"/evaluations/{made}")["score"] == 100
    made = again(client, made)["id"]
    judge()
    shown = get(client, f"/evaluations/{made}")
    assert (shown["scorecardVersion"], shown["score"], shown["revision"]) == (2, 0, 3)
    path = f"/evaluations/{made}/re-evaluate"
    voice = scorecards.current_default("voice").id
    for body, field in (
        ({"scorecardVersion": 9}, "scorecardVersion"),
        ({"scorecardId": voice}, "scorecardId"),
        ({"scorecardId": new_id("sc")}, "scorecardId"),
    ):
        assert findings(client.post(path, body)) == {field: "FORMAT"}


def test_the_same_words_and_facts_score_the_same(client: Caller, runtime: Runtime) -> None:
    put_call(client, endedBy="customer", transferredToHuman=False, fallbackCount=1)
    judge()
    (first,) = get(client, "/evaluations")
    again(client, first["id"])
    judge()
    with runtime.db.reading() as session:
        one, other = session.scalars(select(EvaluationResult.document)).all()
    changing = ("evaluationId", "generatedAt", "revision")
    for document in (one, other):
        for name in changing:
            document.pop(name)
    assert one == other


def test_one_that_fails_does_not_take_the_good_one_away(client: Caller, runtime: Runtime) -> None:
    (first,) = chats(client, 1)
    own = create(client, minimum={"words": 10_000, "judgedWeightPercent": 0})
    failed = again(client, first, scorecardId=own["id"])["id"]
    judge()
    assert get(client, f"/evaluations/{failed}")["error"]["code"] == "INSUFFICIENT_CONTENT"
    assert [row["id"] for row in get(client, "/evaluations")] == [first]
    assert wrong_facts(runtime) == []
    # Newer words end what nobody has begun.
    waiting = again(client, first)["id"]
    put_chat(client, "chat-0", labels={"team": "north"})
    assert get(client, f"/evaluations/{waiting}")["status"] == "canceled"


def test_what_has_no_words_cannot_be_judged_again(client: Caller, runtime: Runtime) -> None:
    erased, unheard = chats(client, 2)
    with runtime.db.writing() as session:
        session.execute(update(StoredTranscript).values(erased_at=utc_now()))
        moved = {"transcript_id": None, "source_id": new_id("conv")}
        session.execute(update(Evaluation).where(Evaluation.id == unheard).values(moved))
    for each in (erased, unheard):
        assert error_code(client.post(f"/evaluations/{each}/re-evaluate", {})) == "CONFLICT"
    assert many(client, dryRun=True)["count"] == 0


def test_many_are_judged_again(client: Caller, runtime: Runtime) -> None:
    number = bulk.BATCH + 2
    own = create(client)
    made = chats(client, number)
    put_call(client)
    judge()
    rehearsed = many(client, filters={"channel": "chat"}, scorecardId=own["id"], dryRun=True)
    assert rehearsed == {
        "count": number,
        "dryRun": True,
        "id": None,
        "status": None,
        "statusUrl": None,
    }
    assert many(client, scorecardId=own["id"], dryRun=True)["count"] == number
    assert many(client, dryRun=True)["count"] == number + 1
    headers = {"Idempotency-Key": "once"}
    body = {"filters": {"channel": ["chat"], "minScore": 1}, "scorecardId": own["id"]}
    sent = [client.post("/re-evaluations", body, headers=headers) for _ in range(2)]
    assert sent[0].json() == sent[1].json()
    started = sent[0].json()["data"]
    assert (started["count"], started["status"]) == (number, "queued")
    assert jobs.due_ids(runtime) == [started["id"]]
    path = f"/re-evaluations/{started['id']}"
    assert get(client, path)["counts"]["queued"] == number
    judge()
    assert jobs.due_ids(runtime) == []
    shown = get(client, path)
    assert shown["status"] == "completed"
    counts = {"queued": 0, "failed": 0, "canceled": 0, "skipped": 0}
    assert shown["counts"] == {"selected": number, "completed": number, **counts}
    listed = get(client, "/evaluations", channel="chat", pageSize=100)
    assert {row["supersedesId"] for row in listed} == set(made)
    assert {(row["revision"], row["score"]) for row in listed} == {(2, 100)}
    assert happened(runtime).count("evaluation.completed") == 2 * number + 1
    assert wrong_facts(runtime) == []
    assert error_code(client.get(f"/re-evaluations/{new_id('reev')}")) == ("RESOURCE_NOT_FOUND")


def test_what_is_fresh_goes_before_a_re_evaluation(client: Caller, runtime: Runtime) -> None:
    old = chats(client, 2)
    many(client)
    with runtime.db.writing() as session:
        assert bulk.open_next(session, bulk.next_id(session) or "")
    fresh = put_chat(client, "fresh")["evaluationId"]
    with runtime.db.writing() as session:
        lease = judgements.claim(session, "")
    assert lease is not None
    assert lease.job_id == fresh
    with runtime.db.reading() as session:
        waiting = session.scalars(select(EvaluationJob.priority)).all()
    assert sorted(waiting) == [-1] * len(old) + [0]


def test_what_was_judged_for_the_first_time_meanwhile_counts_too(
    client: Caller, runtime: Runtime
) -> None:
    put_chat(client, "fresh")
    started = many(client)
    assert started["count"] == 0
    judge()
    counts = get(client, f"/re-evaluations/{started['id']}")["counts"]
    assert (counts["selected"], counts["completed"], counts["skipped"]) == (1, 1, 0)
    assert wrong_facts(runtime) == []


def test_a_source_that_changes_meanwhile_is_passed_over(client: Caller, runtime: Runtime) -> None:
    chats(client, 3)
    started = many(client)
    put_chat(client, "chat-1", labels={"team": "north"})
    judge()
    counts = get(client, f"/re-evaluations/{started['id']}")["counts"]
    assert (counts["selected"], counts["completed"], counts["skipped"]) == (3, 2, 1)
    with runtime.db.reading() as session:
        most = session.scalar(select(func.max(Evaluation.revision)))
    assert most == 2


def set_version(runtime: Runtime, number: int | None) -> None:
    """Let the re-evaluations judge by this version of each scorecard."""
    with runtime.db.writing() as session:
        session.execute(update(ReEvaluation).values(scorecard_version=number))


def test_a_re_evaluation_that_cannot_go_on_ends(client: Caller, runtime: Runtime) -> None:
    chats(client, 1)
    started = many(client)
    path = f"/re-evaluations/{started['id']}"
    assert client.post(f"{path}/retry").status_code == 409
    set_version(runtime, 99)
    for _ in range(3):
        assert jobs.due_ids(runtime) == [started["id"]]
        judge()
    assert jobs.due_ids(runtime) == []
    set_version(runtime, None)
    shown = get(client, path)
    assert (shown["status"], shown["error"]["code"]) == ("failed", "INTERNAL")
    retried = client.post(f"{path}/retry")
    assert retried.status_code == 202
    assert retried.json()["data"]["error"] is None
    judge()
    shown = get(client, path)
    assert (shown["status"], shown["counts"]["completed"]) == ("completed", 1)
    assert client.post(f"/re-evaluations/{new_id('reev')}/retry").status_code == 404


def test_mistakes_are_named(client: Caller, make_caller: Any, base: str) -> None:
    path = "/re-evaluations"
    for body, found in (
        ({}, {"filters": "REQUIRED"}),
        ({"filters": {"minScore": "many"}}, {"filters.minScore": "TYPE"}),
        ({"filters": {"current": True}}, {"filters.current": "UNKNOWN"}),
        ({"filters": {"minScore": 5, "maxScore": 1}}, {"filters.maxScore": "RANGE"}),
        ({"filters": {}, "scorecardVersion": 1}, {"scorecardId": "REQUIRED"}),
        ({"filters": {}, "scorecardId": new_id("sc")}, {"scorecardId": "FORMAT"}),
    ):
        assert findings(client.post(path, body)) == found
    reader = make_caller(base, scopes=["evaluations:read"])
    assert error_code(reader.post(path, {"filters": {}})) == "INSUFFICIENT_SCOPE"


def test_of_several_who_ask_at_once_one_is_served(
    client: Caller, base: str, runtime: Runtime
) -> None:
    (first,) = chats(client, 1)
    callers = [Caller(base, client.api_key, client.secret) for _ in range(6)]
    with ThreadPoolExecutor(len(callers)) as crowd:
        path = f"/evaluations/{first}/re-evaluate"
        answers = list(crowd.map(lambda each: each.post(path, {}).status_code, callers))
    for each in callers:
        each.close()
    assert sorted(answers) == [202, *[409] * 5]
