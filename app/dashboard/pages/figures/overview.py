"""Overview: whether quality holds, and the rules that decide what needs a person."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from flask import render_template
from sqlalchemy.orm import Session

from app.analytics.engine.reader import open_facts
from app.analytics.reports import leaderboards, summary
from app.analytics.reports.lowest import lowest_of_criteria, worst_and_best
from app.analytics.reports.means import MeasuredMean, differ
from app.analytics.schemas.reports import AnalyticsQuery
from app.core.database.paging import PageRequest
from app.core.runtime import Runtime
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.charts.scores import histogram
from app.dashboard.pages.figures.trends import score_chart, score_trend
from app.dashboard.pickers import pass_threshold
from app.dashboard.queries import LinkedCount, PageFilters, filters_of_request, linked_count
from app.dashboard.views import figures, filters
from app.dashboard.views.figures import mean_scores
from app.dashboard.views.formatting import percent, rounded_length
from app.dashboard.words import text_of
from app.evaluations.enums import ENDED, Status
from app.people.roles import READ_SYSTEM
from app.system import parts
from app.usage import reports as usage
from app.usage.plan import period_of, plan_of
from app.web.current import current_runtime
from app.web.principal import current_principal, require_scope
from app.webhooks import service as webhooks

blp = PageBlueprint("overview", __name__)
_MIN_EVALUATIONS = 5
_OPEN = ",".join(status for status in Status if status not in ENDED)
_WEBHOOKS = PageRequest(page_size=100)
_FAILING_FOR = timedelta(hours=1)
_WAITING_FOR = timedelta(minutes=15)
_MOST_HELPED = 3
_FEWEST_FAILED, _FAILED_SHARE = 3, 0.02
_USAGE_FROM_PERCENT = 80


@dataclass(frozen=True, slots=True)
class Alert:
    """A sentence, and the page on which to act; either may be empty."""

    text: str
    href: str = ""


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything that the rules look at; what a person may not see stays at its default."""

    now: datetime
    auto_fails: LinkedCount | None = None
    disputes: LinkedCount | None = None
    waiting: LinkedCount | None = None
    failed: LinkedCount | None = None
    ended_count: int = 0
    mean_now: MeasuredMean | None = None
    mean_before: MeasuredMean | None = None
    mean_href: str = ""
    failing_parts: Sequence[str] = ()
    parts_href: str = ""
    webhooks: Sequence[Mapping[str, Any]] = ()
    usage_percents: dict[str, float] = field(default_factory=dict)


@blp.get("/")
@require_scope("analytics:read")
def show() -> str:
    """Show the figures of a period, compared with the period before."""
    page_filters, runtime = filters_of_request(for_figures=True), current_runtime()
    selection = page_filters.selection(page_filters.load(AnalyticsQuery()))
    with open_facts(runtime) as facts:
        totals = summary.summarize(facts, selection, min_evaluations=_MIN_EVALUATIONS, compare=True)
        weakest = [criterion["key"] for criterion in totals["weakest_criteria"]]
        lowest = lowest_of_criteria(facts, selection, weakest)
        ends = worst_and_best(facts, selection)
        trend = score_trend(facts, selection)
        executives = leaderboards.executive_changes(
            facts, selection, min_evaluations=_MIN_EVALUATIONS
        )
        lowest_executives = leaderboards.lowest_executives(
            facts, selection, executives, _MOST_HELPED
        )
        situation = _situation(facts.session, runtime, page_filters, totals)
        threshold = pass_threshold(facts.session, page_filters.texts.get("scorecardId"))
    return render_template(
        "overview/show.html",
        page_filters=page_filters,
        least=_MIN_EVALUATIONS,
        summary=totals,
        lowest=lowest,
        ends=ends,
        figures=figures.headline(totals, page_filters.list_url),
        alerts=alerts(situation),
        under_way=situation.waiting,
        trend=score_chart(trend, page_filters),
        distribution=histogram(
            figures.score_classes(totals, page_filters.list_url), pass_threshold=threshold
        ),
        movers=figures.movers(executives, totals["score"]["stdev"]),
        lowest_agents=[
            (
                member,
                MeasuredMean(member["mean_score"], member["stdev"], member["with_verdict"]),
                page_filters.list_url(
                    status="completed", hasVerdict="true", executiveId=member["id"]
                ),
            )
            for member in lowest_executives
        ],
    )


