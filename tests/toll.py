"""What kills cost: of the acknowledged events, how many are lost, sent twice, tried too often."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import func, select

from app.core.database.session import Database
from app.webhooks.models import Delivery
from tests.receiver import Received

_SAME = ("x-webhook-id", "x-webhook-delivery", "x-webhook-attempt", "x-webhook-signature")


@dataclass(frozen=True)
class Toll:
    """The account after everything has settled.

    `unexplained` counts requests of a delivery beyond its recorded attempts and the times that a
    kill cut it off: one copy a kill is what at-least-once allows.
    """

    acknowledged: int
    received: int
    lost: int
    duplicates: int
    unexplained: int
    most_attempts: int
    differing: int
    unsettled: int

    @property
    def fair(self) -> bool:
        """Whether nothing was lost, and nothing sent that a kill does not account for."""
        return self.most_attempts <= 3 and not (
            self.lost or self.unexplained or self.differing or self.unsettled
        )


def take(db: Database, acknowledged: Iterable[str], received: Iterable[Received]) -> Toll:
    """Compare what was acknowledged (ids of events), what came in, and what the tables say."""
    expected = set(acknowledged)
    requests = list(received)
    copies = Counter(each.headers["x-webhook-delivery"] for each in requests)
    contents = {
        (*(each.headers[name] for name in _SAME), each.body)
        for each in requests
        if each.headers["x-webhook-attempt"] == "1"
    }
    firsts = {each[1] for each in contents}
    with db.reading() as session:
        rows = session.execute(
            select(Delivery.id, Delivery.state, Delivery.attempts, Delivery.interruptions)
        ).all()
    return Toll(
        acknowledged=len(expected),
        received=len(requests),
        lost=len(expected - {each.headers["x-webhook-id"] for each in requests}),
        duplicates=len(requests) - len(copies),
        unexplained=sum(max(0, copies[row.id] - row.attempts - row.interruptions) for row in rows),
        most_attempts=max((row.attempts for row in rows), default=0),
        differing=len(contents) - len(firsts),
        unsettled=sum(row.state != "succeeded" for row in rows),
    )


def open_deliveries(db: Database) -> int:
    """Count what is not over yet."""
    with db.reading() as session:
        waiting = Delivery.state.in_(("pending", "delivering"))
        return session.scalar(select(func.count()).select_from(Delivery).where(waiting)) or 0
