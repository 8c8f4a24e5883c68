"""Review transitions: every status is reached and left, and comments change none."""

import pytest

from app.core.errors import Conflict
from app.evaluations.enums import ReviewAction, ReviewStatus
from app.reviews.service import status_after


def led_to(status: ReviewStatus) -> dict[ReviewAction, ReviewStatus]:
    found = {}
    for action in ReviewAction:
        try:
            found[action] = status_after(action, status)
        except Conflict:
            continue
    return found


def test_every_status_is_reached_and_left() -> None:
    reached = {ReviewStatus.NONE}
    for _ in ReviewStatus:
        reached |= {after for status in reached for after in led_to(status).values()}
    assert reached == set(ReviewStatus)
    for status in ReviewStatus:
        assert led_to(status)[ReviewAction.COMMENT] is status
        assert set(led_to(status).values()) - {status}


def test_a_dispute_can_only_be_decided_or_commented() -> None:
    decisions = {ReviewAction.ACCEPT_DISPUTE, ReviewAction.REJECT_DISPUTE, ReviewAction.COMMENT}
    assert led_to(ReviewStatus.DISPUTED).keys() == decisions
    for status in set(ReviewStatus) - {ReviewStatus.DISPUTED}:
        assert ReviewAction.ACCEPT_DISPUTE not in led_to(status)


def test_a_refusal_names_the_allowed_statuses() -> None:
    with pytest.raises(Conflict, match="confirm is possible from none, requested"):
        status_after(ReviewAction.CONFIRM, ReviewStatus.DISPUTED)
