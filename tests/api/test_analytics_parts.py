"""Parts of facts: written beside readers and writers, verified, rebuilt; a cache and no more."""

import os
import shutil
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
from sqlalchemy import delete, select, update

from app.analytics import jobs
from app.analytics.cli import analytics
from app.analytics.engine import parts, rebuilding
from app.analytics.engine.database import fact_database, parts_folder
from app.analytics.models import EvaluationFact, FactPart
from app.core.clock import iso_utc
from app.core.ids import new_id
from app.core.runtime import Runtime
from app.core.secrets.encryption import KEY_FILE
from app.evaluations import service
from app.evaluations.models import Evaluation
from tests.caller import Caller
from tests.contacts import call, chat
from tests.conversations import completed, opened
from tests.evaluation_rows import rows_of
from tests.running import CommandRunner, running_runtime

pytestmark = pytest.mark.sql

START = datetime(2026, 5, 31, 23, tzinfo=UTC)
CAMPAIGNS = [new_id("camp"), new_id("camp")]


def write_evaluations(runtime: Runtime) -> list[str]:
    """Write 60 evaluations, half of them in May and half in June, and their facts."""
    rows = [
        {
            "created_at": START + timedelta(minutes=2 * number),
            "score": number,
            "passed": True,
            "campaign_id": CAMPAIGNS[number % 2],
            "topics": ["billing"],
        }
        for number in range(60)
    ]
    ids = rows_of(runtime, *rows)
    with runtime.db.writing() as session:
        rebuilding.rebuild_after(session, "")
    return ids


def override(runtime: Runtime, evaluation_id: str, score: int) -> None:
    with runtime.db.writing() as session:
        evaluation = session.get_one(Evaluation, evaluation_id)
        evaluation.score = score
        session.flush()
        service.notify_changed(session, [evaluation])


def summary(client: Caller, **params: Any) -> Any:
    period = {
        "from": iso_utc(START - timedelta(days=9)),
        "to": iso_utc(START + timedelta(days=9)),
        **params,
    }
    answer = client.get("/analytics/summary", params=period)
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


def mean(client: Caller) -> float:
    return float(summary(client)["score"]["mean"])


def write_parts(runtime: Runtime) -> int:
    return jobs.write_parts(runtime, at_least=1)


def part_files_of(runtime: Runtime) -> list[Path]:
    with runtime.db.reading() as session:
        files = session.scalars(select(FactPart.file).order_by(FactPart.month)).all()
    return [parts_folder(runtime.settings) / file for file in files]


def analytics_command(name: str) -> Any:
    return CommandRunner().invoke(analytics, [name])


def test_parts_hold_one_month_each_and_change_no_answer(client: Caller, runtime: Runtime) -> None:
    write_evaluations(runtime)
    before = summary(client), summary(client, campaignId=CAMPAIGNS[0])
    assert write_parts(runtime) == 60
    assert [file.name[:7] for file in part_files_of(runtime)] == ["2026-05", "2026-06"]
    assert (summary(client), summary(client, campaignId=CAMPAIGNS[0])) == before
    assert write_parts(runtime) == 0


def test_few_pending_facts_wait_for_more(runtime: Runtime) -> None:
    write_evaluations(runtime)
    assert jobs.write_parts(runtime) == 0
    jobs.tidy_parts(runtime)
    assert len(part_files_of(runtime)) == 2


def test_a_changed_fact_counts_at_once_and_once(client: Caller, runtime: Runtime) -> None:
    ids = write_evaluations(runtime)
    write_parts(runtime)
    override(runtime, ids[0], 60)
    assert mean(client) == (sum(range(60)) + 60) / 60
    assert write_parts(runtime) == 1
    assert mean(client) == (sum(range(60)) + 60) / 60
    assert analytics_command("check").exit_code == 0


def test_a_fact_that_moves_to_another_month_leaves_its_part(
    client: Caller, runtime: Runtime
) -> None:
    ids = write_evaluations(runtime)
    write_parts(runtime)
    with runtime.db.writing() as session:
        evaluation = session.get_one(Evaluation, ids[0])
        evaluation.conversation_at = START + timedelta(days=40)
        session.flush()
        service.notify_changed(session, [evaluation])
    assert summary(client)["totals"]["evaluations"] == 59
    assert write_parts(runtime) == 1
    assert summary(client)["totals"]["evaluations"] == 59
    assert [file.name[:7] for file in part_files_of(runtime)] == ["2026-05", "2026-06", "2026-07"]
    assert analytics_command("check").exit_code == 0


