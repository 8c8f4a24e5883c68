"""The list of evaluations at some thousand rows: an index answers every usual filter."""

import random
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event, select

from app.analytics.engine import reader
from app.core.database.paging import PageRequest
from app.core.ids import new_id
from app.core.principal import TeamScope, limited_to
from app.core.runtime import Runtime
from app.engagements import service as engagements
from app.evaluations import listing
from app.evaluations.models import Evaluation
from app.reviews import assignments, plans
from app.reviews.drawing import Candidate, Dealt
from app.reviews.schemas.plans import PlanCreate
from app.scorecards.models import ScorecardRelease
from tests.evaluation_rows import COMMON, NOW, rows_of
from tests.visitor import add_user

pytestmark = pytest.mark.sqlite_only("the plans are SQLite's")


@pytest.fixture
def many(runtime: Runtime) -> dict[str, list[str]]:
    """Four thousand evaluations; returns the ids that they refer to."""
    dice = random.Random(1)
    with runtime.db.writing() as session:
        eng = [engagements.create(session, name="E", type="qa")["id"] for _ in range(5)]
    known = {
        "engagement_id": eng,
        **{f"{noun}_id": [new_id(prefix) for _ in range(9)] for noun, prefix in PREFIXES.items()},
    }
    words: dict[str, list[Any]] = {
        "channel": ["chat", "voice"],
        "status": ["completed", "completed", "failed", "queued"],
        "auto_failed": [False, False, True],
        "passed": [True, False],
        "resolution": ["resolved", "unresolved"],
        "sentiment_trend": ["improving", "declining"],
        "score": list(range(100)),
        "confidence": [0.3, 0.6, 0.9],
    }
    choices = {**known, **words}
    rows_of(
        runtime,
        *({name: dice.choice(options) for name, options in choices.items()} for _ in range(4000)),
    )
    return known


PREFIXES = {"campaign": "camp", "call_center": "cc", "executive": "exec"}
KNOWN = object()
USUAL: list[tuple[dict[str, Any], str]] = [
    ({}, "-conversation_at"),
    ({}, "score"),
    ({}, "-completed_at"),
    ({}, "started_at"),
    ({}, "-duration_seconds"),
    ({"engagement_id": KNOWN}, "-conversation_at"),
    ({"engagement_id": KNOWN, "status": ["completed"], "channel": ["chat"]}, "-conversation_at"),
    ({"engagement_id": KNOWN, "min_score": 20, "passed": False}, "-score"),
    ({"engagement_id": KNOWN, "start": NOW - timedelta(days=1), "end": NOW}, "-conversation_at"),
    ({"campaign_id": KNOWN, "resolution": ["resolved"]}, "-conversation_at"),
    ({"call_center_id": KNOWN, "sentiment_trend": ["declining"]}, "-conversation_at"),
    ({"executive_id": KNOWN, "auto_failed": True}, "-conversation_at"),
    ({"executive_id": KNOWN, "engagement_id": KNOWN, "campaign_id": KNOWN}, "-conversation_at"),
    ({"status": ["queued", "evaluating"]}, "conversation_at"),
    ({"channel": ["chat"], "passed": False}, "-conversation_at"),
    ({"review_status": ["requested"]}, "-conversation_at"),
    ({"source_type": ["audio_file"], "language": "en"}, "-conversation_at"),
    ({"scorecard_id": new_id("sc"), "resolution": ["unresolved"]}, "-conversation_at"),
    ({"min_score": 90}, "-score"),
    ({"min_score": 20, "max_score": 30, "channel": ["voice"]}, "-conversation_at"),
    ({"start": NOW - timedelta(hours=2)}, "-conversation_at"),
    ({"source_id": new_id("conv")}, "-conversation_at"),
    ({"topic": "billing"}, "-conversation_at"),
    ({"reviewed_by": "user_nora"}, "-conversation_at"),
    ({"max_confidence": 0.5}, "confidence"),
    ({}, "-confidence"),
    ({"q": "refund"}, "-conversation_at"),
    ({"source_id": new_id("conv"), "current": False}, "-conversation_at"),
]


def test_no_usual_filter_reads_the_whole_table(
    runtime: Runtime, many: dict[str, list[str]]
) -> None:
    scans: list[Any] = []
    for filters, sort in USUAL:
        given = {
            name: many[name][0] if value is KNOWN else value for name, value in filters.items()
        }
        for plan in plans_of(runtime, PageRequest(2, 25, sort), **given):
            scans += [(filters, step) for step in plan if step.startswith("SCAN evaluations")]
    assert scans == []


def test_a_count_within_an_engagement_reads_no_row(
    runtime: Runtime, many: dict[str, list[str]]
) -> None:
    filters = {"status": ["completed"], "channel": ["chat"], "passed": True, "min_score": 9}
    engagement_id = many["engagement_id"][0]
    counting, _ = plans_of(
        runtime, PageRequest(sort="-conversation_at"), engagement_id=engagement_id, **filters
    )
    assert counting == [
        "SEARCH evaluations USING COVERING INDEX ix_evaluations_engagement (engagement_id=?)"
    ]


