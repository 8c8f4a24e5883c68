"""Situation of the service and of the work, as far as the signed-in person may see it."""

from typing import Any

from sqlalchemy.orm import Session

from app.core.database.paging import PageRequest
from app.core.runtime import Runtime
from app.dashboard.counts import linked_count
from app.dashboard.queries import PageFilters
from app.dashboard.views import filters
from app.dashboard.views.figures.alerts import LinkedCount, Situation, WebhookState
from app.dashboard.views.figures.overview import mean_scores
from app.dashboard.words import text_of
from app.evaluations.enums import ENDED, Status
from app.system import parts
from app.usage import reports as usage
from app.usage.plan import period_of, plan_of
from app.web.principal import current_principal
from app.webhooks import service as webhooks

_OPEN = ",".join(status for status in Status if status not in ENDED)
_MOST_WEBHOOKS = 100


def situation_of(
    session: Session, runtime: Runtime, page_filters: PageFilters, summary: dict[str, Any]
) -> Situation:
    """Collect everything that alerts look at."""
    totals = summary["totals"]
    mean_now, mean_before = mean_scores(summary)
    auto_fails = page_filters.list_query(autoFailed="true", reviewStatus="none", status="completed")
    return Situation(
        now=page_filters.now,
        auto_fails=linked_count(session, auto_fails),
        disputes=linked_count(session, page_filters.all_time_query(reviewStatus="disputed")),
        waiting=waiting(session, page_filters),
        failed=LinkedCount(totals["failed"], page_filters.list_url(status="failed")),
        ended_count=totals["completed"] + totals["failed"],
        mean_now=mean_now,
        mean_before=mean_before,
        mean_href=filters.url("/trends", page_filters.texts),
        failing_parts=[part.alert for part in parts.failing(runtime)],
        webhooks=_webhooks(session) if _may("webhooks:manage") else (),
        usage_percents=_usage_percents(session, runtime, page_filters)
        if _may("usage:read")
        else {},
    )


def waiting(session: Session, page_filters: PageFilters) -> LinkedCount:
    """Count the evaluations that wait or run, with the moment at which the oldest was opened."""
    return linked_count(session, page_filters.all_time_query(status=_OPEN))


def _may(scope: str) -> bool:
    return scope in current_principal().scopes


def _webhooks(session: Session) -> list[WebhookState]:
    page = webhooks.list_page(session, PageRequest(page_size=_MOST_WEBHOOKS))
    return [
        WebhookState(row["description"] or row["url"], row["deactivated_at"], row["failing_since"])
        for row in page.items
    ]


def _usage_percents(
    session: Session, runtime: Runtime, page_filters: PageFilters
) -> dict[str, float]:
    report = usage.summary(session, period_of(page_filters.now), plan_of(runtime.settings))
    return {
        text_of("usageMetric", metric): 100 * amounts["used"] / amounts["included"]
        for metric, amounts in report["usage"].items()
        if amounts["included"]
    }
