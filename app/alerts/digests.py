"""Digests: when each is due, what it says, and the link that ends it."""

import base64
import hashlib
import hmac
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import orjson
from sqlalchemy import ColumnElement, String, cast, delete, func, select
from sqlalchemy.orm import Session

from app.alerts import matching, sending
from app.alerts.enums import Every
from app.alerts.models import Digest
from app.analytics.reports.means import MeasuredMean, differ, rate
from app.core.clock import utc_now
from app.core.database.records import Records, is_changed
from app.core.errors import InvalidInput, NotFound
from app.core.json_documents import camel_case
from app.core.runtime import Runtime
from app.core.secrets.encryption import Keyring
from app.evaluations.enums import Channel, ReviewStatus, Status
from app.evaluations.models import Evaluation
from app.events.catalogue import EventType
from app.events.messages import SentLine, SentMessage, SentSection
from app.reviews import assignments
from app.reviews.enums import HELD
from app.reviews.models import ReviewAssignment
from app.scorecards.models import ScorecardVersion
from app.webhooks import targets
from app.webhooks.models import Subscription

_LABEL = "cqe/unsubscribe/v1"
_WORKING_DAYS = 5
# How many days there are since the last digest of a working day, on the days where it is not one.
_DAYS_WITHOUT = {0: 3, 6: 2}
_OPEN_FOR = timedelta(days=30)
# One of thirty criteria moves by two standard errors each week, although nothing has changed.
_ERRORS_OF_CRITERIA = 3
_MOST_CRITERIA = 5


def _check(session: Session, row: Digest) -> None:
    if is_changed(row, "target_id") and targets.missing(session, [row.target_id]):
        raise InvalidInput.field("targetId", f"There is no such target: {row.target_id}.")
    row.timezone = str(row.timezone)
    row.next_at = _next_at(row, utc_now())
    if row.active:
        row.unsubscribed_at = None


DIGESTS = Records(Digest, "dig", "digest", 100, _check)


def due(session: Session, runtime: Runtime) -> list[tuple[str, SentMessage]]:
    """Return the ids of the digests that are due, each with what it says."""
    now = utc_now()
    is_due = select(Digest).where(Digest.active, Digest.next_at <= now)
    rows = session.scalars(is_due.order_by(Digest.next_at)).all()
    return [(row.id, compose(session, runtime, row, now)) for row in rows]


def send(session: Session, digest_id: str, message: SentMessage) -> None:
    """Send what a digest says, unless it has been sent or ended meanwhile; set when the next one is due."""
    row = session.get(Digest, digest_id, with_for_update=True)
    now = utc_now()
    if row is None or not row.active or row.next_at > now:
        return
    sending.publish(session, EventType.DIGEST_SENT, message, [row.target_id])
    row.sent_at, row.next_at = now, _next_at(row, now)


def purge(session: Session) -> None:
    """Delete the digests whose target is deleted: its row goes with the last of its deliveries."""
    ended = select(Subscription.id).where(Subscription.deleted_at.is_not(None))
    session.execute(delete(Digest).where(Digest.target_id.in_(ended)))


def compose(session: Session, runtime: Runtime, row: Digest, now: datetime) -> SentMessage:
    """Return what a digest says of the time before this moment."""
    base = sending.base_url(runtime.settings)
    zone = ZoneInfo(row.timezone)
    today = now.astimezone(zone).date()
    # On Monday the weekend as well, which has no digest of its own.
    length = timedelta(days=7 if row.every == Every.WEEK else _DAYS_WITHOUT.get(today.weekday(), 1))
    # The days of a zone, not hours: some days have 23 or 25.
    moments = [
        datetime.combine(day, time(), zone).astimezone(UTC)
        for day in (today - 2 * length, today - length, today)
    ]
    _, start, end = moments
    sections = (
        ("What has changed beyond chance", _changes(session, row.filters, moments, base)),
        ("What needs a person", _open_work(session, row.filters, end - _OPEN_FOR, base)),
        ("Worth listening to", _worth_hearing(session, row.filters, start, end, base)),
    )
    first, last = (moment.astimezone(zone) for moment in (start, end - timedelta(seconds=1)))
    days = f"{first:%-d %B}" if first.date() == last.date() else f"{first:%-d %B} to {last:%-d %B}"
    return SentMessage(
        source_id=row.id,
        title=f"{row.name}: {days}",
        sections=[
            SentSection(heading=heading, lines=list(lines) or [_line("Nothing.")])
            for heading, lines in sections
        ],
        url=base,
        unsubscribe_url=f"{base}/unsubscribe/{row.id}/{signature(runtime.keyring, row.id)}",
    )