def test_a_period_that_cuts_a_part_counts_only_its_facts(client: Caller, runtime: Runtime) -> None:
    write_evaluations(runtime)
    write_parts(runtime)
    cut, days = START + timedelta(minutes=2 * 20), timedelta(days=9)
    for start, end, expected in ((cut - days, cut, (9.5, 20)), (cut, cut + days, (39.5, 40))):
        params = {"from": iso_utc(start), "to": iso_utc(end), "granularity": "week"}
        (series,) = client.get("/analytics/trends", params=params).json()["data"]["series"]
        points = [(point["value"], point["count"]) for point in series["points"]]
        assert sum(count for _, count in points) == expected[1]
        total = sum(value * count for value, count in points if count)
        assert total / expected[1] == pytest.approx(expected[0], abs=0.01)


def test_without_its_file_a_part_is_read_from_the_table_and_written_again(
    client: Caller, runtime: Runtime
) -> None:
    write_evaluations(runtime)
    write_parts(runtime)
    before = summary(client)
    first, second = part_files_of(runtime)
    first.unlink()
    second.write_bytes(second.read_bytes()[:-1])
    assert summary(client) == before
    found = analytics_command("check")
    assert "0 facts and 2 parts differ" in found.output
    jobs.tidy_parts(runtime)
    assert summary(client) == before
    assert analytics_command("check").exit_code == 0


def test_hosts_that_share_a_storage_share_the_parts(
    serve: Callable[..., str], make_caller: Callable[..., Caller], tmp_path: Path
) -> None:
    shared = f"file://{tmp_path / 'shared'}"
    client = make_caller(serve(storage_url=shared))
    worker = running_runtime()
    worker.storage.write_marker("a deployment")
    ids = write_evaluations(worker)
    write_parts(worker)
    before = summary(client)
    other_dir = tmp_path / "other"
    url, keys = worker.settings.effective_database_url, worker.settings.data_dir / KEY_FILE
    other_dir.mkdir()
    shutil.copy(keys, other_dir)
    client.base = serve(storage_url=shared, data_dir=other_dir, database_url=url)
    other = running_runtime()
    assert not any(file.exists() for file in part_files_of(other))
    assert summary(client) == before
    assert all(file.exists() for file in part_files_of(other))
    # The other host writes the next part, of which the first one then has no file.
    override(other, ids[0], 100)
    write_parts(other)
    assert len([*other.storage.object_ids()]) == 2
    jobs.tidy_parts(worker)
    with worker.db.reading() as session:
        assert parts.pending_count(session) == 0
    assert all(file.exists() for file in part_files_of(worker))
    assert analytics_command("check").exit_code == 0


def test_parts_in_the_storage_that_no_row_names_are_orphans(
    serve: Callable[..., str], tmp_path: Path
) -> None:
    serve(storage_url=f"file://{tmp_path / 'shared'}")
    runtime = running_runtime()
    runtime.storage.write_marker("a deployment")
    write_evaluations(runtime)
    write_parts(runtime)
    kept = [*runtime.storage.object_ids()]
    assert jobs.orphaned_parts(runtime, [*kept, "par_2026_05_00"]) == ["par_2026_05_00"]


def test_files_are_deleted_some_time_after_they_are_replaced(runtime: Runtime) -> None:
    ids = write_evaluations(runtime)
    write_parts(runtime)
    former = part_files_of(runtime)[0]
    override(runtime, ids[0], 100)
    write_parts(runtime)
    parts.delete_unused(runtime.db, parts_folder(runtime.settings))
    assert former.exists()
    long_ago = time.time() - 3600
    for file in [former, *part_files_of(runtime)]:
        os.utime(file, (long_ago, long_ago))
    assert parts.delete_unused(runtime.db, parts_folder(runtime.settings)) == 1
    assert not former.exists()
    assert all(file.exists() for file in part_files_of(runtime))


