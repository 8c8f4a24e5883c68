"""Checks of rules about the mean score and about the service; each tells when it becomes true."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from app.alerts import matching
from app.alerts.enums import OF_SERVICE, AlertTrigger
from app.alerts.models import AlertMatch, AlertRule
from app.core.clock import iso_utc, utc_now
from app.core.errors import DiskFull
from app.core.hosts import WEB, Host
from app.core.ids import new_id
from app.core.runtime import Runtime
from app.core.storage.files import require_space
from app.core.storage.opening import storage_folder
from app.evaluations.enums import Status
from app.evaluations.models import Evaluation
from app.usage import reports as usage
from app.usage.plan import period_of, plan_of
from app.webhooks.models import Subscription

FEWEST_FAILED, FAILED_SHARE = 3, 0.02
USAGE_FROM_PERCENT = 80
_SILENT_AFTER = timedelta(minutes=2)
# Checks come every minute; a longer gap is one in which no worker ran.
_GAP = timedelta(minutes=5)
_DISK_FACTOR = 2
_MEAN_EVERY = timedelta(hours=1)


def due_rules(session: Session) -> list[AlertRule]:
    now = utc_now()
    is_mean = AlertRule.trigger == AlertTrigger.MEAN_DOWN
    due = or_(AlertRule.checked_at.is_(None), AlertRule.checked_at <= now - _MEAN_EVERY)
    wanted = or_(AlertRule.trigger.in_(OF_SERVICE), is_mean & due)
    return list(session.scalars(select(AlertRule).where(AlertRule.active, wanted)))


def found(session: Session, runtime: Runtime, rule: AlertRule) -> str | None:
    """Return what a rule has to say now; None where all is well."""
    if rule.trigger == AlertTrigger.MEAN_DOWN:
        return _mean_down(session, rule)
    return _OF_SERVICE[rule.trigger](session, runtime, rule)


def record(session: Session, rule_id: str, text: str | None) -> None:
    """Record the result of a check; a rule tells only what was not so before."""
    rule = session.get(AlertRule, rule_id, with_for_update=True)
    if rule is None or not rule.active:
        return
    now = utc_now()
    if text is not None and not rule.is_firing:
        subject = iso_utc(now)
        session.add(
            AlertMatch(id=new_id("match"), rule_id=rule_id, subject=subject, text=text, at=now)
        )
    rule.is_firing = text is not None
    rule.checked_at = now


def _mean_down(session: Session, rule: AlertRule) -> str | None:
    end = utc_now()
    middle = end - matching.WEEK
    now = matching.mean_of(session, rule.filters, middle, end)
    before = matching.mean_of(session, rule.filters, middle - matching.WEEK, middle)
    if now is None or before is None or not matching.has_fallen(now, before):
        return None
    return (
        f"Mean score {now.mean:.1f} over 7 days, {before.mean - now.mean:.1f} below the 7 days before "
        f"({now.count} and {before.count} conversations)"
    )


def _worker_silent(session: Session, _: Runtime, rule: AlertRule) -> str | None:
    now = utc_now()
    silent = select(Host).where(Host.service != WEB, Host.seen_at < now - _SILENT_AFTER)
    for host in session.scalars(silent.order_by(Host.seen_at)):
        return f"The {host.service} of {host.name} is silent since {iso_utc(host.seen_at)}"
    if rule.checked_at is not None and now - rule.checked_at > _GAP:
        return f"No worker ran from {iso_utc(rule.checked_at)} to {iso_utc(now)}"
    return None


def _webhook_off(session: Session, _: Runtime, rule: AlertRule) -> str | None:
    off = select(Subscription.description, Subscription.url).where(
        Subscription.deactivated_at.is_not(None), Subscription.deleted_at.is_(None)
    )
    names = [row.description or row.url for row in session.execute(off)]
    return f"Switched off, because every delivery failed: {', '.join(names)}" if names else None


def _disk_full(_: Session, runtime: Runtime, rule: AlertRule) -> str | None:
    settings = runtime.settings
    for folder in {settings.data_dir, storage_folder(settings) or settings.data_dir}:
        with suppress(OSError):
            try:
                require_space(folder, 0, _DISK_FACTOR * settings.min_free_bytes)
            except DiskFull:
                return "The disk is nearly full: soon nothing more is stored"
    return None


def _failures(session: Session, _: Runtime, rule: AlertRule) -> str | None:
    since = utc_now() - timedelta(days=1)
    ended = select(Evaluation.status, func.count()).where(
        Evaluation.created_at >= since,
        Evaluation.is_current.is_not(False),
        Evaluation.status.in_((Status.COMPLETED, Status.FAILED)),
    )
    counts: dict[str, int] = dict(session.execute(ended.group_by(Evaluation.status)).all())
    failed, total = counts.get(Status.FAILED, 0), sum(counts.values())
    if failed < FEWEST_FAILED or failed <= FAILED_SHARE * total:
        return None
    return f"{failed} of {total} conversations of the last 24 hours could not be judged"


def _usage(session: Session, runtime: Runtime, rule: AlertRule) -> str | None:
    plan = plan_of(runtime.settings)
    report = usage.summary(session, period_of(utc_now()), plan)
    used = [
        f"{metric.replace('_', ' ')} {100 * amounts['used'] / amounts['included']:.0f} %"
        for metric, amounts in report["usage"].items()
        if amounts["included"] and 100 * amounts["used"] >= USAGE_FROM_PERCENT * amounts["included"]
    ]
    return f"Used of what the plan includes: {', '.join(used)}" if used else None


_OF_SERVICE: Mapping[str, Callable[[Session, Runtime, AlertRule], str | None]] = {
    AlertTrigger.WORKER_SILENT: _worker_silent,
    AlertTrigger.WEBHOOK_OFF: _webhook_off,
    AlertTrigger.DISK_FULL: _disk_full,
    AlertTrigger.FAILURES: _failures,
    AlertTrigger.USAGE: _usage,
}
