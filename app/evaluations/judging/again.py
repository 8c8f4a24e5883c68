"""Re-evaluation of one source: the same transcript and context, as the next revision."""

from dataclasses import fields

from sqlalchemy.orm import Session

from app.core.database.session import ring_after_commit
from app.core.errors import Conflict
from app.evaluations import revisions, service
from app.evaluations.enums import ENDED
from app.evaluations.judging import judgements
from app.evaluations.models import Evaluation, EvaluationJob
from app.evaluations.transcripts import store as transcripts
from app.scorecards import service as scorecards
from app.scorecards.service import ResolvedScorecard

# New conversations go before bulk re-evaluations.
SINGLE_PRIORITY, BULK_PRIORITY = 0, -1


def request(
    session: Session,
    evaluation_id: str,
    *,
    scorecard_id: str | None = None,
    scorecard_version: int | None = None,
) -> Evaluation:
    """Open the next revision of an evaluation and queue its judgement.

    The old revision stays current until the new one is completed.

    Args:
        scorecard_id: by default the same scorecard.
        scorecard_version: by default the current one.

    Raises:
        NotFound: there is no such evaluation.
        Conflict: it is not the current one, a judgement of its source is under way, or there are
            no words to judge.
        InvalidInput: the scorecard or version does not exist or is for another channel.
    """
    # A simultaneous request waits here and then sees the revision of the first one.
    former = service.find(session, evaluation_id, for_update=True)
    scorecard = scorecards.resolve(
        session,
        scorecard_id=scorecard_id or former.scorecard_id,
        version=scorecard_version,
        channel=former.channel,
    )
    of_source = revisions.of_source(
        session, source_type=former.source_type, source_id=former.source_id
    )
    current = next(evaluation for evaluation in of_source if evaluation.is_current)
    if current is not former:
        raise Conflict(f"{current.id} is the current evaluation of this source; request that one.")
    if any(evaluation.status not in ENDED for evaluation in of_source):
        raise Conflict("An evaluation of this source is running; try again when it has ended.")
    evaluation = open_again(session, former, scorecard, priority=SINGLE_PRIORITY)
    ring_after_commit(session, judgements.bell())
    return evaluation


def open_again(
    session: Session,
    former: Evaluation,
    scorecard: ResolvedScorecard,
    *,
    priority: int,
    re_evaluation_id: str | None = None,
) -> Evaluation:
    """Open the next revision of an evaluation that is current and has ended, and queue it.

    It keeps its place in time: lists and trends show it at the date of the old one.
    """
    transcript = transcripts.judged_by(session, former)
    if transcript is None:
        raise Conflict("There is no transcript to judge.")
    if transcript.erased_at is not None:
        raise Conflict("The transcript has been erased.")
    columns = {
        column.name: getattr(former, column.name) for column in fields(service.NewEvaluation)
    }
    columns |= {
        "scorecard_id": scorecard.id,
        "scorecard_version": scorecard.version,
        "scorecard_name": scorecard.name,
        "transcript_id": transcript.id,
        "re_evaluation_id": re_evaluation_id,
    }
    evaluation = service.open_evaluation(session, service.NewEvaluation(**columns))
    session.add(EvaluationJob(id=evaluation.id, priority=priority))
    session.flush()
    return evaluation
