"""Actions that a person may take on the page of an evaluation."""

from collections.abc import Mapping
from typing import Any

from app.agents import disputes
from app.core.clock import utc_now
from app.evaluations.enums import ENDED, RESOLUTIONS, ReviewAction, ReviewStatus, Status
from app.people.roles import OWN_RESULTS
from app.reviews.service import possible_actions
from app.web.current import current_runtime
from app.web.principal import current_principal


def allowed(evaluation: Mapping[str, Any], *, as_judged: bool) -> dict[str, Any]:
    """Return what the person may do: the form for answers, its actions, and judging again."""
    if OWN_RESULTS in current_principal().scopes:
        return _allowed_to_agent(evaluation, as_judged=as_judged)
    is_reviewer = "evaluations:review" in current_principal().scopes and evaluation["is_current"]
    may_review = is_reviewer and not as_judged and evaluation["status"] == Status.COMPLETED
    return {
        "reviews": possible_actions(ReviewStatus(evaluation["review_status"]))
        if may_review
        else [],
        "resolutions": RESOLUTIONS,
        "judge_again": is_reviewer and evaluation["status"] in ENDED,
        "form": "evaluation_changes.review",
        "answer": False,
        "coach": "coaching:write" in current_principal().scopes and evaluation["executive_id"],
    }


def _allowed_to_agent(evaluation: Mapping[str, Any], *, as_judged: bool) -> dict[str, Any]:
    """Return what an agent may do: answer, and in time dispute."""
    may: dict[str, Any] = {
        "reviews": [],
        "judge_again": False,
        "coach": False,
        "form": "answers.dispute",
    }
    is_current = evaluation["is_current"] and evaluation["status"] == Status.COMPLETED
    may["answer"] = is_current and not as_judged
    if not may["answer"]:
        return may
    runtime = current_runtime()
    with runtime.db.reading() as session:
        until = disputes.open_until(session, evaluation["id"], runtime.settings.dispute_days)
        may["addressees"] = disputes.addressees(session, evaluation["id"])
    actions = possible_actions(ReviewStatus(evaluation["review_status"]))
    if ReviewAction.DISPUTE in actions and utc_now() < until:
        may |= {"reviews": [ReviewAction.DISPUTE], "until": until}
    return may
