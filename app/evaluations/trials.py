"""Trials of scorecards on past conversations: requested, compared, shown, deleted after a day."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from functools import partial
from statistics import fmean
from typing import Any

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.database.session import ring_after_commit
from app.core.errors import Conflict, NotFound
from app.core.ids import new_id
from app.core.jobs import leases
from app.core.jobs.leases import SHOWN_STATES, JobState, Lease
from app.core.queue import Bell
from app.evaluations.models import ScorecardTrial
from app.judge.judge import Judgement
from app.scorecards import service as scorecards

QUEUE = "trials"
bell = partial(Bell, QUEUE)
MOST_OPEN = 10
KEPT_FOR = timedelta(days=1)
# Evaluations that are named for each answer.
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class TriedConversation:
    """One conversation judged by both scorecards; a score without a verdict is None.

    `answers` are those to the criteria of the tried scorecard, by their keys.
    """

    evaluation_id: str
    before: int | None
    after: int | None
    passed_before: bool | None
    passed_after: bool | None
    answers: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_compared(self) -> bool:
        """Return whether both scorecards come to a verdict."""
        return self.before is not None and self.after is not None

    @property
    def change(self) -> int:
        """Rise of the score; 0 if either score is missing."""
        return (self.after or 0) - (self.before or 0) if self.is_compared else 0


def tried(evaluation_id: str, before: Judgement, after: Judgement) -> TriedConversation:
    """Take the scores of two judgements; those without a verdict count nowhere."""
    return TriedConversation(
        evaluation_id,
        None if before.passed is None else before.score,
        None if after.passed is None else after.score,
        before.passed,
        after.passed,
        {criterion["key"]: answer_in_words(criterion) for criterion in after.results["criteria"]},
    )


def answer_in_words(criterion: Mapping[str, Any]) -> str:
    """Return an answer in a word; of a measured criterion the share of its points."""
    if criterion["normalizedScore"] is None:
        is_missing = criterion["notJudged"] or criterion["failure"]
        return "not judged" if is_missing else "not applicable"
    if criterion["type"] == "metric":
        return f"{criterion['normalizedScore']:.0%}".replace("%", " %")
    return str(criterion["answer"])


def request(
    session: Session,
    document: Mapping[str, Any],
    *,
    baseline_id: str | None = None,
    baseline_version: int | None = None,
) -> dict[str, Any]:
    """Queue a trial of a complete scorecard document.

    Args:
        baseline_id: the scorecard to compare with; by default that of the channel.
        baseline_version: by default its current version.
    """
    channel = document["channel"]
    baseline = scorecards.resolve(
        session, scorecard_id=baseline_id, version=baseline_version, channel=channel
    )
    open_trials = select(func.count()).where(ScorecardTrial.state.in_(leases.OPEN_STATES))
    if (session.scalar(open_trials) or 0) >= MOST_OPEN:
        raise Conflict(f"{MOST_OPEN} trials are queued or running; try again when some have ended.")
    row = ScorecardTrial(
        id=new_id("trial"),
        channel=channel,
        document=dict(document),
        baseline_id=baseline.id,
        baseline_version=baseline.version,
    )
    session.add(row)
    session.flush()
    ring_after_commit(session, bell(row.id))
    return _shown(row)


def show(session: Session, trial_id: str) -> dict[str, Any]:
    row = session.get(ScorecardTrial, trial_id)
    if row is None:
        raise NotFound("There is no such trial; a trial is deleted after a day.")
    return _shown(row)


def finish(
    session: Session, lease: Lease[ScorecardTrial], conversations: Sequence[TriedConversation]
) -> None:
    row = leases.held(session, lease)
    row.result = {"conversations": [asdict(conversation) for conversation in conversations]}
    row.progress = 100
    leases.end(row, JobState.SUCCEEDED, utc_now())


def fail(session: Session, lease: Lease[ScorecardTrial], error: Exception) -> None:
    row = leases.held(session, lease)
    message = "The trial failed because of an internal error; request it again."
    row.error = {"code": "INTERNAL", "message": message}
    leases.end(row, JobState.FAILED, utc_now())


def purge(session: Session, *, before: datetime) -> None:
    """Delete the trials that were requested before a moment."""
    session.execute(delete(ScorecardTrial).where(ScorecardTrial.queued_at < before))


def _shown(row: ScorecardTrial) -> dict[str, Any]:
    result = None
    if row.result is not None:
        tried_ones = [TriedConversation(**item) for item in row.result["conversations"]]
        result = _compared(tried_ones)
        result["criteria"] = _answered(tried_ones, row.document["criteria"])
    return {
        "id": row.id,
        "status": SHOWN_STATES[JobState(row.state)],
        "progress": row.progress,
        "channel": row.channel,
        "baseline_id": row.baseline_id,
        "baseline_version": row.baseline_version,
        "result": result,
        "error": row.error,
        "created_at": row.queued_at,
        "expires_at": row.queued_at + KEPT_FOR,
    }


def _compared(conversations: Sequence[TriedConversation]) -> dict[str, Any]:
    """Sum up: the mean and the passed share of those to which both give a verdict.

    The conversations are listed with the largest change first.
    """
    both = [conversation for conversation in conversations if conversation.is_compared]
    return {
        "judged": len(conversations),
        "compared": len(both),
        "without_verdict_before": sum(item.before is None for item in conversations),
        "without_verdict_after": sum(item.after is None for item in conversations),
        "before": _side([(item.before, item.passed_before) for item in both]),
        "after": _side([(item.after, item.passed_after) for item in both]),
        "conversations": sorted(
            conversations, key=lambda item: (not item.is_compared, -abs(item.change))
        ),
    }


def _answered(
    conversations: Sequence[TriedConversation], criteria: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Count the answers to each criterion, the most frequent first, with some evaluations of each."""
    shown = []
    for criterion in criteria:
        ids: dict[str, list[str]] = {}
        for conversation in conversations:
            if (answer := conversation.answers.get(criterion["key"])) is not None:
                ids.setdefault(answer, []).append(conversation.evaluation_id)
        answers = [
            {"answer": answer, "count": len(found), "evaluation_ids": found[:_MOST_NAMED]}
            for answer, found in sorted(ids.items(), key=lambda item: -len(item[1]))
        ]
        shown.append({"key": criterion["key"], "title": criterion["title"], "answers": answers})
    return shown


def _side(verdicts: Sequence[tuple[int | None, bool | None]]) -> dict[str, float | None]:
    if not verdicts:
        return {"mean_score": None, "pass_rate": None}
    return {
        "mean_score": round(fmean(score or 0 for score, _ in verdicts), 2),
        "pass_rate": round(fmean(bool(passed) for _, passed in verdicts), 4),
    }
