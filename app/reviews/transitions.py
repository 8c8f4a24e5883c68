"""Transitions of the review status: the statuses that an action starts from, and its result."""

from collections.abc import Mapping

from app.core.errors import Conflict
from app.evaluations.enums import ReviewAction, ReviewStatus

_NONE, _REQUESTED, _IN_REVIEW, _REVIEWED, _DISPUTED, _ACCEPTED, _REJECTED = ReviewStatus
_OPEN = (_NONE, _REQUESTED, _IN_REVIEW)
_DECIDED = (_REVIEWED, _ACCEPTED, _REJECTED)

# A decided dispute is closed; `request` or `start` opens the review again.
_STEPS: Mapping[ReviewAction, tuple[tuple[ReviewStatus, ...], ReviewStatus]] = {
    ReviewAction.REQUEST: ((_NONE, *_DECIDED), _REQUESTED),
    ReviewAction.START: ((_NONE, _REQUESTED, *_DECIDED), _IN_REVIEW),
    ReviewAction.CONFIRM: ((*_OPEN, _REVIEWED), _REVIEWED),
    ReviewAction.OVERRIDE: ((*_OPEN, _REVIEWED), _REVIEWED),
    ReviewAction.DISPUTE: ((*_OPEN, _REVIEWED), _DISPUTED),
    ReviewAction.ACCEPT_DISPUTE: ((_DISPUTED,), _ACCEPTED),
    ReviewAction.REJECT_DISPUTE: ((_DISPUTED,), _REJECTED),
}


def status_after(action: ReviewAction, status: ReviewStatus) -> ReviewStatus:
    """Return the status after an action; a comment is always possible and changes nothing.

    Raises:
        Conflict: the action is not possible now.
    """
    if action is ReviewAction.COMMENT:
        return status
    possible_from, leads_to = _STEPS[action]
    if status not in possible_from:
        known = ", ".join(possible_from)
        raise Conflict(f"The review status is {status}; {action} is possible from {known}.")
    return leads_to


def possible_actions(status: ReviewStatus) -> list[ReviewAction]:
    """Return the actions that are possible in this status."""
    steps = (action for action, (possible_from, _) in _STEPS.items() if status in possible_from)
    return [*steps, ReviewAction.COMMENT]
