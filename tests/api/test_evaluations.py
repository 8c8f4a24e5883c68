"""Evaluations: fields, revisions, the count and the event."""

from typing import Any

import orjson
import pytest
from sqlalchemy import select

from app.core.clock import iso_utc
from app.core.errors import Conflict
from app.core.ids import new_id
from app.core.runtime import Runtime
from app.engagements import service as engagements
from app.evaluations import service
from app.evaluations.outcome import EvaluationCompletion
from app.events.models import Event
from tests.caller import Caller, error_code
from tests.conversations import START, chat, completed, judged, opened

FIELDS = {
    *("id", "engagementId", "campaignId", "campaign", "callCenterId", "callCenter", "executiveId"),
    *("executive", "sourceType", "sourceId", "channel", "direction", "language", "status"),
    *("reviewStatus", "score", "rawScore", "complianceScore", "passed", "passThreshold", "band"),
    *("judgedWeightPercent", "hasVerdict"),
    *("autoFailed", "failedCriteria", "customerSentiment", "sentimentTrend", "resolution"),
    *("predictedSatisfaction", "topics", "scorecardId", "scorecardVersion", "scorecardName"),
    *("engine", "confidence", "durationSeconds", "turnCount", "startedAt", "conversationAt"),
    *("createdAt", "completedAt", "updatedAt", "redacted", "revision", "supersedesId"),
    *("isCurrent", "error", "agentUnnamed"),
    *("externalId", "labels"),
}


def engagement_of(runtime: Runtime) -> str:
    with runtime.db.writing() as session:
        return str(engagements.create(session, name="Audit", type="qa")["id"])


def count_of(client: Caller, engagement_id: str) -> int:
    return int(client.get(f"/engagements/{engagement_id}").json()["data"]["evaluationCount"])


