"""Saved views of lists, own or shared."""

from collections.abc import Sequence

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.errors import Conflict, NotFound
from app.core.ids import new_id
from app.people.models import SavedView

_MOST_VIEWS, _MOST_PINNED = 50, 5


def list_visible(session: Session, user_id: str) -> Sequence[SavedView]:
    """List the views of a person and those that others share, pinned ones first, then by name."""
    return session.scalars(
        select(SavedView)
        .where(or_(SavedView.user_id == user_id, SavedView.is_shared))
        .order_by(SavedView.is_pinned.desc(), SavedView.name, SavedView.id)
    ).all()


def save(
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


def delete(session: Session, user_id: str, view_id: str) -> None:
    """Delete one's own view.

    Raises:
        NotFound: there is no such view, or it is another person's.
    """
    view = session.get(SavedView, view_id)
    if view is None or view.user_id != user_id:
        raise NotFound("There is no such view of yours.")
    session.delete(view)
