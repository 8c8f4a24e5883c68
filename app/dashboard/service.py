"""Saved views of lists, own or shared, and drafts of scorecards, which everybody edits."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.errors import Conflict, NotFound, PreconditionFailed
from app.core.ids import new_id
from app.dashboard.models import SavedView, ScorecardDraft

_MOST_VIEWS, _MOST_PINNED, _MOST_DRAFTS = 50, 5, 100


def saved_views(session: Session, user_id: str) -> Sequence[SavedView]:
    """List the views of a person and those that others share, pinned ones first, then by name."""
    return session.scalars(
        select(SavedView)
        .where(or_(SavedView.user_id == user_id, SavedView.is_shared))
        .order_by(SavedView.is_pinned.desc(), SavedView.name, SavedView.id)
    ).all()


def save_view(
    session: Session,
    user_id: str,
    *,
    name: str,
    query: str,
    is_shared: bool,
    is_pinned: bool,
) -> SavedView:
    """Save a view under a name; one's own view of that name is replaced.

    Raises:
        Conflict: the person has too many views, or too many pinned ones.
    """
    own = select(SavedView).where(SavedView.user_id == user_id)
    view = session.scalar(own.where(SavedView.name == name))
    others = own.where(SavedView.name != name).subquery()
    if (session.scalar(select(func.count()).select_from(others)) or 0) >= _MOST_VIEWS:
        raise Conflict(f"You have {_MOST_VIEWS} saved views, which is the limit; delete one first.")
    pinned = select(func.count()).select_from(others).where(others.c.is_pinned)
    if is_pinned and (session.scalar(pinned) or 0) >= _MOST_PINNED:
        raise Conflict(
            f"You have {_MOST_PINNED} pinned views, which is the limit; unpin one first."
        )
    if view is None:
        view = SavedView(id=new_id("view"), user_id=user_id, name=name, created_at=utc_now())
        session.add(view)
    view.query, view.is_shared, view.is_pinned = query, is_shared, is_pinned
    return view


def delete_view(session: Session, user_id: str, view_id: str) -> None:
    """Delete one's own view.

    Raises:
        NotFound: there is no such view, or it is another person's.
    """
    view = session.get(SavedView, view_id)
    if view is None or view.user_id != user_id:
        raise NotFound("There is no such view of yours.")
    session.delete(view)


def drafts(session: Session) -> Sequence[ScorecardDraft]:
    """List the drafts of scorecards, the last changed first."""
    newest = ScorecardDraft.updated_at.desc()
    return session.scalars(select(ScorecardDraft).order_by(newest, ScorecardDraft.id)).all()


def draft(session: Session, draft_id: str, *, for_update: bool = False) -> ScorecardDraft:
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


def save_draft(
    session: Session, draft_id: str, user_id: str, document: Mapping[str, Any], *, seen_version: int
) -> ScorecardDraft:
    """Save what was typed into a draft; the same document again changes nothing.

    Raises:
        NotFound: there is no such draft.
        PreconditionFailed: somebody has changed it since this person has read it.
    """
    row = draft(session, draft_id, for_update=True)
    if row.document == document:
        return row
    if row.version != seen_version:
        raise PreconditionFailed("Somebody else has changed this draft meanwhile.")
    row.document, row.version = dict(document), row.version + 1
    row.updated_by, row.updated_at = user_id, utc_now()
    return row


def note_trial(session: Session, draft_id: str, trial_id: str) -> None:
    """Remember the trial of a draft as it is now."""
    row = draft(session, draft_id, for_update=True)
    row.trial_id, row.trial_version = trial_id, row.version


def delete_draft(session: Session, draft_id: str) -> None:
    """Delete a draft; raises `NotFound` where there is none."""
    session.delete(draft(session, draft_id))
