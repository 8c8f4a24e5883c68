"""Results and transcripts of evaluations: their shapes, evidence, and what is shown before the end."""

from typing import Any

from app.core.clock import iso_utc
from app.core.ids import new_id
from app.core.runtime import Runtime
from app.evaluations import transcripts
from app.evaluations.schemas.results import ResultsSchema
from app.evaluations.schemas.transcripts import TranscriptSchema
from tests.caller import Caller
from tests.conversations import chat, completed, opened, spoken


def data_of(client: Caller, path: str, **params: Any) -> Any:
    answer = client.get(path, params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


def test_results_have_the_documented_shape_and_quote_the_transcript(
    client: Caller, runtime: Runtime
) -> None:
    with runtime.db.writing() as session:
        evaluation = completed(session)
    results = data_of(client, f"/evaluations/{evaluation.id}/results")
    assert ResultsSchema().validate(results) == {}
    assert results["evaluationId"] == evaluation.id
    assert results["score"] == evaluation.score
    assert results["generatedAt"] == iso_utc(evaluation.completed_at)
    transcript = data_of(client, f"/evaluations/{evaluation.id}/transcript")
    texts = {segment["id"]: segment["text"] for segment in transcript["segments"]}
    quotes = [quote for criterion in results["criteria"] for quote in criterion["evidence"]]
    assert quotes
    for quote in quotes:
        text = texts[quote["segmentId"]]
        assert text[quote["charStart"] : quote["charEnd"]] == quote["quote"]


def test_results_before_the_end_are_nulls_and_empty_lists(client: Caller, runtime: Runtime) -> None:
    with runtime.db.writing() as session:
        evaluation = opened(session)
    results = data_of(client, f"/evaluations/{evaluation.id}/results")
    assert ResultsSchema().validate(results) == {}
    assert results["status"] == "queued"
    assert results["score"] is None
    assert results["sections"] == results["criteria"] == results["reviews"] == []


def test_a_transcript_is_shown_with_sentiment_and_words_on_demand(
    client: Caller, runtime: Runtime
) -> None:
    with runtime.db.writing() as session:
        evaluation = opened(session, source_type="audio_file", source_id=new_id("aud"))
        source = {"source_type": "audio_file", "source_id": evaluation.source_id}
        transcripts.store(session, transcripts.row_of(**source, transcript=spoken()))
        again = transcripts.load(session, **source)
    assert again == spoken()
    path = f"/evaluations/{evaluation.id}/transcript"
    shown = data_of(client, path)
    assert TranscriptSchema().validate(shown) == {}
    assert shown["audioFileId"] == evaluation.source_id
    assert shown["languages"] == [{"code": "en", "share": 1.0}]
    assert shown["durationSeconds"] == 2
    assert shown["segments"][0]["words"] == []
    assert [segment["index"] for segment in shown["segments"]] == list(range(shown["segmentCount"]))
    assert len(data_of(client, path, includeWords="true")["segments"][0]["words"]) == 2


def test_segments_bear_the_judges_sentiment(client: Caller, runtime: Runtime) -> None:
    with runtime.db.writing() as session:
        evaluation = completed(session)
    segments = data_of(client, f"/evaluations/{evaluation.id}/transcript")["segments"]
    thanks = segments[4]
    assert thanks["sentiment"] == "positive"
    assert thanks["sentimentScore"] > 0
    assert thanks["sentAt"] == "2026-11-20T09:31:20.000Z"
    assert thanks["messageId"]


def test_a_pending_transcript_has_no_segments(client: Caller, runtime: Runtime) -> None:
    with runtime.db.writing() as session:
        evaluation = opened(session)
    shown = data_of(client, f"/evaluations/{evaluation.id}/transcript")
    assert TranscriptSchema().validate(shown) == {}
    assert shown["status"] == "pending"
    assert shown["segments"] == []


def test_a_revision_keeps_the_transcript_it_was_judged_on(client: Caller, runtime: Runtime) -> None:
    source_id, longer = new_id("conv"), chat()
    with runtime.db.writing() as session:
        first = completed(session, source_id=source_id, transcript=chat())
        shorter = chat(tuple((segment.role, segment.text) for segment in longer.segments[:6]))
        second = completed(session, source_id=source_id, transcript=shorter)
    assert len(data_of(client, f"/evaluations/{first.id}/transcript")["segments"]) == 8
    assert len(data_of(client, f"/evaluations/{second.id}/transcript")["segments"]) == 6


def test_the_same_transcript_is_stored_once(runtime: Runtime) -> None:
    source = {"source_type": "conversation", "source_id": new_id("conv")}
    with runtime.db.writing() as session:
        first, second = (transcripts.row_of(**source, transcript=chat()) for _ in range(2))
        assert transcripts.store(session, second) == transcripts.store(session, first)
