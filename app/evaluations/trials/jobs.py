"""Jobs that try scorecards: they judge past conversations by the rules and keep only the scores."""

from functools import partial

from app.ai.judge import CpuLimitExceeded
from app.ai.rule_judge import RuleJudge
from app.ai.scorecard.values import Scorecard, scorecard_from
from app.core.clock import utc_now
from app.core.errors import NotFound
from app.core.jobs import leases
from app.core.jobs.runner import JobType, RunningJob, answer_bell, list_due
from app.core.runtime import Runtime
from app.evaluations import contexts
from app.evaluations import service as evaluations
from app.evaluations.judging import bulk_selection
from app.evaluations.models import ScorecardTrial
from app.evaluations.transcripts import store as transcripts
from app.evaluations.trials import service
from app.evaluations.trials.comparison import TriedConversation, tried
from app.scorecards import service as scorecards

MOST_CONVERSATIONS = 200
due_ids = partial(list_due, ScorecardTrial)


def run_trial(runtime: Runtime, trial_id: str) -> None:
    """Run this trial, or the one that waits longest; do nothing if none waits."""
    job_type = JobType(
        claim=lambda session, wanted_id: leases.claim(session, ScorecardTrial, wanted_id),
        handle=_try,
        fail=service.fail,
    )
    answer_bell(runtime, job_type, service.bell(trial_id))


def purge(runtime: Runtime) -> None:
    """Delete the trials of the day before and earlier."""
    with runtime.db.writing() as session:
        service.purge(session, before=utc_now() - service.KEPT_FOR)


def _try(job: RunningJob[ScorecardTrial]) -> None:
    """Judge the newest conversations of the channel by both scorecards."""
    with job.transaction() as session:
        trial = leases.held(session, job.lease)
        after = scorecard_from(trial.document)
        before = scorecards.version_of(session, trial.baseline_id, trial.baseline_version).scorecard
    with job.runtime.db.reading() as session:
        ids = bulk_selection.newest_ids(session, channel=after.channel, limit=MOST_CONVERSATIONS)
    conversations = []
    for number, evaluation_id in enumerate(ids, start=1):
        job.require_going_on()
        conversation = _judged(job.runtime, evaluation_id, before, after)
        if conversation is not None:
            conversations.append(conversation)
        job.report_progress(100 * number // len(ids))
    with job.transaction() as session:
        service.finish(session, job.lease, conversations)


def _judged(
    runtime: Runtime, evaluation_id: str, before: Scorecard, after: Scorecard
) -> TriedConversation | None:
    """Judge one conversation by both; None where it was erased or takes too long."""
    judge = RuleJudge(runtime.settings.evaluation_cpu_s)
    try:
        with runtime.db.reading() as session:
            evaluation = evaluations.find(session, evaluation_id)
            transcript = transcripts.load_stored(session, evaluation.transcript_id or "")
            context = contexts.context_of(evaluation)
        first, second = (judge.judge(transcript, card, context) for card in (before, after))
    except (NotFound, CpuLimitExceeded):
        return None
    return tried(evaluation_id, first, second)
