"""Exports: asked for, made, downloaded; what stands in the files, and what never may."""

import csv
import hashlib
import io
import json
import re
import sqlite3
import sys
import zipfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from app.analytics import jobs
from app.analytics.enums import Dataset, Format
from app.analytics.exports import service as export_service
from app.analytics.exports import writers
from app.analytics.exports.datasets import catalogue, details
from app.analytics.exports.request import ExportRequest
from app.analytics.exports.writers import defuse
from app.analytics.models import ExportJob
from app.analytics.schemas.exports import ExportAcceptedSchema, ExportSchema
from app.core.clock import iso_utc, utc_now
from app.core.ids import new_id
from app.core.runtime import Runtime
from app.core.storage.objects import Storage, StoredObject
from app.evaluations.models import Evaluation, EvaluationResult, StoredTranscript
from app.events.models import Event
from tests.caller import Caller, error_code, findings
from tests.conversations import completed
from tests.running import running_runtime

pytestmark = pytest.mark.long


def asked(client: Caller, dataset: str = "evaluations", format: str = "csv", **more: Any) -> str:
    answer = client.post("/analytics/export", {"dataset": dataset, "format": format, **more})
    assert answer.status_code == 202, answer.text
    data = answer.json()["data"]
    assert ExportAcceptedSchema().validate(data) == {}
    assert data["statusUrl"].endswith(f"/api/v1/analytics/export/{data['jobId']}")
    return str(data["jobId"])


def shown(client: Caller, job_id: str) -> dict[str, Any]:
    answer = client.get(f"/analytics/export/{job_id}")
    assert answer.status_code == 200, answer.text
    data = answer.json()["data"]
    assert ExportSchema().validate(data) == {}
    return dict(data)


def downloaded(client: Caller, job_id: str) -> bytes:
    data = shown(client, job_id)
    assert data["status"] == "ready", data
    answer = client.plain("GET", data["downloadUrl"].removeprefix(client.base))
    assert answer.status_code == 200
    assert hashlib.sha256(answer.content).hexdigest() == data["sha256"]
    assert len(answer.content) == data["fileSizeBytes"]
    return answer.content


def made(client: Caller, runtime: Runtime, *args: str, **more: Any) -> bytes:
    job_id = asked(client, *args, **more)
    jobs.run_export(running_runtime(), job_id)
    return downloaded(client, job_id)


def read(data: bytes, delimiter: str = ",") -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode(), newline=""), delimiter=delimiter))


@pytest.fixture
def three(runtime: Runtime) -> list[Evaluation]:
    """Three evaluations of chats."""
    with runtime.db.writing() as session:
        return [completed(session, campaign="=1+1", campaign_id=new_id("camp")) for _ in range(3)]


def test_an_export_is_queued_made_and_downloaded(
    client: Caller, runtime: Runtime, three: list[Evaluation]
) -> None:
    job_id = asked(client, fileName="Mine")
    waiting = shown(client, job_id)
    assert waiting["status"] == "queued"
    assert waiting["downloadUrl"] is None
    assert waiting["createdBy"] == client.key_id
    jobs.run_export(running_runtime(), job_id)
    rows = read(downloaded(client, job_id))
    assert [row["evaluation_id"] for row in rows] == [each.id for each in three]
    assert rows[0]["score"] == str(three[0].score)
    assert rows[0]["passed"] in ("true", "false")
    assert rows[0]["completed_at"].endswith("Z")
    assert rows[0]["has_verdict"] == "true"
    assert len(rows[0]) == 45
    detail = client.get(f"/evaluations/{three[0].id}").json()["data"]
    assert rows[0]["band"] == detail["band"]
    assert rows[0]["summary"] == ""
    done = shown(client, job_id)
    assert (done["rowCount"], done["progress"]) == (3, 100)
    url = done["downloadUrl"].removeprefix(client.base)
    assert 'filename="Mine.csv"' in client.plain("GET", url).headers["Content-Disposition"]


