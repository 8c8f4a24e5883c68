"""Who is told when it changes which evaluation of a source is current, or what it says."""

from collections.abc import Callable

from sqlalchemy.orm import Session

from app.evaluations.models import Evaluation

Listener = Callable[[Session, Evaluation], None]

_listeners: list[Listener] = []


def on_settled(listener: Listener) -> None:
    """Call the listener with the current evaluation of a source, in the same transaction.

    It is called when one is opened, ends, or has its score changed; wired once.
    """
    if listener not in _listeners:
        _listeners.append(listener)


def tell(session: Session, current: Evaluation) -> None:
    """Tell the rooms above: they show the evaluation beside its source."""
    for listener in _listeners:
        listener(session, current)