def test_readers_find_every_fact_once_while_others_change_and_write(
    client: Caller, runtime: Runtime
) -> None:
    ids = write_evaluations(runtime)
    ended = threading.Event()

    def change() -> None:
        for number in range(30):
            override(runtime, ids[number], 100)
        ended.set()

    def write() -> None:
        while not ended.is_set():
            write_parts(runtime)

    threads = [threading.Thread(target=target) for target in (change, write)]
    for thread in threads:
        thread.start()
    counted = set()
    while not ended.is_set():
        counted.add(summary(client)["score"]["distribution"][9]["count"])
        assert summary(client)["totals"]["evaluations"] == 60
    for thread in threads:
        thread.join()
    assert max(counted) > 0
    write_parts(runtime)
    assert summary(client)["score"]["distribution"][9]["count"] == 30
    assert analytics_command("check").exit_code == 0


def test_wrong_facts_are_found_and_rebuilt(client: Caller, runtime: Runtime) -> None:
    with runtime.db.writing() as session:
        for _ in range(3):
            completed(session)
        opened(session)
    write_parts(runtime)
    assert "every fact agrees" in analytics_command("check").output
    with runtime.db.writing() as session:
        first = select(EvaluationFact.id).order_by(EvaluationFact.id).limit(1)
        session.execute(delete(EvaluationFact).where(EvaluationFact.id == first.scalar_subquery()))
        session.execute(update(EvaluationFact).values(topics=["x"]))
    assert "4 facts and 1 parts differ" in analytics_command("check").output
    rebuilt = analytics_command("rebuild")
    assert rebuilt.exit_code == 0, rebuilt.output
    assert "every fact agrees" in analytics_command("check").output


def test_a_wrong_part_is_found_and_rebuilt(client: Caller, runtime: Runtime) -> None:
    write_evaluations(runtime)
    write_parts(runtime)
    right = summary(client)
    with runtime.db.writing() as session:
        session.execute(update(EvaluationFact).values(score=77))
    assert "60 facts and 2 parts differ" in analytics_command("check").output
    assert analytics_command("rebuild").exit_code == 0
    assert summary(client) == right


def test_facts_of_evaluations_that_are_gone_are_deleted(client: Caller, runtime: Runtime) -> None:
    ids = write_evaluations(runtime)
    write_parts(runtime)
    with runtime.db.writing() as session:
        session.get_one(Evaluation, ids[0]).is_current = False
    assert "1 facts and 0 parts differ" in analytics_command("check").output
    assert "1 stale ones deleted" in analytics_command("rebuild").output
    assert summary(client)["totals"]["evaluations"] == 59


def test_analytics_reads_no_other_file(runtime: Runtime) -> None:
    cursor = fact_database(runtime.settings).cursor()
    for statement in ("FROM read_csv('/etc/hosts')", "INSTALL httpfs", "SET threads = 9"):
        with pytest.raises(duckdb.Error):
            cursor.execute(statement)


def test_more_facts_than_fit_into_memory_go_to_the_disk(
    serve: Callable[..., str], data_dir: Path
) -> None:
    serve(analytics_memory_mb=30, analytics_threads=1)
    cursor = fact_database(running_runtime().settings).cursor()
    cursor.execute("CREATE TEMP TABLE wide AS SELECT range AS n, uuid() AS u FROM range(2_000_000)")
    assert cursor.execute("SELECT count(DISTINCT u) FROM wide").fetchone() == (2_000_000,)


def test_contacts_without_an_evaluation_count_in_the_totals(
    client: Caller, runtime: Runtime
) -> None:
    with runtime.db.writing() as session:
        completed(session)
    for kind, body in (("conversations", chat()), ("voice-calls", call(status="no_answer"))):
        answer = client.call("PUT", f"/imports/{kind}/1?evaluate=false", body)
        assert answer.status_code == 201, answer.text
    data = client.get("/analytics/summary").json()["data"]
    assert data["totals"]["conversations"] == 2
    assert data["totals"]["voiceCalls"] == 0
    assert data["totals"]["evaluations"] == data["totals"]["completed"] == 1
    assert data["coverage"] == 0.5
    params = {"channel": "voice"}
    assert client.get("/analytics/summary", params=params).json()["data"]["coverage"] is None