def test_the_event_comes_with_the_file(client: Caller, runtime: Runtime) -> None:
    made(client, runtime)
    with runtime.db.reading() as session:
        events = [json.loads(row.body) for row in session.scalars(select(Event))]
    data = [event["data"] for event in events if event["event"] == "export.ready"]
    assert [(row["dataset"], row["format"], row["row_count"]) for row in data] == [
        ("evaluations", "csv", 0)
    ]


def test_texts_that_look_like_formulas_are_defused(
    client: Caller, runtime: Runtime, three: list[Evaluation]
) -> None:
    rows = read(made(client, runtime))
    assert {row["campaign"] for row in rows} == {"'=1+1"}
    plain = json.loads(made(client, runtime, "evaluations", "json"))
    assert {row["campaign"] for row in plain} == {"=1+1"}


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@a", "\tx", "\rx", '"=1', "'=1", "\"'=1"])
def test_each_dangerous_beginning_gets_an_apostrophe(text: str) -> None:
    assert defuse(text) == "'" + text


@pytest.mark.parametrize("text", ["\uff1d1", "\uff0b1", "\uff0d1", "\uff20a"])
def test_full_width_signs_get_an_apostrophe_too(text: str) -> None:
    assert defuse(text) == "'" + text


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a;=1", "a;'=1"), ("a,@b", "a,'@b"), ('a;"=1', "a;'\"=1"), ("a\t-1", "a\t'-1")],
)
def test_a_formula_behind_another_delimiter_gets_an_apostrophe(text: str, expected: str) -> None:
    assert defuse(text) == expected


@pytest.mark.parametrize("value", ["a=1", "", "'quoted'", "hi ;-)", "a, -b", -1, -1.5, None, True])
def test_what_is_harmless_stays(value: Any) -> None:
    assert defuse(value) is value


@pytest.mark.parametrize(
    "dataset",
    [
        *("evaluations", "criteria", "segments", "coaching", "moments", "executives", "campaigns"),
        *("call_centers", "trends", "usage"),
    ],
)
def test_every_dataset_can_be_had_in_every_format(
    client: Caller, runtime: Runtime, three: list[Evaluation], dataset: str
) -> None:
    pyarrow = pytest.importorskip("pyarrow.parquet")
    client.get("/usage/summary")
    to = iso_utc(utc_now())
    texts = made(client, runtime, dataset, "jsonl", to=to).splitlines()
    lines = [json.loads(text) for text in texts]
    rows = read(made(client, runtime, dataset, "csv", to=to))
    assert json.loads(made(client, runtime, dataset, "json", to=to)) == lines
    table = pyarrow.read_table(io.BytesIO(made(client, runtime, dataset, "parquet", to=to)))
    assert made(client, runtime, dataset, "xlsx", to=to)[:2] == b"PK"
    assert len(rows) == len(lines) == table.num_rows
    assert len(rows) > 0 or dataset in ("moments", "executives", "call_centers")
    if lines:
        assert list(rows[0]) == list(lines[0]) == table.column_names


def test_times_are_times_in_parquet_and_in_sheets(
    client: Caller, runtime: Runtime, three: list[Evaluation]
) -> None:
    pyarrow = pytest.importorskip("pyarrow.parquet")
    body = {"columns": ["evaluation_id", "completed_at"], "timezone": "Asia/Kolkata"}
    written = [
        datetime.fromisoformat(json.loads(line)["completed_at"])
        for line in made(client, runtime, "evaluations", "jsonl", **body).splitlines()
    ]
    table = pyarrow.read_table(io.BytesIO(made(client, runtime, "evaluations", "parquet", **body)))
    assert str(table.schema.field("completed_at").type) == "timestamp[ms, tz=UTC]"
    assert table.column("completed_at").to_pylist() == written
    file = zipfile.ZipFile(io.BytesIO(made(client, runtime, "evaluations", "xlsx", **body)))
    sheet = file.read("xl/worksheets/sheet1.xml").decode()
    assert 'topLeftCell="A2" activePane="bottomLeft" state="frozen"' in sheet
    assert '<autoFilter ref="A1:B4"/>' in sheet
    days = [float(day) for day in re.findall(r'<c r="B\d+" s="\d+"><v>([\d.]+)</v>', sheet)]
    local = [moment.replace(tzinfo=None) for moment in written]
    assert days == pytest.approx(
        [(moment - datetime(1899, 12, 30)).total_seconds() / 86_400 for moment in local]
    )