def test_the_queue_of_reviews_reads_the_reviewed_alone(
    runtime: Runtime, many: dict[str, list[str]]
) -> None:
    for plan in plans_of(
        runtime, PageRequest(1, 25, "conversation_at"), review_status=["disputed"]
    ):
        assert any("ix_evaluations_review_queue" in step for step in plan), plan


def test_auto_fails_are_counted_by_an_index_of_their_own(
    runtime: Runtime, many: dict[str, list[str]]
) -> None:
    waiting = {"auto_failed": True, "review_status": ["none"], "status": ["completed"]}
    for filters in (waiting, {**waiting, "start": NOW - timedelta(days=30), "end": NOW}):
        for plan in plans_of(runtime, PageRequest(1, 25, "conversation_at"), **filters):
            assert any("COVERING INDEX ix_evaluations_auto_failed" in step for step in plan), plan


def test_what_the_judge_is_unsure_of_is_counted_and_sorted_by_one_index(
    runtime: Runtime, many: dict[str, list[str]]
) -> None:
    unsure = {"max_confidence": 0.5, "review_status": ["none"], "status": ["completed"]}
    period = {"start": NOW - timedelta(days=30), "end": NOW}
    for filters in (unsure, {**unsure, **period}):
        counting, listed = plans_of(runtime, PageRequest(1, 25, "confidence"), **filters)
        assert all("COVERING INDEX ix_evaluations_confidence" in step for step in counting)
        assert not any("TEMP B-TREE" in step for step in listed[:-1]), listed
    with_plans = {**unsure, **period, "except_ids": assignments.held_evaluations()}
    counting, *_ = plans_of(runtime, PageRequest(1, 25, "confidence"), **with_plans)
    assert "COVERING INDEX ix_evaluations_confidence" in counting[0]


def test_an_assignment_finds_its_evaluation_by_the_conversation(
    runtime: Runtime, many: dict[str, list[str]]
) -> None:
    user_id = add_user(runtime, "reviewer")
    with runtime.db.writing() as session:
        values = {"name": "Weekly", "perAgent": 1, "reviewers": [{"userId": user_id}]}
        plan = plans.PLANS.create(session, PlanCreate().load(values), created_by="user_nora")
        [row] = session.execute(select(Evaluation.source_id, Evaluation.id).limit(1))
        candidate = Candidate(*row, many["executive_id"][0], "Ann")
        session.add(plans.assignment(plan, NOW.date(), Dealt(candidate, user_id, 0)))
    explained = plans_of(runtime, PageRequest(1, 25, "due_at"), assignments.list_page)
    assert any("uq_evaluations_revision (source_id=?)" in step for step in explained[-1])


def test_what_an_agent_does_not_see_yet_is_found_by_the_executive(
    runtime: Runtime, many: dict[str, list[str]]
) -> None:
    with runtime.db.writing() as session:
        session.add(ScorecardRelease(scorecard_id=COMMON["scorecard_id"], rule="never"))
    agent = TeamScope(executive_ids=(many["executive_id"][0],), released_only=True)
    asked: list[str] = []
    with runtime.db.reading() as session:
        connection: Any = session.connection().connection.driver_connection
        # As SQLite gets them: the limits of the agent are added after SQLAlchemy has shown them.
        connection.set_trace_callback(asked.append)
        with limited_to(agent):
            reader.unreleased(session)
        connection.set_trace_callback(None)
        of_agent = [sql for sql in asked if "evaluations AS NOT MATERIALIZED" in sql]
        assert len(of_agent) == 2
        for sql in of_agent:
            plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}")]
            assert any("ix_evaluations_executive (executive_id=?)" in step for step in plan), plan


def plans_of(
    runtime: Runtime,
    request: PageRequest,
    ask: Any = listing.list_page,
    **filters: Any,
) -> list[list[str]]:
    """Run a list and return SQLite's plan of each statement over evaluations."""
    with runtime.db.reading() as session:
        statements = list(recorded(session, lambda: ask(session, request, **filters)))
        connection = session.connection()
        return [
            [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values)]
            for sql, values in statements
            if "evaluations" in sql
        ]


def recorded(session: Any, ask: Callable[[], object]) -> Iterator[Any]:
    seen: list[tuple[str, Any]] = []

    def note(connection: Any, cursor: Any, sql: str, values: Any, context: Any, many: bool) -> None:
        seen.append((sql, values))

    engine = session.get_bind()
    event.listen(engine, "before_cursor_execute", note)
    try:
        ask()
    finally:
        event.remove(engine, "before_cursor_execute", note)
    return iter(seen)
