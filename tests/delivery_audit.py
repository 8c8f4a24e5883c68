"""Audit of deliveries after kills: events and messages that were lost, repeated or overtried."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import func, select

from app.core.database.session import Database
from app.usage.models import UsageRecord
from app.usage.plan import UsageMetric
from app.webhooks.models import Delivery
from tests.receiver import Received

_SAME = ("x-webhook-id", "x-webhook-delivery", "x-webhook-attempt", "x-webhook-signature")


@dataclass(frozen=True)
class DeliveryAudit:
    """Counts, once every delivery has ended.

    Args:
        unexplained: requests beyond the recorded attempts of their delivery and its interruptions,
            each of which may repeat one request.
        differing: first attempts whose repetition had another body, id or signature.
        not_delivered: deliveries that ended without success.
        misbilled: how many more deliveries are in the usage than were tried.
    """

    acknowledged: int
    received: int
    lost: int
    duplicates: int
    unexplained: int
    most_attempts: int
    differing: int
    not_delivered: int
    misbilled: int

    @property
    def fair(self) -> bool:
        """Return whether nothing was lost, and no request was sent without a reason."""
        return self.most_attempts <= 3 and not (
            self.lost or self.unexplained or self.differing or self.not_delivered or self.misbilled
        )


@dataclass(frozen=True)
class MessageAudit:
    """Counts of messages that were sent to a mailbox and to a chat, once every delivery has ended."""

    sent: int
    mail_lost: int
    mail_repeated: int
    chat_lost: int
    chat_repeated: int
    not_delivered: int
    most_attempts: int

    @property
    def fair(self) -> bool:
        """Return whether nothing was lost, and no interrupted attempt was counted."""
        lost = self.mail_lost or self.chat_lost or self.not_delivered
        return not lost and self.most_attempts == 1


def audit(db: Database, acknowledged: Iterable[str], received: Iterable[Received]) -> DeliveryAudit:
    """Compare the ids of acknowledged events, the received requests, and the tables."""
    expected = set(acknowledged)
    requests = list(received)
    copies = Counter(request.headers["x-webhook-delivery"] for request in requests)
    contents = {
        (*(request.headers[name] for name in _SAME), request.body)
        for request in requests
        if request.headers["x-webhook-attempt"] == "1"
    }
    firsts = {content[1] for content in contents}
    with db.reading() as session:
        rows = session.execute(
            select(Delivery.id, Delivery.state, Delivery.attempts, Delivery.interruptions)
        ).all()
        usage = select(func.sum(UsageRecord.quantity))
        billed = session.scalar(usage.where(UsageRecord.type == UsageMetric.WEBHOOKS)) or 0
    return DeliveryAudit(
        acknowledged=len(expected),
        received=len(requests),
        lost=len(expected - {request.headers["x-webhook-id"] for request in requests}),
        duplicates=len(requests) - len(copies),
        unexplained=sum(max(0, copies[row.id] - row.attempts - row.interruptions) for row in rows),
        most_attempts=max((row.attempts for row in rows), default=0),
        differing=len(contents) - len(firsts),
        not_delivered=sum(row.state != "succeeded" for row in rows),
        misbilled=billed - sum(row.attempts > 0 for row in rows),
    )


def audit_messages(
    db: Database, titles: Sequence[str], *, mailed: Sequence[str], posted: Sequence[str]
) -> MessageAudit:
    """Compare the titles of what was sent with those that a mailbox and a chat received."""
    with db.reading() as session:
        rows = session.execute(select(Delivery.state, Delivery.attempts)).all()
    return MessageAudit(
        sent=len(titles),
        mail_lost=len({*titles} - {*mailed}),
        mail_repeated=len(mailed) - len({*mailed}),
        chat_lost=len({*titles} - {*posted}),
        chat_repeated=len(posted) - len({*posted}),
        not_delivered=sum(row.state != "succeeded" for row in rows),
        most_attempts=max(row.attempts for row in rows),
    )


def open_deliveries(db: Database) -> int:
    """Count the deliveries that have not ended."""
    with db.reading() as session:
        waiting = Delivery.state.in_(("pending", "delivering"))
        return session.scalar(select(func.count()).select_from(Delivery).where(waiting)) or 0
