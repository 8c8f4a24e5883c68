"""The sums behind analytics: folded beside writers, checked, made anew; contacts without figures."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update

from app.analytics import folding, rebuilding, spans
from app.analytics.cli import analytics
from app.analytics.models import FactCell, FactSpan
from app.core.clock import iso_utc, utc_now
from app.core.ids import new_id
from app.core.runtime import Runtime
from app.evaluations import revisions
from app.evaluations.models import Evaluation
from tests.caller import Caller
from tests.contacts import call, chat
from tests.conversations import completed
from tests.evaluation_rows import rows_of
from tests.running import CommandRunner

HOUR = (utc_now() - timedelta(days=40)).replace(minute=0, second=0, microsecond=0)
CAMPAIGNS = [new_id("camp"), new_id("camp")]


def written(runtime: Runtime) -> list[str]:
    """Write sixty evaluations of one hour, long over, with their facts; return their ids."""
    rows = [
        {
            "created_at": HOUR + timedelta(seconds=50 * number),
            "score": number,
            "campaign_id": CAMPAIGNS[number % 2],
            "topics": ["billing"],
        }
        for number in range(60)
    ]
    ids = rows_of(runtime, *rows)
    with runtime.db.writing() as session:
        rebuilding.rebuild_after(session, "")
    return ids


def summary_of(client: Caller, **params: Any) -> Any:
    period = {"from": iso_utc(HOUR - timedelta(days=9)), "to": iso_utc(HOUR + timedelta(days=9))}
    return client.get("/analytics/summary", params={**period, **params}).json()["data"]


def span_of(moment: datetime) -> int:
    return spans.id_of(0, int(moment.timestamp()) // 3600)


def override(runtime: Runtime, evaluation_id: str, score: int) -> None:
    with runtime.db.writing() as session:
        evaluation = session.get_one(Evaluation, evaluation_id)
        evaluation.score = score
        session.flush()
        revisions.notify_changed(session, evaluation)


def ready(runtime: Runtime) -> int:
    with runtime.db.reading() as session:
        return session.get_one(FactSpan, span_of(HOUR)).state


def test_answers_are_the_same_before_and_after_folding(client: Caller, runtime: Runtime) -> None:
    ids = written(runtime)
    before = summary_of(client), summary_of(client, campaignId=CAMPAIGNS[0])
    assert folding.fold(runtime.db, within_s=60) > 24
    assert ready(runtime) == spans.READY
    assert (summary_of(client), summary_of(client, campaignId=CAMPAIGNS[0])) == before
    assert folding.fold(runtime.db, within_s=60) == 0
    override(runtime, ids[0], 100)
    assert ready(runtime) == spans.STALE
    assert summary_of(client)["score"]["mean"] == pytest.approx(
        (sum(range(60)) + 100) / 60, abs=0.01
    )
    # The hour, and the day, the 4 and (if they are over) the 32 days around it.
    assert folding.fold(runtime.db, within_s=60) in (3, 4)


def test_of_a_day_that_a_period_cuts_only_its_part_counts(client: Caller, runtime: Runtime) -> None:
    written(runtime)
    folding.fold(runtime.db, within_s=60)
    cut, days = HOUR + timedelta(seconds=50 * 20), timedelta(days=9)
    for start, end, ought in ((cut - days, cut, (9.5, 20)), (cut, cut + days, (39.5, 40))):
        params = {"from": iso_utc(start), "to": iso_utc(end), "granularity": "month"}
        (series,) = client.get("/analytics/trends", params=params).json()["data"]["series"]
        assert [(p["value"], p["count"]) for p in series["points"] if p["count"]] == [ought]


def test_what_changes_while_it_is_summed_is_not_kept(client: Caller, runtime: Runtime) -> None:
    ids = written(runtime)
    folding.fold(runtime.db, within_s=60)
    override(runtime, ids[1], 99)
    with runtime.db.writing() as session:
        ticket, taken = folding.take(session, 0)
    with runtime.db.reading() as session:
        summed = folding.sum_up(session, taken[0])
    override(runtime, ids[1], 51)
    with runtime.db.writing() as session:
        assert folding.keep(session, ticket, {taken[0]: summed}) == 0
    assert summary_of(client)["score"]["mean"] == pytest.approx(
        (sum(range(60)) + 50) / 60, abs=0.01
    )
    folding.fold(runtime.db, within_s=60)
    assert summary_of(client)["score"]["mean"] == pytest.approx(
        (sum(range(60)) + 50) / 60, abs=0.01
    )


def test_a_wrong_sum_is_found_and_made_anew(client: Caller, runtime: Runtime) -> None:
    written(runtime)
    folding.fold(runtime.db, within_s=60)
    right = summary_of(client)
    assert CommandRunner().invoke(analytics, ["check"]).exit_code == 0
    with runtime.db.writing() as session:
        session.execute(update(FactCell).where(FactCell.id == 1).values(last_ms=1))
    found = CommandRunner().invoke(analytics, ["check"])
    assert found.exit_code == 1
    assert "0 facts and 1 spans of time differ" in found.output
    assert CommandRunner().invoke(analytics, ["rebuild"]).exit_code == 0
    assert CommandRunner().invoke(analytics, ["check"]).exit_code == 0
    assert summary_of(client) == right


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
