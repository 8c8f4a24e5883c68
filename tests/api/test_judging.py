"""The job that judges: safe to run twice, taken up again, and never over what is not its own."""

import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from app.core.clock import utc_now
from app.core.jobs import leases
from app.core.jobs.leases import Lease, LeaseLost
from app.core.runtime import Runtime
from app.evaluations import jobs, service
from app.evaluations.enums import FailureCode
from app.evaluations.judging import judgements
from app.evaluations.models import Evaluation, EvaluationJob, StoredTranscript
from app.operations.background_work import JOB_QUEUES
from tests.caller import Caller
from tests.contacts import get, judge, put, put_call, put_chat
from tests.happenings import happened
from tests.own_scorecards import create
from tests.running import stopped_by_signal
from training.examples import records_in


def waiting(runtime: Runtime) -> list[str]:
    return list(jobs.due_ids(runtime))


def claim(runtime: Runtime, job_id: str = "") -> Lease[EvaluationJob]:
    with runtime.db.writing() as session:
        taken = judgements.claim(session, job_id)
    assert taken is not None
    return taken


def left_by(runtime: Runtime, owner: str, **columns: Any) -> None:
    with runtime.db.writing() as session:
        session.execute(update(EvaluationJob).values(lease_owner=owner, **columns))


def test_one_bell_has_everything_judged(client: Caller, runtime: Runtime) -> None:
    made = [put_chat(client, f"c{n}") for n in range(3)]
    call = put_call(client)
    assert waiting(runtime) == [each["evaluationId"] for each in (*made, call)]
    judge()
    assert waiting(runtime) == []
    judge()
    assert happened(runtime).count("evaluation.completed") == 4
    with runtime.db.reading() as session:
        assert session.scalars(select(EvaluationJob)).all() == []
    evaluations = get(client, "/evaluations")
    assert {evaluation["status"] for evaluation in evaluations} == {"completed"}
    assert {evaluation["channel"] for evaluation in evaluations} == {"chat", "voice_bot"}


def test_the_sweep_and_the_workers_know_the_queue() -> None:
    assert judgements.QUEUE in {queue.queue for queue in JOB_QUEUES}


def test_a_worker_that_was_killed_is_followed(client: Caller, runtime: Runtime) -> None:
    made = put_chat(client)
    worker = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from app.core.process import owner; print(owner.this_process(), flush=True); input()",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert worker.stdout is not None
    holder = worker.stdout.readline().strip()
    claim(runtime)
    left_by(runtime, holder)
    assert waiting(runtime) == []
    os.kill(worker.pid, signal.SIGKILL)
    worker.communicate()
    assert waiting(runtime) == [made["evaluationId"]]
    judge()
    assert get(client, f"/evaluations/{made['evaluationId']}")["status"] == "completed"
    assert happened(runtime) == ["evaluation.completed"]


def test_a_late_finisher_writes_nothing(client: Caller, runtime: Runtime) -> None:
    made = put_chat(client)
    late = claim(runtime)
    left_by(runtime, "elsewhere:1:1", lease_until=utc_now() - timedelta(seconds=1))
    current = claim(runtime)
    assert current.attempt == 2
    for step in (
        lambda session: judgements.begin(session, late),
        lambda session: judgements.release(session, late, utc_now(), counts=True),
        lambda session: judgements.fail(session, late, FailureCode.INTERNAL, "No."),
    ):
        with pytest.raises(LeaseLost), runtime.db.writing() as session:
            step(session)
    with runtime.db.writing() as session:
        assert not leases.renew(session, late)
        assert leases.renew(session, current)
        judgements.release(session, current, utc_now(), counts=True)
    judge()
    assert get(client, f"/evaluations/{made['evaluationId']}")["status"] == "completed"


def test_a_row_that_kills_its_worker_each_time_ends(client: Caller, runtime: Runtime) -> None:
    made = put_chat(client)
    left_by(runtime, "elsewhere:1:1", attempts=leases.MAX_ATTEMPTS)
    judge()
    shown = get(client, f"/evaluations/{made['evaluationId']}")
    assert (shown["status"], shown["error"]["code"]) == ("failed", "INTERNAL")
    assert happened(runtime) == ["conversation.failed"]
    assert waiting(runtime) == []


def test_a_judgement_that_fails_is_tried_again_and_then_no_more(
    client: Caller, runtime: Runtime
) -> None:
    made = put_chat(client)
    with runtime.db.writing() as session:
        session.execute(update(StoredTranscript).values(segments=[{"id": "of no known form"}]))
    for attempt in range(1, leases.TRIES_AFTER_FAILURE + 1):
        assert waiting(runtime) == [made["evaluationId"]]
        judge()
        status = get(client, f"/evaluations/{made['evaluationId']}")["status"]
        assert status == ("failed" if attempt == leases.TRIES_AFTER_FAILURE else "queued")
        with runtime.db.writing() as session:
            session.execute(update(EvaluationJob).values(due_at=utc_now()))
    assert waiting(runtime) == []
    assert get(client, f"/conversations/{made['id']}")["score"] is None


