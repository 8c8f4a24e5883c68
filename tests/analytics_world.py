"""Random evaluations in the database, and the same as a plain list to compare analytics with."""

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import delete, insert

from app.analytics import jobs
from app.analytics.engine import rebuilding
from app.analytics.engine.database import parts_folder
from app.analytics.engine.parts import registered
from app.analytics.models import EvaluationFact, FactPart
from app.core.ids import new_id
from app.core.runtime import Runtime
from app.directory.models import Executive
from app.directory.service import upsert_executive
from app.evaluations import service
from app.evaluations.enums import RESOLUTIONS, TRENDS
from app.evaluations.models import Evaluation, EvaluationResult, EvaluationTotal, SearchText
from tests.evaluation_rows import COMMON, rows_of

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
STATUSES = ["completed"] * 7 + ["failed", "queued", "canceled"]
PREFIX = {"campaign": "camp", "call_center": "cc", "executive": "exec"}
METRICS = {
    "talkRatio": lambda dice: round(dice.random(), 4),
    "silencePercent": lambda dice: round(dice.uniform(0, 60), 4),
    "deadAirCount": lambda dice: dice.randrange(4),
    "interruptionsByAgent": lambda dice: dice.randrange(6),
    "agentWpm": lambda dice: round(dice.uniform(90, 200), 4),
    "firstResponseSeconds": lambda dice: round(dice.uniform(0, 500), 2),
}
CRITERIA = [("greeting", "opening"), ("accuracy", "resolution"), ("recap", "closing")]


_TABLES = (
    FactPart,
    EvaluationFact,
    EvaluationResult,
    SearchText,
    EvaluationTotal,
    Evaluation,
    Executive,
)

Evaluations = Sequence[dict[str, Any]]


MOMENTS = {"conversation": "conversation_at", "judgement": "created_at"}


