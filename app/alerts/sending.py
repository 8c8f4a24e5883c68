"""Messages of rules: one for a rule and an hour, which names the first matches and counts the rest."""

from collections.abc import Sequence
from datetime import datetime

import orjson
from sqlalchemy import exists, or_, select, update
from sqlalchemy.orm import Session

from app.alerts.models import AlertMatch, AlertRule
from app.alerts.rules import HOUR
from app.core.clock import utc_now
from app.core.jobs.purging import delete_older
from app.core.settings import Settings
from app.events import outbox
from app.events.catalogue import EventType
from app.events.messages import SentLine, SentMessage, SentSection
from app.events.models import Event
from app.webhooks.deliveries import fan_out

_MOST_LINES = 5
# The rest waits for the next message.
_MOST_TOLD = 10_000
_WAITING = AlertMatch.event_id.is_(None)


def base_url(settings: Settings) -> str:
    """Return the address that links of messages begin with."""
    return settings.public_url or f"http://{settings.host}:{settings.port}"


def due_rules(session: Session) -> Sequence[str]:
    """Return the ids of the rules that have something to tell and may do so now."""
    now = utc_now()
    may_send = or_(AlertRule.sent_at.is_(None), AlertRule.sent_at <= now - HOUR)
    waiting = select(AlertMatch.rule_id).where(_WAITING)
    return session.scalars(
        select(AlertRule.id).where(AlertRule.id.in_(waiting), AlertRule.active, may_send)
    ).all()


def send_rule(session: Session, rule_id: str, base: str) -> None:
    """Publish the message of a rule about everything that waits, and send it to its targets."""
    rule = session.get(AlertRule, rule_id, with_for_update=True)
    now = utc_now()
    if rule is None or (rule.sent_at is not None and rule.sent_at > now - HOUR):
        return
    waiting = select(AlertMatch.id).where(AlertMatch.rule_id == rule_id, _WAITING)
    in_order = waiting.order_by(AlertMatch.at, AlertMatch.id).limit(_MOST_TOLD)
    # Locked, so that an erasure at the same time finds either the words or the message.
    ids = session.scalars(in_order.with_for_update()).all()
    if not ids:
        return
    named = select(AlertMatch).where(AlertMatch.id.in_(ids[:_MOST_LINES]))
    first = session.scalars(named.order_by(AlertMatch.at, AlertMatch.id)).all()
    message = _message(rule, first, len(ids) - len(first), base)
    event = publish(session, EventType.ALERT_RAISED, message, rule.target_ids)
    told = update(AlertMatch).where(AlertMatch.id.in_(ids)).values(event_id=event.id)
    session.execute(told.execution_options(synchronize_session=False))
    rule.sent_at = now


def publish(
    session: Session, event_type: EventType, message: SentMessage, target_ids: Sequence[str]
) -> Event:
    """Publish a message to webhooks that subscribe to it, and send it to these targets."""
    event = outbox.publish(session, event_type, message)
    if target_ids:
        fan_out(session, [event], target_ids)
    return event


def erase(session: Session, source_ids: Sequence[str]) -> None:
    """Erase the words of these conversations, also in messages that were sent."""
    erased = (
        update(AlertMatch)
        .where(AlertMatch.source_id.in_(source_ids), AlertMatch.words.is_not(None))
        .values(words=None)
        .returning(AlertMatch.event_id)
    )
    event_ids = {event_id for event_id in session.scalars(erased) if event_id is not None}
    for event in session.scalars(select(Event).where(Event.id.in_(event_ids))):
        document = orjson.loads(event.body)
        for section in document["data"]["sections"]:
            for line in section["lines"]:
                line["words"] = None
        event.body = orjson.dumps(document)


def purge(session: Session, *, before: datetime) -> int:
    """Delete a batch of matches from before a moment whose message is deleted; return how many.

    As long as there is the message, an erasure finds its words by them.
    """
    has_message = exists().where(Event.id == AlertMatch.event_id)
    return delete_older(session, AlertMatch.at, ~_WAITING, ~has_message, before=before)


def _message(rule: AlertRule, matches: Sequence[AlertMatch], more: int, base: str) -> SentMessage:
    lines = [
        SentLine(
            text=match.text,
            url=f"{base}/evaluations/{match.evaluation_id}" if match.evaluation_id else None,
            words=match.words,
        )
        for match in matches
    ]
    if more:
        lines.append(SentLine(text=f"and {more} more", url=None, words=None))
    has_conversations = any(match.evaluation_id for match in matches)
    return SentMessage(
        source_id=rule.id,
        title=rule.name,
        sections=[SentSection(heading="", lines=lines)],
        url=f"{base}/evaluations" if has_conversations else f"{base}/system",
        unsubscribe_url=None,
    )
