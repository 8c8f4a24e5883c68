"""Matching of rules: one condition for what happens now and for the last 30 days."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import orjson
from sqlalchemy import ColumnElement, String, and_, cast, func, select
from sqlalchemy.orm import Session

from app.alerts.enums import OF_DISPUTES, OF_RESULTS, AlertTrigger
from app.alerts.models import AlertMatch, AlertRule
from app.analytics.reports.means import MeasuredMean, differ
from app.core.clock import iso_utc, utc_now
from app.core.database.upserts import insert_missing
from app.core.ids import new_id
from app.core.principal import limited_to
from app.evaluations.enums import Channel, ReviewAction, Status
from app.evaluations.models import Evaluation
from app.events.catalogue import EventType
from app.events.models import Event
from app.reviews.models import Review

# Old conversations that are imported or judged again send no messages.
_FRESH = timedelta(days=7)
_TRIED = timedelta(days=30)
WEEK = timedelta(days=7)
_LONGEST_WORDS = 300
_ACTIONS: Mapping[str, tuple[str, ...]] = {
    AlertTrigger.DISPUTE_OPENED: (ReviewAction.DISPUTE,),
    AlertTrigger.DISPUTE_DECIDED: (ReviewAction.ACCEPT_DISPUTE, ReviewAction.REJECT_DISPUTE),
}
_EVENTS: Mapping[str, AlertTrigger] = {
    EventType.EVALUATION_DISPUTED: AlertTrigger.DISPUTE_OPENED,
    EventType.DISPUTE_DECIDED: AlertTrigger.DISPUTE_DECIDED,
}


def conditions(rule: AlertRule) -> list[ColumnElement[bool]]:
    where = [*of_filters(rule.filters), Evaluation.is_current.is_not(False)]
    where.append(Evaluation.status == Status.COMPLETED)
    match rule.trigger:
        case AlertTrigger.AUTO_FAIL:
            where.append(and_(Evaluation.auto_failed))
        case AlertTrigger.CRITERION_FAILED:
            failed = cast(Evaluation.failed_criteria, String)
            where.append(failed.contains(orjson.dumps(rule.criterion).decode(), autoescape=True))
        case AlertTrigger.SCORE_BELOW:
            where += [Evaluation.passed.is_not(None), Evaluation.score < rule.below]
        case AlertTrigger.COMPLIANCE_FAILED:
            where.append(Evaluation.compliance_score < 100)
    return where


def note_results(
    session: Session, changed: Sequence[tuple[Evaluation, Mapping[str, Any] | None]]
) -> None:
    """Record the matches of rules about results in these evaluations; once for a conversation."""
    documents = {row.id: document for row, document in changed if document is not None}
    if not documents:
        return
    with limited_to(None):
        for rule in _rules(session, OF_RESULTS):
            matching = select(Evaluation).where(
                Evaluation.id.in_(documents),
                Evaluation.conversation_at >= utc_now() - _FRESH,
                *conditions(rule),
            )
            for evaluation in session.scalars(matching):
                document = documents[evaluation.id]
                _add(session, rule, evaluation, evaluation.source_id, document)


def note_events(session: Session, events: Sequence[Event]) -> None:
    """Record the matches of rules about disputes in published events."""
    for event in events:
        if (trigger := _EVENTS.get(event.type)) is None:
            continue
        data = orjson.loads(event.body)["data"]
        with limited_to(None):
            for rule in _rules(session, (trigger,)):
                found = Evaluation.id == data["evaluation_id"]
                evaluation = session.scalar(select(Evaluation).where(found, *conditions(rule)))
                if evaluation is not None:
                    # A conversation may be disputed again, but not twice within an hour.
                    subject = f"{evaluation.source_id} {iso_utc(event.occurred_at)[:13]}"
                    _add(session, rule, evaluation, subject, {})


def past_matches(session: Session, rule: AlertRule) -> Iterator[datetime]:
    """Yield when a rule would have had something to tell in the last 30 days; reads one column."""
    since = utc_now() - _TRIED
    if rule.trigger in OF_RESULTS:
        moments = select(Evaluation.conversation_at).where(
            *conditions(rule), Evaluation.conversation_at >= since
        )
        yield from session.scalars(moments)
    elif rule.trigger in OF_DISPUTES:
        disputes = (
            select(Review.created_at)
            .join(Evaluation, Evaluation.id == Review.evaluation_id)
            .where(*of_filters(rule.filters), Review.action.in_(_ACTIONS[rule.trigger]))
            .where(Review.created_at >= since)
        )
        yield from session.scalars(disputes)
    else:
        yield from _past_falls(session, rule.filters, since)


def mean_of(
    session: Session, filters: Mapping[str, str], start: datetime, end: datetime
) -> MeasuredMean | None:
    return _mean(_sums(session, filters, start, end))


def _past_falls(
    session: Session, filters: Mapping[str, str], since: datetime
) -> Iterator[datetime]:
    day = timedelta(days=1)
    first = since - 2 * WEEK
    days = [
        _sums(session, filters, first + number * day, first + (number + 1) * day)
        for number in range((_TRIED + 2 * WEEK).days)
    ]
    for end in range(14, len(days) + 1):
        now, before = (
            _mean([sum(column) for column in zip(*days[at : at + 7], strict=True)])
            for at in (end - 7, end - 14)
        )
        if has_fallen(now, before):
            yield first + end * day


def has_fallen(now: MeasuredMean | None, before: MeasuredMean | None) -> bool:
    """Return whether a mean is below another by more than chance."""
    if now is None or before is None:
        return False
    return now.mean < before.mean and differ(now, before)


def _sums(
    session: Session, filters: Mapping[str, str], start: datetime, end: datetime
) -> tuple[int, ...]:
    score = Evaluation.score
    sums = select(func.count(), func.sum(score), func.sum(score * score))
    row = session.execute(
        sums.where(
            Evaluation.conversation_at >= start,
            Evaluation.conversation_at < end,
            Evaluation.passed.is_not(None),
            Evaluation.is_current.is_not(False),
            *of_filters(filters),
        )
    ).one()
    return tuple(int(number or 0) for number in row)


def _mean(sums: Sequence[int]) -> MeasuredMean | None:
    count, total, squares = sums
    if not count:
        return None
    variance = max(0, count * squares - total * total) / count**2
    return MeasuredMean(total / count, variance**0.5, count)


def _rules(session: Session, triggers: Sequence[str]) -> Sequence[AlertRule]:
    active = select(AlertRule).where(AlertRule.active, AlertRule.trigger.in_(triggers))
    return session.scalars(active.order_by(AlertRule.id)).all()


def of_filters(filters: Mapping[str, str]) -> list[ColumnElement[bool]]:
    return [getattr(Evaluation, name) == value for name, value in filters.items()]


def _add(
    session: Session,
    rule: AlertRule,
    evaluation: Evaluation,
    subject: str,
    document: Mapping[str, Any],
) -> None:
    insert_missing(
        session,
        AlertMatch,
        id=new_id("match"),
        rule_id=rule.id,
        subject=subject,
        source_id=evaluation.source_id,
        evaluation_id=evaluation.id,
        text=_line(rule, evaluation, document),
        words=_words(rule, evaluation, document) if rule.with_words else None,
        at=utc_now(),
    )


def _line(rule: AlertRule, evaluation: Evaluation, document: Mapping[str, Any]) -> str:
    who = evaluation.executive or "Unknown agent"
    score = "no score" if evaluation.score is None else f"{evaluation.score} of 100"
    parts = [who, Channel(evaluation.channel).label.lower(), score]
    if rule.trigger == AlertTrigger.CRITERION_FAILED:
        titles = {item["key"]: item["title"] for item in document.get("criteria", ())}
        parts.append(f"failed: {titles.get(rule.criterion, rule.criterion)}")
    return ", ".join(parts)


def _words(rule: AlertRule, evaluation: Evaluation, document: Mapping[str, Any]) -> str | None:
    """Return a quote for the criterion, or else what the conversation was about."""
    quotes = (
        item["quote"]
        for criterion in document.get("criteria", ())
        if criterion["key"] == rule.criterion
        for item in criterion["evidence"]
    )
    words = next(quotes, None) or (evaluation.summary or {}).get("issue")
    return words[:_LONGEST_WORDS] if words else None
