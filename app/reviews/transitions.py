"""How far people have looked at an evaluation: which action leads from which status to which."""

from collections.abc import Mapping

from app.core.errors import Conflict
from app.evaluations.enums import ReviewAction, ReviewStatus

_NONE, _REQUESTED, _IN_REVIEW, _REVIEWED, _DISPUTED, _ACCEPTED, _REJECTED = ReviewStatus
_OPEN = (_NONE, _REQUESTED, _IN_REVIEW)
_DECIDED = (_REVIEWED, _ACCEPTED, _REJECTED)

# Who has decided a dispute has closed the case: it is taken up again by request or by start.
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
    """Return where an action leads; a comment is always possible and leads nowhere.

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