def test_what_was_canceled_meanwhile_stays_so(client: Caller, runtime: Runtime) -> None:
    made = put_chat(client)
    with runtime.db.writing() as session:
        service.cancel(session, made["evaluationId"])
    judge()
    assert get(client, f"/evaluations/{made['evaluationId']}")["status"] == "canceled"
    assert happened(runtime) == []
    assert waiting(runtime) == []


def test_a_scorecard_that_is_gone_fails_what_asked_for_it(client: Caller, runtime: Runtime) -> None:
    made = put_chat(client)
    with runtime.db.writing() as session:
        session.execute(update(Evaluation).values(scorecard_version=99))
    judge()
    shown = get(client, f"/evaluations/{made['evaluationId']}")
    assert (shown["status"], shown["error"]["code"]) == ("failed", "INTERNAL")


def test_an_evaluation_that_fails_in_a_batch_stops_no_other(
    client: Caller, runtime: Runtime
) -> None:
    broken, *others = [put_chat(client, f"c{n}")["evaluationId"] for n in range(3)]
    with runtime.db.writing() as session:
        transcript_id = session.get_one(Evaluation, broken).transcript_id
        session.execute(
            update(StoredTranscript)
            .where(StoredTranscript.id == transcript_id)
            .values(erased_at=utc_now())
        )
    judge()
    assert [get(client, f"/evaluations/{one}")["status"] for one in others] == ["completed"] * 2
    failed = get(client, f"/evaluations/{broken}")
    assert (failed["status"], failed["error"]["message"]) == (
        "failed",
        "The transcript has been erased.",
    )
    assert happened(runtime).count("evaluation.completed") == 2
    assert waiting(runtime) == []


def test_a_batch_that_was_abandoned_is_judged_one_by_one(client: Caller, runtime: Runtime) -> None:
    for number in range(3):
        put_chat(client, f"c{number}")
    with runtime.db.writing() as session:
        assert len(judgements.begin_batch(session, limit=20)) == 3
    left_by(runtime, "a host that is gone", lease_until=utc_now() - timedelta(seconds=1))
    with runtime.db.writing() as session:
        assert judgements.begin_batch(session, limit=20) == []
    judge()
    assert happened(runtime).count("evaluation.completed") == 3


def test_a_stop_leaves_the_rest_to_the_next(client: Caller, runtime: Runtime) -> None:
    put_chat(client)
    with stopped_by_signal():
        signal.raise_signal(signal.SIGTERM)
        judge()
    assert len(waiting(runtime)) == 1


def test_an_older_revision_that_ends_later_is_not_current(client: Caller, runtime: Runtime) -> None:
    made = put_chat(client)
    first = claim(runtime)
    with runtime.db.writing() as session:
        judgements.begin(session, first)
    put_chat(client, labels={"team": "north"})
    judge()
    newer = get(client, f"/conversations/{made['id']}")["evaluationId"]
    assert newer != first.job_id
    with runtime.db.writing() as session:
        judgements.release(session, first, utc_now(), counts=True)
    time.sleep(0.002)
    judge()
    both = get(client, "/evaluations", sourceId=made["id"], current="false")
    assert {each["status"] for each in both} == {"completed"}
    assert get(client, f"/conversations/{made['id']}")["evaluationId"] == newer


def test_points_and_failures_go_by_the_answer_that_is_shown(client: Caller) -> None:
    levels = {0: 0.0, 0.5: 0.25, 1: 0.5, 1.5: 0.75, 2: 1.0}
    used = {"use": "resolution.completeness", "weight": 100, "criticality": "evaluation"}
    card = create(client, used, sections=[{"key": "resolution", "title": "Resolution"}])
    campaign = put(client, "campaigns", "c", {"name": "C", "scorecardId": card["id"]})
    rows = records_in(Path("tests/data/conduct/conversations.jsonl"))[:30]
    for row in rows:
        sent = [
            {**message, "sentAt": f"2026-11-20T09:{number:02d}:00Z"}
            for number, message in enumerate(row["messages"])
        ]
        put_chat(client, row["id"], messages=sent, campaignId=campaign["id"])
    judge()
    seen = set()
    for evaluation in get(client, "/evaluations?status=completed&pageSize=100"):
        results = get(client, f"/evaluations/{evaluation['id']}/results")
        for criterion in results["criteria"]:
            if criterion["answer"] is not None:
                seen.add(criterion["answer"])
                assert criterion["normalizedScore"] == levels[criterion["answer"]]
                assert criterion["points"] == 100 * levels[criterion["answer"]]
                assert results["autoFail"]["triggered"] == (criterion["answer"] == 0)
    assert {0, 2} <= seen
