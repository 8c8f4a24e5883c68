"""Kills senders and web processes with -9 while events flow, and counts what it cost.

`python -m bench.webhook_kills --events 5000 --kills 50`: first events published straight into the
database while the sender is killed again and again, for a receiver that takes 10 ms and for one
that takes none, then the same over HTTP while web workers and the sender are killed in turn. Every
line of the report is about acknowledged events.
"""

import argparse
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from app import tables  # noqa: F401
from app.core.database.schema_revision import needed_revision
from app.core.database.session import Table
from app.core.runtime import build_runtime
from app.core.secrets.encryption import create_key_file
from app.core.settings import Rate, Settings
from app.events import outbox
from app.webhooks.deliveries import fan_out
from tests import killing
from tests.receiver import Receiver, write_ca_bundle
from tests.sending import LOOPBACK, Desk
from tests.toll import Toll


def desk_in(folder: Path) -> Desk:
    data_dir = folder / "instance"
    data_dir.mkdir()
    create_key_file(data_dir)
    runtime = build_runtime(
        Settings(
            data_dir=data_dir,
            redis_url="none",
            sqlite_synchronous="NORMAL",
            rate_limit_keys=Rate(1_000_000, 60),
            webhook_allowed_cidrs=LOOPBACK,
            webhook_ca_bundle=write_ca_bundle(folder),
        )
    )
    Table.metadata.create_all(runtime.db.engine)
    with runtime.db.engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE alembic_version (version_num VARCHAR(32))")
        connection.exec_driver_sql(f"INSERT INTO alembic_version VALUES ('{needed_revision()}')")
    outbox.on_publish(fan_out)
    return Desk(runtime, folder)


def report(name: str, kills: int, found: Toll, took_s: float) -> None:
    print(f"{name}: {kills} kills in {took_s:.0f} s")
    print(f"  acknowledged {found.acknowledged}, lost {found.lost}, unsettled {found.unsettled}")
    print(
        f"  requests {found.received}, duplicates {found.duplicates}"
        f" ({found.duplicates / max(1, kills):.2f} a kill), unexplained {found.unexplained},"
        f" differing {found.differing}"
    )
    print(f"  most counted attempts {found.most_attempts}; {'fair' if found.fair else 'NOT FAIR'}")


def main(events: int, kills: int) -> int:
    fair = True
    for name, story in (
        ("sender, answers after 10 ms", killing.senders),
        ("sender, answers at once", partial(killing.senders, answer_after_s=0)),
        ("web and sender", killing.web_and_senders),
    ):
        with tempfile.TemporaryDirectory() as folder:
            receiver, desk = Receiver(), desk_in(Path(folder))
            started = time.monotonic()
            try:
                desk.subscribe(receiver.url())
                done, found = story(desk, receiver, events=events, kills=kills)
                report(name, done, found, time.monotonic() - started)
                fair = fair and found.fair
            finally:
                desk.close()
                receiver.close()
    return 0 if fair else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=20)
    arguments = parser.parse_args()
    sys.exit(main(arguments.events, arguments.kills))