def data_of(client: Caller, path: str, **params: Any) -> Any:
    answer = client.get(path, params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


def events_of(runtime: Runtime) -> list[dict[str, Any]]:
    with runtime.db.reading() as session:
        return [orjson.loads(body) for body in session.scalars(select(Event.body))]


def test_a_queued_evaluation_shows_every_field_and_no_result(
    client: Caller, runtime: Runtime
) -> None:
    with runtime.db.writing() as session:
        evaluation = opened(session, external_id="chat-7", started_at=START, labels={"team": "a"})
    shown = data_of(client, f"/evaluations/{evaluation.id}")
    assert set(shown) == FIELDS | {"summary"}
    assert shown["status"] == "queued"
    assert shown["score"] is None
    assert shown["error"] is None
    assert shown["isCurrent"] is True
    assert shown["revision"] == 1
    assert shown["supersedesId"] is None
    assert shown["failedCriteria"] == shown["topics"] == []
    assert shown["startedAt"] == iso_utc(START)
    assert shown["createdAt"] == shown["updatedAt"]
    assert shown["labels"] == {"team": "a"}
    assert data_of(client, "/evaluations") == [
        {name: value for name, value in shown.items() if name != "summary"}
    ]


def test_a_completed_evaluation_has_a_score_and_its_provenance(
    client: Caller, runtime: Runtime
) -> None:
    with runtime.db.writing() as session:
        evaluation = completed(session)
    shown = data_of(client, f"/evaluations/{evaluation.id}")
    assert shown["status"] == "completed"
    assert 0 <= shown["score"] <= 100
    assert shown["engine"]["kind"] == "rules"
    assert shown["durationSeconds"] == 140
    assert shown["turnCount"] == 8
    assert shown["language"] == "en"
    assert shown["completedAt"] is not None
    assert set(shown["summary"]) == {"overview", "issue", "outcome", "actionItems"}


def test_the_event_has_exactly_the_specified_data(client: Caller, runtime: Runtime) -> None:
    engagement_id = engagement_of(runtime)
    with runtime.db.writing() as session:
        first = completed(session, engagement_id=engagement_id, campaign="Spring")
        second = completed(session)
    sent = [event for event in events_of(runtime) if event["event"] == "evaluation.completed"]
    assert sent[0]["data"] == {
        "evaluation_id": first.id,
        "engagement_id": engagement_id,
        "campaign": "Spring",
        "score": first.score,
        "channel": "chat",
        "duration_seconds": 140,
    }
    assert sent[1]["data"]["evaluation_id"] == second.id
    assert sent[1]["data"]["engagement_id"] == sent[1]["data"]["campaign"] == ""


def test_completing_twice_announces_once(runtime: Runtime) -> None:
    with runtime.db.writing() as session:
        evaluation = completed(session)
        service.complete(session, EvaluationCompletion(evaluation, judged(chat()), "en", 1))
    assert evaluation.duration_seconds == 140
    assert len(events_of(runtime)) == 1


def test_a_judgement_without_a_score_fails_and_says_so(client: Caller, runtime: Runtime) -> None:
    with runtime.db.writing() as session:
        evaluation = completed(session, transcript=chat(()))
    shown = data_of(client, f"/evaluations/{evaluation.id}")
    assert shown["status"] == "failed"
    assert shown["error"]["code"] == "EMPTY_TRANSCRIPT"
    assert shown["score"] is None
    [event] = events_of(runtime)
    assert event["event"] == "conversation.failed"
    assert event["data"] == {
        "source_type": "conversation",
        "source_id": evaluation.source_id,
        "evaluation_id": evaluation.id,
        "engagement_id": "",
        "campaign": "",
        "code": "EMPTY_TRANSCRIPT",
        "message": shown["error"]["message"],
    }


def test_what_has_ended_does_not_move_again(runtime: Runtime) -> None:
    with runtime.db.writing() as session:
        evaluation = opened(session)
        service.set_status(session, evaluation.id, "transcribing")
        service.fail(session, evaluation.id, code="TRANSCRIPTION_FAILED", message="No sound.")
        service.fail(session, evaluation.id, code="INTERNAL", message="Again.")
        assert evaluation.error == {"code": "TRANSCRIPTION_FAILED", "message": "No sound."}
        with pytest.raises(Conflict):
            service.set_status(session, evaluation.id, "evaluating")


def test_a_re_evaluation_replaces_only_when_it_completes(client: Caller, runtime: Runtime) -> None:
    engagement_id, source_id = engagement_of(runtime), new_id("conv")
    same: dict[str, Any] = {"source_id": source_id, "engagement_id": engagement_id}
    with runtime.db.writing() as session:
        first = completed(session, **same)
        second = opened(session, **same)
    assert [row["id"] for row in data_of(client, "/evaluations")] == [first.id]
    waiting = data_of(client, f"/evaluations/{second.id}")
    assert (waiting["revision"], waiting["supersedesId"]) == (2, first.id)
    assert waiting["isCurrent"] is False
    with runtime.db.writing() as session:
        row = service.find(session, second.id)
        service.complete(session, EvaluationCompletion(row, judged(chat()), "en", 140))
    assert [row["id"] for row in data_of(client, "/evaluations")] == [second.id]
    everything = data_of(client, "/evaluations", current="false")
    assert {each["id"] for each in everything} == {first.id, second.id}
    assert count_of(client, engagement_id) == 1


def test_a_failed_re_evaluation_leaves_the_former_one_current(
    client: Caller, runtime: Runtime
) -> None:
    source_id = new_id("conv")
    with runtime.db.writing() as session:
        first = completed(session, source_id=source_id)
        second = opened(session, source_id=source_id)
        service.fail(session, second.id, code="INTERNAL", message="It broke.")
        assert first.is_current
        assert not second.is_current


def test_a_failed_evaluation_gives_way_to_the_next_at_once(runtime: Runtime) -> None:
    source_id = new_id("conv")
    with runtime.db.writing() as session:
        first = opened(session, source_id=source_id)
        service.fail(session, first.id, code="INTERNAL", message="It broke.")
        second = opened(session, source_id=source_id)
        assert not first.is_current
        assert second.is_current


def test_the_count_is_of_what_was_evaluated_in_the_engagement(
    client: Caller, runtime: Runtime
) -> None:
    one, other, source_id = engagement_of(runtime), engagement_of(runtime), new_id("conv")
    with runtime.db.writing() as session:
        completed(session, engagement_id=one, source_id=source_id)
        completed(session, engagement_id=one, source_id=source_id)
        completed(session, engagement_id=one)
        completed(session, engagement_id=other, source_id=source_id)
        opened(session, engagement_id=one)
    assert count_of(client, one) == 2
    assert count_of(client, other) == 1


@pytest.mark.parametrize("part", ["", "/transcript", "/results"])
def test_what_is_not_there_is_not_found(shared_client: Caller, part: str) -> None:
    answer = shared_client.get(f"/evaluations/{new_id('eval')}{part}")
    assert answer.status_code == 404
    assert error_code(answer) == "RESOURCE_NOT_FOUND"


def test_the_scope_is_needed(base: str, make_caller: Any) -> None:
    stranger = make_caller(base, scopes=["audio:read"])
    answer = stranger.get("/evaluations", params={"nonsense": "1"})
    assert error_code(answer) == "INSUFFICIENT_SCOPE"