class World:
    """A number of random evaluations, and what happens to them.

    Half of them are of two busy days, one of these with a very busy hour. What an earlier world has
    left in the database is deleted first.
    """

    def __init__(self, runtime: Runtime, seed: int, number: int) -> None:
        self.runtime, self.dice = runtime, random.Random(seed)
        self.ids = {noun: [new_id(prefix) for _ in range(4)] for noun, prefix in PREFIX.items()}
        self.kinds: dict[str, str] = {}
        self.rows: list[dict[str, Any]] = []
        with runtime.db.writing() as session:
            for table in _TABLES:
                session.execute(delete(table))
            for index, kind in enumerate(("human", "human", "bot")):
                values = {"name": f"E{index}", "kind": kind}
                executive = upsert_executive(session, str(index), values).record
                self.ids["executive"][index] = executive.id
                self.kinds[executive.id] = kind
        if number:
            self._write(number)

    def _write(self, number: int) -> None:
        rows = [self._row(self.dice) for _ in range(number)]
        documents = [row.pop("document") for row in rows]
        for row, evaluation_id in zip(rows, rows_of(self.runtime, *rows), strict=True):
            row["id"] = evaluation_id
        with self.runtime.db.writing() as session:
            results = [
                {"evaluation_id": row["id"], "document": document, "segment_sentiments": {}}
                for row, document in zip(rows, documents, strict=True)
                if row["status"] == "completed"
            ]
            if results:
                session.execute(insert(EvaluationResult), results)
            reached: str | None = ""
            while reached is not None:
                reached = rebuilding.rebuild_after(session, reached)
        for row, document in zip(rows, documents, strict=True):
            row["document"] = document
        self.rows += rows

    def override(self) -> None:
        """Change the score of an evaluation, as a review does."""
        completed = [row for row in self._current() if row["status"] == "completed"]
        if completed:
            row = self.dice.choice(completed)
            row["score"] = self.dice.randrange(101)
            row["passed"] = self.dice.choice([True, False, None])
            with self.runtime.db.writing() as session:
                evaluation = session.get_one(Evaluation, row["id"])
                evaluation.score, evaluation.passed = row["score"], row["passed"]
                service.notify_changed(session, [evaluation])

    def re_evaluate(self) -> None:
        """Replace an evaluation by another revision."""
        if not self._current():
            return
        former = self.dice.choice(self._current())
        row = {**self._row(self.dice), "id": new_id("eval"), "is_current": True}
        former["is_current"] = False
        with self.runtime.db.writing() as session:
            before = session.get_one(Evaluation, former["id"])
            before.is_current = False
            session.flush()
            row |= {"source_id": before.source_id, "source_type": before.source_type}
            own = {name: value for name, value in row.items() if name != "document"}
            updated = {"revision": before.revision + 1, "updated_at": row["created_at"]}
            current = Evaluation(**{**COMMON, **own, **updated})
            session.add(current)
            session.flush()
            if row["status"] == "completed":
                result = EvaluationResult(
                    evaluation_id=current.id, document=row["document"], segment_sentiments={}
                )
                session.add(result)
                session.flush()
            service.notify_changed(session, [current])
        self.rows.append(row)

    def write_parts(self) -> None:
        """Write all pending facts into parts."""
        jobs.write_parts(self.runtime, at_least=1)

    def tidy_parts(self) -> None:
        """Do what the worker does every few minutes."""
        jobs.tidy_parts(self.runtime)

    def lose_a_part(self) -> None:
        """Delete the file of a part."""
        folder = parts_folder(self.runtime.settings)
        with self.runtime.db.reading() as session:
            files = [part.path for part in registered(session, folder) if part.is_readable]
        if files:
            self.dice.choice(files).unlink()

    def chosen(self, start: datetime, end: datetime, filters: dict[str, str]) -> Evaluations:
        """Return the current evaluations of a period that pass the filters."""
        names = {"campaignId": "campaign_id", "callCenterId": "call_center_id"}
        names |= {"executiveId": "executive_id", "channel": "channel"}
        return [
            row
            for row in self._current()
            if start <= row[MOMENTS[filters.get("byDay", "conversation")]] < end
            and all(
                row[column] in filters[name].split(",")
                for name, column in names.items()
                if name in filters
            )
        ]

    def _current(self) -> list[dict[str, Any]]:
        return [row for row in self.rows if row["is_current"]]

    def _row(self, dice: random.Random) -> dict[str, Any]:
        status = dice.choice(STATUSES)
        done = status == "completed"
        some = lambda value: value if done and dice.random() < 0.8 else None  # noqa: E731
        begin_h, length_h = dice.choice([(0, 70 * 24), (0, 70 * 24), (30 * 24, 24), (55 * 24, 1)])
        conversation_at, moment = (
            NOW
            - timedelta(
                seconds=dice.randrange(begin_h * 3600, (begin_h + length_h) * 3600),
                microseconds=dice.randrange(9),
            )
            for _ in range(2)
        )
        ids = {noun: dice.choice([*self.ids[noun], None]) for noun in PREFIX}
        return {
            **{f"{noun}_id": key for noun, key in ids.items()},
            **{noun: key and f"{noun} {key[-4:]}" for noun, key in ids.items()},
            "conversation_at": conversation_at,
            "created_at": moment,
            "completed_at": moment + timedelta(milliseconds=dice.randrange(5000)) if done else None,
            "source_type": dice.choice(["conversation", "audio_file", "voice_call"]),
            "channel": dice.choice(["chat", "voice", "voice_bot"]),
            "status": status,
            "is_current": dice.random() < 0.9,
            "score": dice.randrange(101) if done else None,
            "passed": some(dice.random() < 0.7),
            "auto_failed": done and dice.random() < 0.1,
            "compliance_score": some(round(dice.uniform(0, 100), 2)),
            "customer_sentiment": some(round(dice.uniform(-1, 1), 4)),
            "sentiment_trend": some(dice.choice([*TRENDS])),
            "resolution": some(dice.choice([*RESOLUTIONS])),
            "duration_seconds": some(dice.randrange(4000)),
            "topics": dice.sample(["billing", "refund", "delivery"], dice.randrange(3))
            if done
            else [],
            "review_status": dice.choice(["none", "reviewed"]),
            "document": {
                "metrics": {name: some(make(dice)) for name, make in METRICS.items()},
                "criteria": [
                    {
                        "key": key,
                        "title": key.title(),
                        "section": section,
                        "normalizedScore": some(dice.choice([0, 0.5, 1, 0.3333])),
                    }
                    for key, section in CRITERIA
                ],
                "sections": [
                    {
                        "key": section,
                        "title": section,
                        "score": some(round(dice.uniform(0, 100), 2)),
                    }
                    for _, section in CRITERIA
                ],
            },
        }