def test_coaching_and_moments_are_those_of_the_results(
    client: Caller, runtime: Runtime, three: list[Evaluation]
) -> None:
    advice = read(made(client, runtime, "coaching", includeText=True))
    moments = read(made(client, runtime, "moments"))
    for evaluation in three:
        results = client.get(f"/evaluations/{evaluation.id}/results").json()["data"]
        expected = [
            (kind, item["criterionKey"] or "")
            for kind in ("strength", "improvement")
            for item in results["coaching"][f"{kind}s"]
        ]
        own = [row for row in advice if row["evaluation_id"] == evaluation.id]
        assert [(row["kind"], row["criterion"]) for row in own] == expected
        assert all(row["text"] for row in own)
        listed = [row["type"] for row in moments if row["evaluation_id"] == evaluation.id]
        assert listed == [moment["type"] for moment in results["moments"]]
    assert {row["text"] for row in read(made(client, runtime, "coaching"))} == {""}
    titles = {row["criterion"]: row["title"] for row in read(made(client, runtime, "criteria"))}
    assert titles
    assert all(titles.values())


def test_words_of_the_conversation_come_only_when_asked_for(
    client: Caller, runtime: Runtime, three: list[Evaluation]
) -> None:
    bare = read(made(client, runtime, "segments"))
    assert {row["text"] for row in bare} == {""}
    assert {row["evidence_quotes"] for row in read(made(client, runtime, "criteria"))} == {""}
    full = read(made(client, runtime, "segments", includeText=True))
    assert full[0]["text"].startswith("Hello, my parcel")
    quotes = [
        row["evidence_quotes"] for row in read(made(client, runtime, "criteria", includeText=True))
    ]
    assert any(quotes)
    full_rows = read(made(client, runtime, "evaluations", includeText=True))
    overview = client.get(f"/evaluations/{three[0].id}").json()["data"]["summary"]["overview"]
    assert full_rows[0]["summary"] == overview


def test_columns_delimiter_filters_and_zone(
    client: Caller, runtime: Runtime, three: list[Evaluation]
) -> None:
    body = {
        "columns": ["completed_at", "evaluation_id"],
        "delimiter": "semicolon",
        "timezone": "Asia/Kolkata",
        "filters": {"campaignId": three[1].campaign_id, "channel": "chat,voice", "minScore": 0},
    }
    data = made(client, runtime, **body)
    assert data.splitlines()[0] == b"completed_at;evaluation_id"
    (row,) = read(data, ";")
    assert row["evaluation_id"] == three[1].id
    assert row["completed_at"].endswith("+05:30")


def test_superseded_revisions_have_their_metrics(client: Caller, runtime: Runtime) -> None:
    source_id = new_id("conv")
    with runtime.db.writing() as session:
        for _ in range(2):
            completed(session, source_id=source_id)
    assert len(read(made(client, runtime))) == 1
    rows = read(made(client, runtime, filters={"current": False}))
    assert [row["revision"] for row in rows] == ["1", "2"]
    assert rows[0]["first_response_seconds"] == rows[1]["first_response_seconds"] != ""


