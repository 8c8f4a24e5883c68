"""Kills senders and web processes with -9 while events flow, and counts lost and repeated events.

`python -m bench.webhook_kills --events 5000 --kills 50` first publishes events straight into the
database while the sender is killed again and again, for a receiver that answers after 10 ms and for
one that answers at once; then it causes events over HTTP while web workers and the sender are
killed in turn. The report counts acknowledged events.
"""

import argparse
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from app.core.database.schema_revision import needed_revision
from app.core.setting_parsers import RateLimit
from bench.service import new_runtime
from tests import kill_scenarios
from tests.delivery_audit import DeliveryAudit
from tests.receiver import Receiver, write_ca_bundle
from tests.webhook_harness import LOOPBACK, WebhookHarness


def harness_in(folder: Path) -> WebhookHarness:
    runtime = new_runtime(
        folder / "instance",
        redis_url="none",
        sqlite_synchronous="NORMAL",
        rate_limit_keys=RateLimit(1_000_000, 60),
        webhook_allowed_cidrs=LOOPBACK,
        webhook_ca_bundle=write_ca_bundle(folder),
    )
    with runtime.db.engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE alembic_version (version_num VARCHAR(32))")
        connection.exec_driver_sql(f"INSERT INTO alembic_version VALUES ('{needed_revision()}')")
    return WebhookHarness(runtime, folder)


def report(name: str, kills: int, audit: DeliveryAudit, took_s: float) -> None:
    print(f"{name}: {kills} kills in {took_s:.0f} s")
    print(
        f"  acknowledged {audit.acknowledged}, lost {audit.lost}, not delivered {audit.not_delivered}"
    )
    print(
        f"  requests {audit.received}, duplicates {audit.duplicates}"
        f" ({audit.duplicates / max(1, kills):.2f} a kill), unexplained {audit.unexplained},"
        f" differing {audit.differing}"
    )
    print(f"  most counted attempts {audit.most_attempts}; {'fair' if audit.fair else 'NOT FAIR'}")


def main(events: int, kills: int) -> int:
    fair = True
    for name, story in (
        ("sender, answers after 10 ms", kill_scenarios.senders),
        ("sender, answers at once", partial(kill_scenarios.senders, answer_after_s=0)),
        ("web and sender", kill_scenarios.web_and_senders),
    ):
        with tempfile.TemporaryDirectory() as folder:
            receiver, harness = Receiver(), harness_in(Path(folder))
            started = time.monotonic()
            try:
                harness.subscribe(receiver.url())
                done, audit = story(harness, receiver, events=events, kills=kills)
                report(name, done, audit, time.monotonic() - started)
                fair = fair and audit.fair
            finally:
                harness.close()
                receiver.close()
    return 0 if fair else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=20)
    arguments = parser.parse_args()
    sys.exit(main(arguments.events, arguments.kills))