def _situation(
    session: Session, runtime: Runtime, page_filters: PageFilters, summary: dict[str, Any]
) -> Situation:
    totals, scopes = summary["totals"], current_principal().scopes
    mean_now, mean_before = mean_scores(summary)
    auto_fails = page_filters.list_query(autoFailed="true", reviewStatus="none", status="completed")
    return Situation(
        now=page_filters.now,
        auto_fails=linked_count(session, auto_fails),
        disputes=linked_count(session, page_filters.all_time_query(reviewStatus="disputed")),
        waiting=linked_count(session, page_filters.all_time_query(status=_OPEN)),
        failed=LinkedCount(totals["failed"], page_filters.list_url(status="failed")),
        ended_count=totals["completed"] + totals["failed"],
        mean_now=mean_now,
        mean_before=mean_before,
        mean_href=filters.url("/trends", page_filters.texts),
        failing_parts=[part.alert for part in parts.failing(runtime)],
        parts_href="/system" if READ_SYSTEM in scopes else "",
        webhooks=webhooks.list_page(session, _WEBHOOKS).items
        if "webhooks:manage" in scopes
        else (),
        usage_percents=_usage_percents(session, runtime, page_filters)
        if "usage:read" in scopes
        else {},
    )


def _usage_percents(
    session: Session, runtime: Runtime, page_filters: PageFilters
) -> dict[str, float]:
    report = usage.summary(session, period_of(page_filters.now), plan_of(runtime.settings))
    return {
        text_of("usageMetric", metric): 100 * amounts["used"] / amounts["included"]
        for metric, amounts in report["usage"].items()
        if amounts["included"]
    }


def alerts(situation: Situation) -> list[Alert]:
    """Return the alerts that are due, the most urgent first."""
    rules = (_failing_parts, _webhooks, _work, _reviews, _mean, _usage)
    return [alert for rule in rules for alert in rule(situation)]


def _failing_parts(situation: Situation) -> Iterator[Alert]:
    for text in situation.failing_parts:
        yield Alert(text, situation.parts_href)


def _webhooks(situation: Situation) -> Iterator[Alert]:
    for webhook in situation.webhooks:
        name, href = webhook["description"] or webhook["url"], f"/webhooks/{webhook['id']}"
        if webhook["deactivated_at"] is not None:
            age = rounded_length(situation.now - webhook["deactivated_at"])
            yield Alert(f"Webhook {name} switched off {age} ago", href)
        elif webhook["failing_since"] is not None:
            failing = situation.now - webhook["failing_since"]
            if failing > _FAILING_FOR:
                yield Alert(f"Webhook {name} failing for {rounded_length(failing)}", href)


def _work(situation: Situation) -> Iterator[Alert]:
    waiting, failed = situation.waiting, situation.failed
    if waiting is not None and waiting.oldest_at is not None:
        age = situation.now - waiting.oldest_at
        if age > _WAITING_FOR:
            yield Alert(
                f"{waiting.count} under way, the oldest for {rounded_length(age)}", waiting.href
            )
    if failed is not None and failed.count >= _FEWEST_FAILED:
        share = failed.count / max(1, situation.ended_count)
        if share > _FAILED_SHARE:
            yield Alert(f"{failed.count} failed, {percent(share)} of those that ended", failed.href)


def _reviews(situation: Situation) -> Iterator[Alert]:
    auto_fails, disputes = situation.auto_fails, situation.disputes
    if auto_fails is not None and auto_fails.count:
        noun = "auto-fail" if auto_fails.count == 1 else "auto-fails"
        yield Alert(f"{auto_fails.count} {noun} not reviewed", auto_fails.href)
    if disputes is not None and disputes.count:
        noun = "open dispute" if disputes.count == 1 else "open disputes"
        oldest = ""
        if disputes.oldest_at is not None:
            oldest = f", the oldest from {rounded_length(situation.now - disputes.oldest_at)} ago"
        yield Alert(f"{disputes.count} {noun}{oldest}", disputes.href)


def _mean(situation: Situation) -> Iterator[Alert]:
    now, before = situation.mean_now, situation.mean_before
    if now is None or before is None:
        return
    if now.mean < before.mean and differ(now, before):
        text = f"Mean score down by {before.mean - now.mean:.1f} since the period before"
        yield Alert(text, situation.mean_href)


def _usage(situation: Situation) -> Iterator[Alert]:
    for name, used_percent in situation.usage_percents.items():
        if used_percent >= _USAGE_FROM_PERCENT:
            yield Alert(f"{name}: {used_percent:.0f} % of the plan's amount used", "/usage")
