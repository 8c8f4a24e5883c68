"""Kills senders and web processes with -9 while events flow, and counts what is lost and repeated.

`python -m bench.webhook_kills --events 5000 --kills 50` first publishes events straight into the
database while the sender is killed again and again, for a receiver that answers after 10 ms and for
one that answers at once; then it causes events over HTTP while web workers and the sender are
killed in turn; last it sends messages to a mailbox and to a chat while the sender is killed. The
report counts acknowledged events. `--messages` leaves out all but the last; `--database URL` takes
a PostgreSQL server, with a database of its own for each.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import sqlalchemy

from app.core.setting_parsers import RateLimit
from bench.service import new_runtime
from tests import kill_scenarios
from tests.conftest import make_tables, new_database
from tests.delivery_audit import DeliveryAudit, MessageAudit
from tests.mail_server import running_mail_server
from tests.receiver import Receiver, write_ca_bundle
from tests.webhook_harness import LOOPBACK, WebhookHarness

EventStory = Callable[..., tuple[int, DeliveryAudit]]
EVENT_STORIES: dict[str, EventStory] = {
    "sender, answers after 10 ms": kill_scenarios.senders,
    "sender, answers at once": partial(kill_scenarios.senders, answer_after_s=0),
    "web and sender": kill_scenarios.web_and_senders,
}


@contextmanager
def service(server: str) -> Iterator[tuple[WebhookHarness, Receiver]]:
    """Provide a service with a database of its own, SQLite unless a server is named, and a receiver."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = ""
        if server:
            admin = sqlalchemy.create_engine(server, isolation_level="AUTOCOMMIT")
            name = stack.enter_context(new_database(admin))
            url = admin.url.set(database=name).render_as_string(hide_password=False)
        runtime = new_runtime(
            folder / "instance",
            database_url=url,
            redis_url="none",
            sqlite_synchronous="NORMAL",
            rate_limit_keys=RateLimit(1_000_000, 60),
            webhook_allowed_cidrs=LOOPBACK,
            webhook_ca_bundle=write_ca_bundle(folder),
        )
        make_tables(runtime.db.engine)
        harness, receiver = WebhookHarness(runtime, folder), Receiver()
        stack.callback(receiver.close)
        stack.callback(harness.close)
        yield harness, receiver


def report_events(name: str, kills: int, audit: DeliveryAudit, took_s: float) -> None:
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


def report_messages(kills: int, audit: MessageAudit, took_s: float) -> None:
    print(f"messages by mail and chat: {kills} kills in {took_s:.0f} s")
    for name, lost, repeated in (
        ("mail", audit.mail_lost, audit.mail_repeated),
        ("chat", audit.chat_lost, audit.chat_repeated),
    ):
        print(f"  {name}: sent {audit.sent}, lost {lost}, repeated {repeated}")
    print(
        f"  not delivered {audit.not_delivered}, most counted attempts {audit.most_attempts};"
        f" {'nothing lost' if audit.fair else 'NOT FAIR'}"
    )


def main(*, server: str, events: int, kills: int, messages_alone: bool) -> int:
    fair = True
    for name, story in () if messages_alone else EVENT_STORIES.items():
        with service(server) as (harness, receiver):
            harness.subscribe(receiver.url())
            started = time.monotonic()
            done, audit = story(harness, receiver, events=events, kills=kills)
            report_events(name, done, audit, time.monotonic() - started)
            fair = fair and audit.fair
    with service(server) as (harness, receiver), running_mail_server() as mailbox:
        started = time.monotonic()
        sent = kill_scenarios.messages(harness, receiver, mailbox, kills=kills)
        report_messages(kills, sent, time.monotonic() - started)
    return 0 if fair and sent.fair else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--messages", action="store_true")
    parser.add_argument("--database", default="", metavar="URL")
    arguments = parser.parse_args()
    sys.exit(
        main(
            server=arguments.database,
            events=arguments.events,
            kills=arguments.kills,
            messages_alone=arguments.messages,
        )
    )
