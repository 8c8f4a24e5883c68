"""Work of a deployment as a test sees it in the database: events, recordings, judgements, usage."""

from sqlalchemy import ColumnElement, func, select

from app.audio_files.models import ProcessingJob
from app.core.hosts import Host
from app.core.jobs.leases import JobState
from app.core.runtime import Runtime
from app.evaluations.models import Evaluation
from app.events import outbox
from app.events.catalogue import EventType
from app.events.data import ApiKeyRotated
from app.usage.models import UsageRecord
from app.webhooks import service as webhooks
from app.webhooks.models import Delivery
from tests.receiver import Receiver
from tests.waiting import wait_until


def subscribe(runtime: Runtime, receiver: Receiver) -> str:
    with runtime.db.writing() as session:
        subscription = webhooks.create(
            session, runtime.keyring, url=receiver.url(), events=[EventType.API_KEY_ROTATED]
        )
    return str(subscription["id"])


def publish(runtime: Runtime, count: int) -> list[str]:
    """Publish events, each in a transaction of its own; return their ids."""
    data = ApiKeyRotated(
        key_id="key_1",
        name="key",
        rotated_at="2026-11-21T09:30:00.000Z",
        previous_credential_expires_at=None,
    )
    published = []
    for _ in range(count):
        with runtime.db.writing() as session:
            published.append(outbox.publish(session, EventType.API_KEY_ROTATED, data).id)
    return published


def wait_for_events(receiver: Receiver, published: list[str]) -> list[str]:
    """Wait until every event has arrived; return the ids as they came."""

    def received() -> list[str]:
        return [each.event["id"] for each in receiver.received()]

    wait_until(
        lambda: set(received()) == set(published), describe=lambda: (len(received()), published)
    )
    return received()


def attempts(runtime: Runtime) -> list[int]:
    """Wait until all recordings are processed; return how often each was started."""

    def jobs() -> list[tuple[str, int]]:
        with runtime.db.reading() as session:
            found = session.execute(
                select(ProcessingJob.state, ProcessingJob.attempts).order_by(ProcessingJob.id)
            )
            return [(state, count) for state, count in found]

    wait_until(lambda: {state for state, _ in jobs()} == {JobState.SUCCEEDED}, describe=jobs)
    return [count for _, count in jobs()]


def wait_for_judgement(runtime: Runtime, count: int) -> None:
    """Wait until so many conversations are judged, each once."""

    def states() -> list[str]:
        with runtime.db.reading() as session:
            return list(session.scalars(select(Evaluation.status)))

    wait_until(lambda: states() == ["completed"] * count, describe=states)


def count_of_evaluations(runtime: Runtime) -> int:
    with runtime.db.reading() as session:
        return session.scalar(select(func.count()).select_from(Evaluation)) or 0


def busy_hosts(runtime: Runtime) -> set[str]:
    """Return the names of the hosts that process a recording and send events."""
    with runtime.db.reading() as session:
        process = select(Host.name).where(ProcessingJob.lease_owner.startswith(Host.id))
        send_events = select(Host.name).where(Delivery.lease_owner.startswith(Host.id))
        return set(session.scalars(process)) & set(session.scalars(send_events))


def is_processing(runtime: Runtime) -> bool:
    """Return whether a host processes a recording."""
    with runtime.db.reading() as session:
        running = select(ProcessingJob.id).where(ProcessingJob.state == JobState.RUNNING)
        return session.scalar(running) is not None


def was_put_off(runtime: Runtime) -> bool:
    """Return whether a recording was tried and is due again later."""
    with runtime.db.reading() as session:
        later = select(ProcessingJob.id).where(ProcessingJob.due_at > ProcessingJob.queued_at)
        return session.scalar(later.where(ProcessingJob.attempts == 0)) is not None


def deliveries_billed(runtime: Runtime, subscription_id: str) -> int:
    """Return how many deliveries of a subscription are in the usage."""
    return _billed(runtime, UsageRecord.operation == subscription_id)


def calls_billed(runtime: Runtime, key_id: str) -> int:
    """Return how many calls of a key are in the usage by now; hosts add them every few seconds."""
    return _billed(runtime, UsageRecord.key_id == key_id)


def _billed(runtime: Runtime, condition: ColumnElement[bool]) -> int:
    with runtime.db.reading() as session:
        total = session.scalar(select(func.sum(UsageRecord.quantity)).where(condition))
    return int(total or 0)