def preview(session: Session, runtime: Runtime, digest_id: str) -> SentMessage:
    """Return what a digest would say now."""
    return compose(session, runtime, DIGESTS.find(session, digest_id), utc_now())


def signature(keyring: Keyring, digest_id: str) -> str:
    """Return what proves that the link of a digest was made here, by the current master key."""
    return _signature(keyring, digest_id, keyring.current_id)


def unsubscribed(session: Session, keyring: Keyring, digest_id: str, signed: str) -> Digest:
    """Return the digest that a link ends.

    Raises:
        NotFound: the link is not one of ours, or the digest was deleted.
    """
    known = (_signature(keyring, digest_id, key_id) for key_id in keyring.key_ids)
    if not any(hmac.compare_digest(each.encode(), signed.encode()) for each in known):
        raise NotFound("This link is not complete: open it in the message again.")
    return DIGESTS.find(session, digest_id, for_update=True)


def unsubscribe(row: Digest) -> None:
    """End a digest at the wish of its reader; doing so twice changes nothing."""
    if row.active:
        row.active = False
        row.unsubscribed_at = row.updated_at = utc_now()
        row.version += 1


def _signature(keyring: Keyring, digest_id: str, key_id: str) -> str:
    key = keyring.subkey(_LABEL, key_id)
    digest = hmac.new(key, digest_id.encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest[:18]).decode()


def _next_at(row: Digest, now: datetime) -> datetime:
    """Return the next time of a digest: its hour on a day of its own, in its zone."""
    zone = ZoneInfo(row.timezone)
    day = now.astimezone(zone).date()
    while True:
        moment = datetime.combine(day, time(row.hour), zone).astimezone(UTC)
        is_day = (
            day.weekday() == row.weekday
            if row.every == Every.WEEK
            else (day.weekday() < _WORKING_DAYS)
        )
        if moment > now and is_day:
            return moment
        day += timedelta(days=1)


def _changes(
    session: Session, filters: Mapping[str, str], moments: Sequence[datetime], base: str
) -> Iterator[SentLine]:
    """Yield what differs between the first two of these moments and the last two."""
    earlier, now = (_Figures(session, filters, *ends) for ends in pairwise(moments))
    for name, unit in (("Mean score", ""), ("Pass rate", " %"), ("Auto-fails", " %")):
        first, second = now.means.get(name), earlier.means.get(name)
        if first is not None and second is not None and differ(first, second):
            yield _change(name, first, second, unit, f"{base}/trends")
    moved = [
        (key, first, second)
        for key in sorted(now.failed.keys() | earlier.failed.keys())
        if (first := now.rate_of(key)) is not None and (second := earlier.rate_of(key)) is not None
        if differ(first, second, _ERRORS_OF_CRITERIA)
    ]
    moved.sort(key=lambda change: -abs(change[1].mean - change[2].mean))
    titles = _titles(session, {key[0] for key, _, _ in moved})
    for (scorecard_id, key), first, second in moved[:_MOST_CRITERIA]:
        name = f"Failed: {titles.get((scorecard_id, key), key)}"
        yield _change(name, first, second, " %", f"{base}/trends?scorecardId={scorecard_id}")


def _change(name: str, now: MeasuredMean, before: MeasuredMean, unit: str, url: str) -> SentLine:
    word = "up" if now.mean > before.mean else "down"
    return _line(
        f"{name} {word} from {before.mean:.1f}{unit} to {now.mean:.1f}{unit} "
        f"({before.count} and {now.count} conversations)",
        url,
    )


class _Figures:
    """The means and rates of the conversations of a time."""

    def __init__(
        self, session: Session, filters: Mapping[str, str], start: datetime, end: datetime
    ) -> None:
        judged = [*_judged(filters), *_between(start, end)]
        verdict = Evaluation.passed.is_not(None)
        count, passed, failed = session.execute(
            select(
                func.count(),
                func.count().filter(Evaluation.passed.is_not(False)),
                func.count().filter(Evaluation.auto_failed),
            ).where(*judged, verdict)
        ).one()
        mean = matching.mean_of(session, filters, start, end)
        self.means: dict[str, MeasuredMean] = {}
        if mean is not None:
            self.means = {
                "Mean score": mean,
                "Pass rate": rate(passed / count, count),
                "Auto-fails": rate(failed / count, count),
            }
        self.counts: dict[str, int] = {}
        self.failed: dict[tuple[str, str], int] = {}
        self._count_criteria(session, judged)

    def _count_criteria(self, session: Session, judged: Sequence[ColumnElement[bool]]) -> None:
        """Count the failures of each criterion; equal lists are counted by the database."""
        keys = cast(Evaluation.failed_criteria, String)
        grouped = select(Evaluation.scorecard_id, keys, func.count()).where(*judged)
        rows = session.execute(grouped.group_by(Evaluation.scorecard_id, keys))
        for scorecard_id, failed, count in rows:
            self.counts[scorecard_id] = self.counts.get(scorecard_id, 0) + count
            for key in orjson.loads(failed):
                self.failed[scorecard_id, key] = self.failed.get((scorecard_id, key), 0) + count

    def rate_of(self, key: tuple[str, str]) -> MeasuredMean | None:
        """Return the share that fails a criterion, of the conversations with its scorecard."""
        count = self.counts.get(key[0])
        return rate(self.failed.get(key, 0) / count, count) if count else None


