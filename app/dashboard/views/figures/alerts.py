"""Alerts of the overview: the rules that decide what needs a person."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from app.dashboard.views.figures.changes import MeasuredMean, change_of, standard_error
from app.dashboard.views.formatting import percent
from app.dashboard.views.times import rounded_length

_FAILING_FOR = timedelta(hours=1)
_WAITING_FOR = timedelta(minutes=15)
_FEWEST_FAILED, _FAILED_SHARE = 3, 0.02
_USAGE_FROM_PERCENT = 80
_FEWEST_COMPARED, _STANDARD_ERRORS = 20, 2


@dataclass(frozen=True, slots=True)
class Alert:
    """A sentence, and the page on which to act; empty where there is none."""

    text: str
    href: str = ""


@dataclass(frozen=True, slots=True)
class WebhookState:
    """State of a webhook that the rules need."""

    name: str
    deactivated_at: datetime | None
    failing_since: datetime | None


@dataclass(frozen=True, slots=True)
class LinkedCount:
    """A count with the link to what it counts, and the age of the oldest where that matters."""

    count: int
    href: str
    oldest_at: datetime | None = None


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
    webhooks: Sequence[WebhookState] = ()
    usage_percents: dict[str, float] = field(default_factory=dict)


def alerts(situation: Situation) -> list[Alert]:
    """Return the alerts that are due, the most urgent first."""
    rules = (_failing_parts, _webhooks, _work, _reviews, _mean, _usage)
    return [alert for rule in rules for alert in rule(situation)]


def _failing_parts(situation: Situation) -> Iterator[Alert]:
    yield from map(Alert, situation.failing_parts)


def _webhooks(situation: Situation) -> Iterator[Alert]:
    for webhook in situation.webhooks:
        if webhook.deactivated_at is not None:
            age = rounded_length(situation.now - webhook.deactivated_at)
            yield Alert(f"Webhook {webhook.name} switched off {age} ago")
        elif webhook.failing_since is not None:
            failing = situation.now - webhook.failing_since
            if failing > _FAILING_FOR:
                yield Alert(f"Webhook {webhook.name} failing for {rounded_length(failing)}")


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
    change = change_of(now, before)
    if change is None or now is None or before is None:
        return
    is_large = -change.value > _STANDARD_ERRORS * standard_error(now, before)
    if is_large and min(now.count, before.count) >= _FEWEST_COMPARED:
        text = f"Mean score down by {-change.value:.1f} since the period before"
        yield Alert(text, situation.mean_href)


def _usage(situation: Situation) -> Iterator[Alert]:
    for name, used_percent in situation.usage_percents.items():
        if used_percent >= _USAGE_FROM_PERCENT:
            yield Alert(f"{name}: {used_percent:.0f} % of the plan's amount used")
