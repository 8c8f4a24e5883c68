"""Drafts of scorecards, which everybody edits."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.errors import Conflict, NotFound, PreconditionFailed
from app.core.ids import new_id
from app.scorecards.models import ScorecardDraft

_MOST_DRAFTS = 100


def list_all(session: Session) -> Sequence[ScorecardDraft]:
    """List the drafts of scorecards, the last changed first."""
    newest = ScorecardDraft.updated_at.desc()
    return session.scalars(select(ScorecardDraft).order_by(newest, ScorecardDraft.id)).all()


def get(session: Session, draft_id: str, *, for_update: bool = False) -> ScorecardDraft:
    """Return a draft.

    Raises:
        NotFound: there is no such draft; it may have been published or discarded.
    """
    row = session.get(ScorecardDraft, draft_id, with_for_update=for_update)
    if row is None:
        raise NotFound("There is no such draft: it was published or discarded.")
    return row


def open_draft(
    session: Session,
    user_id: str,
    document: Mapping[str, Any],
    *,
    channel: str,
    scorecard_id: str | None = None,
    base_version: int | None = None,
) -> ScorecardDraft:
    """Open a draft; a scorecard that has one already keeps it.

    Args:
        scorecard_id: the scorecard whose next version it becomes; a new scorecard without.
        base_version: the version that it starts from.

    Raises:
        Conflict: there are too many drafts.
    """
    if scorecard_id is not None:
        of_scorecard = select(ScorecardDraft).where(ScorecardDraft.scorecard_id == scorecard_id)
        if (row := session.scalar(of_scorecard)) is not None:
            return row
    if (session.scalar(select(func.count()).select_from(ScorecardDraft)) or 0) >= _MOST_DRAFTS:
        raise Conflict(f"There are {_MOST_DRAFTS} drafts, which is the limit; discard one first.")
    now = utc_now()
    row = ScorecardDraft(
        id=new_id("draft"),
        scorecard_id=scorecard_id,
        base_version=base_version,
        channel=channel,
        document=dict(document),
        updated_by=user_id,
        created_at=now,
        updated_at=now,
    )
    session.add(row)
    session.flush()
    return row


def save(
    session: Session, draft_id: str, user_id: str, document: Mapping[str, Any], *, seen_version: int
) -> ScorecardDraft:
    """Save what was typed into a draft; the same document again changes nothing.

    Raises:
        NotFound: there is no such draft.
        PreconditionFailed: somebody has changed it since this person has read it.
    """
    row = get(session, draft_id, for_update=True)
    if row.document == document:
        return row
    if row.version != seen_version:
        raise PreconditionFailed("Somebody else has changed this draft meanwhile.")
    row.document, row.version = dict(document), row.version + 1
    row.updated_by, row.updated_at = user_id, utc_now()
    return row


def note_trial(session: Session, draft_id: str, trial_id: str) -> None:
    """Remember the trial of a draft as it is now."""
    row = get(session, draft_id, for_update=True)
    row.trial_id, row.trial_version = trial_id, row.version


def delete(session: Session, draft_id: str) -> None:
    """Delete a draft; raise `NotFound` if it does not exist."""
    session.delete(get(session, draft_id))
