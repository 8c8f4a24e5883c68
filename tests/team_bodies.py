"""Bodies and forms of limited callers that name ids of others, for each route that changes something."""

from collections.abc import Mapping
from typing import Any

# The names of parameters and fields with ids that are of a team, and the ids that they take; most
# pages and lists take the first three.
TEAM_QUERIES = {
    "executiveId": "<executive_id>",
    "callCenterId": "<call_center_id>",
    "campaignId": "<campaign_id>",
}
QUERIES = {
    **TEAM_QUERIES,
    "sourceId": "<conversation_id>",
    "planId": "<plan_id>",
    "evaluationId": "<evaluation_id>",
    "ids": "<evaluation_id>",
    "reviewer": "<user_id>",
}
# Names of ids of what everybody shares, of other systems, and of parts of what a path names.
SHARED = {"engagementId", "scorecardId", "botId", "segmentId"}
_KEY = {"name": "n", "scopes": ["evaluations:read"]}
_LISTS = (
    {"callCenterIds": ["<call_center_id>"]},
    {"executiveIds": ["<executive_id>"]},
    {"campaignIds": ["<campaign_id>"]},
)
_FILTERS = [{name: value} for name, value in TEAM_QUERIES.items()]
_SOURCE = {"sourceId": QUERIES["sourceId"]}
_TIMES = {"at": "2026-11-25T10:00:00Z", "by": "2026-12-25T10:00:00Z"}
_GOAL = {"from": 50, "to": 80, "by": _TIMES["by"]}
_GOAL_FORM = {"from": "50", "to": "80", "by": "2026-12-25"}
_PLAN = {"name": "Weekly", "perAgent": 1, "reviewers": [{"userId": "<own_user_id>"}]}
_PLAN_FORM = {"name": "Weekly", "perAgent": "1", "dueDays": "5", "weekday": "0"}
_SESSION = {
    "executiveId": "<own_executive_id>",
    "scorecardId": "<own_scorecard_id>",
    "at": _TIMES["at"],
    "criteria": ["opening.greeting"],
}
_SESSION_FORM = {**_SESSION, "at": "2026-11-25", "notesFor": "both", "state": "planned"}
_EVIDENCE = {"evidence": [{"evaluationId": "<evaluation_id>"}]}
_DISPUTED = {"key": "opening.greeting", "applicable": False, "reason": "Look again."}
_MARKED = ({"ids": "<evaluation_id>"}, *({"query": f"{n}={QUERIES[n]}"} for n in QUERIES))
BODIES: Mapping[str, tuple[dict[str, Any], ...]] = {
    "agents.create_dispute": (
        {"reason": "No.", "criteria": [_DISPUTED], "addresseeId": "<user_id>"},
    ),
    "analytics.create_export": tuple(
        {"dataset": "evaluations", "format": "csv", "filters": filters}
        for filters in (*_FILTERS, _SOURCE)
    ),
    "api-keys.create_api_key": tuple({**_KEY, **lists} for lists in _LISTS),
    "coaching.change_coaching_session": (_EVIDENCE,),
    "coaching.create_coaching_session": (
        {**_SESSION, "executiveId": "<executive_id>"},
        {**_SESSION, **_EVIDENCE},
    ),
    "coaching.create_goal": (
        {**_GOAL, "executiveId": "<executive_id>"},
        {**_GOAL, "callCenterId": "<call_center_id>"},
    ),
    "evaluations.re_evaluate_many": tuple(
        {"filters": filters, "dryRun": is_dry}
        for filters in (*_FILTERS, _SOURCE)
        for is_dry in (True, False)
    ),
    "reviews.change_review_plan": (
        *({"filters": filters} for filters in _FILTERS),
        {"reviewers": [{"userId": "<user_id>"}]},
    ),
    "reviews.create_calibration_round": (
        {"name": "R", "evaluationIds": ["<evaluation_id>"], "reviewers": ["A", "B"]},
        {
            "name": "R",
            "evaluationIds": ["<own_evaluation_id>", "<evaluation_id>"],
            "reviewers": ["A", "B"],
        },
    ),
    "reviews.create_review_plan": (
        *({**_PLAN, "filters": filters} for filters in _FILTERS),
        {**_PLAN, "reviewers": [{"userId": "<user_id>"}]},
    ),
    "dashboard.answers.dispute": (
        {
            "action": "dispute",
            "reason": "No.",
            "answer.opening.greeting": "answer:no",
            "reason.opening.greeting": "Look again.",
            "addresseeId": "<user_id>",
        },
    ),
    "dashboard.calibration.create": (
        {"name": "R", "ids": "<own_evaluation_id>,<evaluation_id>", "reviewers": ["A", "B"]},
    ),
    "dashboard.coaching.create": (
        {**_SESSION_FORM, "executiveId": "<executive_id>"},
        {**_SESSION_FORM, "evaluationId": "<evaluation_id>"},
    ),
    "dashboard.coaching.create_goal": (
        {**_GOAL_FORM, "executiveId": "<executive_id>"},
        {**_GOAL_FORM, "callCenterId": "<call_center_id>"},
    ),
    "dashboard.evaluation_list.calibrate_marked": _MARKED[:1],
    "dashboard.evaluation_list.count_marked": _MARKED,
    "dashboard.evaluation_list.export_marked": _MARKED,
    "dashboard.evaluation_list.judge_again": _MARKED,
    "dashboard.evaluation_list.request_reviews": _MARKED[:1],
    "dashboard.exports.create": tuple(
        {"dataset": "evaluations", "format": "csv", **filters} for filters in _FILTERS
    ),
    "dashboard.plans.create": (
        *({**_PLAN_FORM, **filters} for filters in _FILTERS),
        {**_PLAN_FORM, "reviewers": "<user_id>"},
    ),
}
# Each change narrows a key further, so that two are never answered the same; a test of its own tries it.
TRIED_ALONE = {"api-keys.change_api_key"}
# Their bodies and forms name no row of a team.
WITHOUT_IDS = frozenset(
    {
        *("agents.create_receipt", "analytics.cancel_export"),
        *("api-keys.revoke_api_key", "api-keys.rotate_api_key"),
        *("coaching.delete_coaching_session", "coaching.change_goal", "coaching.delete_goal"),
        *("evaluations.re_evaluate", "evaluations.retry_re_evaluation"),
        *("reviews.create_review", "reviews.preview_review", "reviews.revoke_review_example"),
        *("reviews.replace_review_assignment", "reviews.delete_review_plan"),
        *("dashboard.account.save", "dashboard.account.change_password"),
        *("dashboard.account.end_session", "dashboard.answers.answer"),
        *("dashboard.coaching.change", "dashboard.coaching.acknowledge"),
        *("dashboard.coaching.delete", "dashboard.coaching.delete_goal"),
        *("dashboard.evaluation_changes.judge_again", "dashboard.evaluation_changes.review"),
        *("dashboard.evaluation_list.save_view", "dashboard.evaluation_list.delete_view"),
        "dashboard.exports.cancel",
        *("dashboard.live.preview", "dashboard.plans.change", "dashboard.plans.replace"),
        *("dashboard.review_examples.revoke", "dashboard.review_queue.open_review"),
        *("dashboard.second_factor.add", "dashboard.second_factor.renew_codes"),
        *("dashboard.second_factor.remove", "dashboard.sign_in.confirm"),
        *("dashboard.sign_in.sign_out", "dashboard.work.retry_evaluation"),
        *("dashboard.work.retry_export", "dashboard.work.retry_re_evaluation"),
    }
)


def filled(body: Any, ids: Mapping[str, str]) -> Any:
    """Return a body with ids in place of their names."""
    if isinstance(body, dict):
        return {name: filled(value, ids) for name, value in body.items()}
    if isinstance(body, list):
        return [filled(value, ids) for value in body]
    if isinstance(body, str):
        for name, row_id in ids.items():
            body = body.replace(f"<{name}>", row_id)
    return body