@pytest.mark.parametrize(
    ("body", "field", "code"),
    [
        ({}, "dataset", "REQUIRED"),
        ({"dataset": "people"}, "dataset", "ENUM"),
        ({"dataset": "evaluations", "format": "xml"}, "format", "ENUM"),
        ({"dataset": "evaluations", "columns": ["secret"]}, "columns", "ENUM"),
        ({"dataset": "evaluations", "filters": {"nope": 1}}, "filters.nope", "UNKNOWN"),
        ({"dataset": "evaluations", "filters": {"status": "done"}}, "filters.status", "ENUM"),
        ({"dataset": "trends", "filters": {"q": "x"}}, "filters", "UNKNOWN"),
        ({"dataset": "usage", "filters": {"channel": "chat"}}, "filters", "UNKNOWN"),
        ({"dataset": "trends", "from": "2020-01-01"}, "to", "RANGE"),
        ({"dataset": "usage", "from": "2026-02-01", "to": "2026-01-01"}, "to", "RANGE"),
        ({"dataset": "evaluations", "timezone": "Nowhere"}, "timezone", "FORMAT"),
        ({"dataset": "evaluations", "timezone": "localtime"}, "timezone", "FORMAT"),
        ({"dataset": "evaluations", "fileName": "../march"}, "fileName", "FORMAT"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(
    shared_client: Caller, body: dict[str, Any], field: str, code: str
) -> None:
    wanted = {"format": "csv", **body} if body else {"format": "csv"}
    assert findings(shared_client.post("/analytics/export", wanted)) == {field: code}


def test_a_format_without_its_package_is_refused(
    client: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    answer = client.post("/analytics/export", {"dataset": "usage", "format": "parquet"})
    assert error_code(answer) == "CONFLICT"


def test_exports_have_their_own_scope(base: str, make_caller: Callable[..., Caller]) -> None:
    reader = make_caller(base, scopes=["analytics:read"])
    answer = reader.post("/analytics/export", {"dataset": "nonsense"})
    assert error_code(answer) == "INSUFFICIENT_SCOPE"
    assert error_code(reader.get(f"/analytics/export/{new_id('exp')}")) == "INSUFFICIENT_SCOPE"


@pytest.mark.parametrize(
    ("needed", "export"),
    [
        (["evaluations:read"], {"dataset": "evaluations"}),
        (["evaluations:read"], {"dataset": "criteria"}),
        (["evaluations:read", "conversations:read"], {"dataset": "segments", "includeText": True}),
        (["analytics:read"], {"dataset": "executives"}),
        (["analytics:read"], {"dataset": "trends"}),
        (["usage:read"], {"dataset": "usage"}),
    ],
)
def test_an_export_needs_the_scopes_of_what_it_contains(
    client: Caller, make_caller: Callable[..., Caller], needed: list[str], export: dict[str, Any]
) -> None:
    body = {"format": "csv", **export}
    job_id = asked(client, **body)
    for lacking in needed:
        kept = [scope for scope in needed if scope != lacking]
        exporter = make_caller(client.base, scopes=["analytics:export", *kept])
        for answer in (
            exporter.post("/analytics/export", body),
            exporter.get(f"/analytics/export/{job_id}"),
        ):
            assert error_code(answer) == "INSUFFICIENT_SCOPE"
            assert lacking in answer.json()["error"]["message"]
    entitled = make_caller(client.base, scopes=["analytics:export", *needed])
    assert shown(entitled, job_id)["status"] == "queued"
    asked(entitled, **body)


def test_an_unknown_export_is_not_found(client: Caller) -> None:
    for job_id in (new_id("exp"), "exp_1", new_id("aud")):
        assert error_code(client.get(f"/analytics/export/{job_id}")) == "RESOURCE_NOT_FOUND"


def test_a_file_ends_with_its_time(client: Caller, runtime: Runtime) -> None:
    job_id = asked(client, "usage")
    jobs.run_export(running_runtime(), job_id)
    url = shown(client, job_id)["downloadUrl"].removeprefix(client.base)
    with runtime.db.writing() as session:
        past = utc_now() - timedelta(seconds=1)
        session.execute(update(ExportJob).values(expires_at=past))
    assert shown(client, job_id)["status"] == "expired"
    assert client.plain("GET", url).status_code == 404
    assert jobs.purge_exports(runtime) == 1
    assert list(runtime.storage.object_ids()) == []


def test_at_most_two_exports_run_at_once(client: Caller, runtime: Runtime) -> None:
    for _ in range(3):
        asked(client, "usage")
    claimed = []
    for _ in range(3):
        with runtime.db.writing() as session:
            claimed.append(export_service.claim(session, ""))
    assert [each is None for each in claimed] == [False, False, True]


def test_an_export_that_fails_is_tried_again_and_then_told(
    client: Caller, runtime: Runtime
) -> None:
    # A file where the folder of unfinished exports should be.
    spool = runtime.settings.data_dir / "spool"
    spool.touch()
    job_id = asked(client)
    for _ in range(3):
        jobs.run_export(running_runtime(), job_id)
        with runtime.db.writing() as session:
            session.execute(update(ExportJob).values(due_at=utc_now()))
    data = shown(client, job_id)
    assert data["status"] == "failed"
    assert data["error"] == {
        "code": "INTERNAL",
        "message": "The export failed because of an internal error.",
    }
    assert left(runtime) == []


@pytest.mark.usefixtures("three")
def test_a_full_disk_costs_an_export_no_attempt(client: Caller, runtime: Runtime) -> None:
    full = replace(running_runtime(), settings=replace(runtime.settings, min_free_gb=1e9))
    job_id = asked(client)
    for _ in range(5):
        jobs.run_export(full, job_id)
        with runtime.db.writing() as session:
            job = session.get_one(ExportJob, job_id)
            assert (job.state, job.attempts, job.due_at > utc_now()) == ("queued", 0, True)
            job.due_at = utc_now()
    jobs.run_export(running_runtime(), job_id)
    assert shown(client, job_id)["status"] == "ready"


def test_a_sheet_that_is_full_fails_the_export(
    client: Caller,
    runtime: Runtime,
    three: list[Evaluation],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job_id = asked(client, "evaluations", "xlsx")
    monkeypatch.setattr("app.analytics.exports.writers.MOST_ROWS_OF_A_SHEET", 2)
    jobs.run_export(running_runtime(), job_id)
    assert shown(client, job_id)["error"]["code"] == "TOO_MANY_ROWS"


def test_what_no_sheet_can_hold_is_refused_before_it_is_begun(
    client: Caller, runtime: Runtime, three: list[Evaluation]
) -> None:
    with runtime.db.writing() as session:
        transcript = session.get_one(StoredTranscript, three[0].transcript_id)
        transcript.segment_count = writers.MOST_ROWS_OF_A_SHEET
    refused = client.post("/analytics/export", {"dataset": "segments", "format": "xlsx"})
    assert error_code(refused) == "CONFLICT"
    assert "request csv, jsonl or parquet" in refused.json()["error"]["message"]
    asked(client, "segments", "parquet")
    asked(client, "segments", "xlsx", filters={"campaignId": three[1].campaign_id})
    asked(client, "evaluations", "xlsx")


@pytest.mark.parametrize("dataset", [Dataset.EVALUATIONS, Dataset.CRITERIA])
def test_each_evaluation_counts_as_a_row_at_least(
    runtime: Runtime, three: list[Evaluation], dataset: Dataset
) -> None:
    first = {"campaign_id": three[0].campaign_id}
    with runtime.db.reading() as session:
        assert catalogue.least_rows(session, ExportRequest(dataset, Format.XLSX)) == 3
        some = ExportRequest(dataset, Format.XLSX, filters=first)
        assert catalogue.least_rows(session, some) == 1
        assert catalogue.least_rows(session, some, above=3) == 0


def canceled(client: Caller, job_id: str) -> int:
    return client.delete(f"/analytics/export/{job_id}").status_code


def left(runtime: Runtime) -> list[str]:
    spool = runtime.settings.data_dir / "spool"
    return [*runtime.storage.object_ids(), *(file.name for file in spool.glob("*"))]


def test_one_that_waits_can_be_canceled(client: Caller, runtime: Runtime) -> None:
    job_id = asked(client, "usage")
    assert canceled(client, job_id) == 204
    jobs.run_export(running_runtime(), job_id)
    assert (shown(client, job_id)["status"], left(runtime)) == ("canceled", [])
    assert canceled(client, job_id) == 204
    assert canceled(client, new_id("exp")) == 404


class SlowStorage:
    """The storage of a service, which does something else before it stores a file."""

    def __init__(self, storage: Storage, before_write: Callable[[], object]) -> None:
        self._storage = storage
        self._before_write = before_write

    def write(self, *args: Any, **kwargs: Any) -> StoredObject:
        self._before_write()
        return self._storage.write(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)


@pytest.mark.usefixtures("three")
def test_one_that_runs_notices_that_it_is_canceled(client: Caller, runtime: Runtime) -> None:
    job_id = asked(client)
    slow: Any = SlowStorage(runtime.storage, lambda: canceled(client, job_id))
    jobs.run_export(replace(running_runtime(), storage=slow), job_id)
    data = shown(client, job_id)
    assert (data["status"], data["rowCount"], data["downloadUrl"]) == ("canceled", None, None)
    assert left(runtime) == []


def test_one_that_is_ready_can_be_withdrawn(client: Caller, runtime: Runtime) -> None:
    job_id = asked(client, "usage")
    jobs.run_export(running_runtime(), job_id)
    url = shown(client, job_id)["downloadUrl"].removeprefix(client.base)
    assert canceled(client, job_id) == 204
    assert shown(client, job_id)["status"] == "expired"
    assert client.plain("GET", url).status_code == 404
    assert jobs.purge_exports(runtime) == 1
    assert left(runtime) == []


def test_an_export_is_one_snapshot_and_blocks_no_writer(runtime: Runtime, tmp_path: Path) -> None:
    with runtime.db.writing() as session:
        evaluations = [completed(session, campaign="=1+1") for _ in range(details.BATCH_SIZE + 1)]
    file = tmp_path / "criteria.csv"
    reached: list[int] = []

    def disturb(percent: int) -> None:
        if not reached:
            change_everything(runtime, evaluations)
        reached.append(percent)

    request = ExportRequest(Dataset.CRITERIA, Format.CSV, include_text=True)
    jobs.write_file(running_runtime(), request, file, disturb)
    assert len(reached) == 2
    rows = read(file.read_bytes())
    assert {row["evaluation_id"] for row in rows} == {evaluation.id for evaluation in evaluations}
    assert {row["campaign"] for row in rows} == {"'=1+1"}
    assert "gone" not in {row["explanation"] for row in rows}
    everything = replace(request, filters={"current": False})
    jobs.write_file(running_runtime(), everything, file, lambda _: None)
    again = read(file.read_bytes())
    assert {row["evaluation_id"] for row in again} > {evaluation.id for evaluation in evaluations}
    assert {row["campaign"] for row in again} == {"gone", ""}


def change_everything(runtime: Runtime, evaluations: list[Evaluation]) -> None:
    """Override, erase, judge anew and add, while an export is being read."""
    with runtime.db.writing() as session:
        session.execute(update(Evaluation).values(score=1, campaign="gone"))
        for result in session.scalars(select(EvaluationResult)):
            emptied = [
                {**criterion, "explanation": "gone"} for criterion in result.document["criteria"]
            ]
            result.document = {**result.document, "criteria": emptied}
        completed(session, source_id=evaluations[-1].source_id)
        completed(session)
    if runtime.settings.is_sqlite:
        with closing(sqlite3.connect(runtime.settings.data_dir / "cqe.db")) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        # The log can be emptied only when nobody reads as of an earlier moment.
        assert (runtime.settings.data_dir / "cqe.db-wal").stat().st_size == 0