def _titles(session: Session, scorecard_ids: set[str]) -> dict[tuple[str, str], str]:
    """Return the titles of criteria, by scorecard and key."""
    documents = session.execute(
        select(ScorecardVersion.scorecard_id, ScorecardVersion.document).where(
            ScorecardVersion.scorecard_id.in_(scorecard_ids)
        )
    )
    return {
        (row.scorecard_id, criterion["key"]): criterion["title"]
        for row in documents
        for section in row.document["sections"]
        for criterion in section["criteria"]
    }


def _open_work(
    session: Session, filters: Mapping[str, str], since: datetime, base: str
) -> Iterator[SentLine]:
    """Yield what waits for a person, as the lists behind the links count it.

    Args:
        since: the first moment of the auto-fails.
    """
    status, shown = (
        Evaluation.review_status,
        "".join(f"&{camel_case(name)}={value}" for name, value in filters.items()),
    )
    unasked = (
        Evaluation.auto_failed,
        status == ReviewStatus.NONE,
        Evaluation.conversation_at >= since,
        Evaluation.id.not_in(assignments.held_evaluations()),
    )
    for what, conditions, tab in (
        ("Open disputes", (status == ReviewStatus.DISPUTED,), "disputes"),
        (
            "Reviews that were asked for or begun",
            (status.in_((ReviewStatus.REQUESTED, ReviewStatus.IN_REVIEW)),),
            "requested",
        ),
        (
            "Auto-fails of 30 days without a review",
            unasked,
            f"auto-fails&from={since:%Y-%m-%dT%H:%M:%SZ}",
        ),
    ):
        count = session.scalar(select(func.count()).where(*_judged(filters), *conditions)) or 0
        if count:
            yield _line(f"{what}: {count}", f"{base}/review?tab={tab}{shown}")
    overdue = (
        select(func.count())
        .select_from(ReviewAssignment)
        .join(Evaluation, Evaluation.id == ReviewAssignment.evaluation_id)
        .where(ReviewAssignment.state.in_(HELD), ReviewAssignment.due_at < utc_now())
    )
    count = session.scalar(overdue.where(*matching.of_filters(filters))) or 0
    if count:
        yield _line(f"Overdue reviews: {count}", f"{base}/review/plans")


def _worth_hearing(
    session: Session, filters: Mapping[str, str], start: datetime, end: datetime, base: str
) -> Iterator[SentLine]:
    """Yield the lowest score, the highest, and the one of which the judge was least sure."""
    seen: list[str] = []
    score, confidence = Evaluation.score, Evaluation.confidence
    for why, order in (
        ("the lowest score", score),
        ("the highest score", score.desc()),
        ("the judge was least sure", confidence),
    ):
        found = session.scalar(
            select(Evaluation)
            .where(*_judged(filters), *_between(start, end), Evaluation.passed.is_not(None))
            .where(Evaluation.id.not_in(seen), confidence.is_not(None))
            .order_by(order, Evaluation.id)
            .limit(1)
        )
        if found is not None:
            seen.append(found.id)
            who = found.executive or "Unknown agent"
            channel = Channel(found.channel).label.lower()
            text = f"{who}, {channel}, {found.score} of 100: {why}"
            yield _line(text, f"{base}/evaluations/{found.id}")


def _judged(filters: Mapping[str, str]) -> list[ColumnElement[bool]]:
    return [
        *matching.of_filters(filters),
        Evaluation.is_current.is_not(False),
        Evaluation.status == Status.COMPLETED,
    ]


def _between(start: datetime, end: datetime) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return Evaluation.conversation_at >= start, Evaluation.conversation_at < end


def _line(text: str, url: str | None = None) -> SentLine:
    return SentLine(text=text, url=url, words=None)
