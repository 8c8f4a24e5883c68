"""Claims of jobs by several workers at once."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from app.core.clock import utc_now
from app.core.ids import new_id
from app.core.jobs import leases
from app.core.jobs.leases import JobState
from app.core.runtime import Runtime
from app.privacy.models import Erasure
from tests.conftest import POSTGRES_URL
from tests.sampling import examples

pytestmark = pytest.mark.sql

CLAIMERS = 8


def add_jobs(runtime: Runtime, count: int) -> list[str]:
    now = utc_now()
    ids = [new_id("ers") for _ in range(count)]
    with runtime.db.writing() as session:
        session.add_all(
            Erasure(id=each, requested_by="test", due_at=now, queued_at=now) for each in ids
        )
    return ids


def work_off(runtime: Runtime, bells: list[str]) -> list[str | None]:
    """Claim and end a job for each bell, by several workers; return what each claim got."""
    start = threading.Barrier(CLAIMERS)

    def worker(number: int) -> list[str | None]:
        start.wait()
        return [claim_and_end(runtime, bell) for bell in bells[number::CLAIMERS]]

    with ThreadPoolExecutor(CLAIMERS) as pool:
        return [got for part in pool.map(worker, range(CLAIMERS)) for got in part]


def claim_and_end(runtime: Runtime, bell: str) -> str | None:
    with runtime.db.writing() as session:
        lease = leases.claim(session, bell, Erasure)
    if lease is None:
        return None
    with runtime.db.writing() as session:
        leases.end(leases.held(session, lease), JobState.SUCCEEDED, utc_now())
    return lease.job_id


def test_claimers_neither_share_a_job_nor_block_each_other(runtime: Runtime) -> None:
    count = examples(600) if POSTGRES_URL else 80  # SQLite has one writer at a time
    ids = add_jobs(runtime, count)
    bells = [*ids[: count // 2], *["ers_unknown"] * (count // 2)]
    claimed = work_off(runtime, bells)
    done = [each for each in claimed if each]
    assert len(done) == len(set(done))
    # Only near the end can a claimer find nothing but what others are about to end.
    assert len(done) >= count - CLAIMERS
    while last := claim_and_end(runtime, "ers_unknown"):
        done.append(last)
    assert sorted(done) == sorted(ids)


def test_an_urgent_job_comes_before_the_asked_one(runtime: Runtime) -> None:
    asked, urgent, later = add_jobs(runtime, 3)
    with runtime.db.writing() as session:
        session.get_one(Erasure, urgent).priority = 1
        session.get_one(Erasure, later).priority = 2
        session.get_one(Erasure, later).due_at = utc_now() + timedelta(hours=1)
    assert [claim_and_end(runtime, asked) for _ in range(3)] == [urgent, asked, None]


def test_an_abandoned_job_is_claimed_in_its_turn(runtime: Runtime) -> None:
    first, second = add_jobs(runtime, 2)
    with runtime.db.writing() as session:
        lease = leases.claim(session, first, Erasure)
        assert lease is not None
        leases.note(session, lease, lease_until=utc_now() - timedelta(seconds=1))
    assert [claim_and_end(runtime, "ers_unknown") for _ in range(3)] == [first, second, None]
