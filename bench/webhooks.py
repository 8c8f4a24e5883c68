"""How fast one sender delivers to one quick receiver, and what a delivery costs.

`python -m bench.webhooks [deliveries] [receivers]`; the receiver runs in a process of its own.
"""

import multiprocessing
import sys
import tempfile
import time
from ipaddress import ip_network
from pathlib import Path

from sqlalchemy import text

from app import tables  # noqa: F401
from app.core.crypto import create_key_file
from app.core.db import Table
from app.core.runtime import build_runtime
from app.core.settings import Settings
from app.events import outbox
from app.events.catalogue import CATALOGUE, EventType
from app.webhooks import service
from app.webhooks.deliveries import fan_out
from tests.receiver import Receiver, write_ca_bundle
from tests.sender_process import SenderProcess, environment_of


def receive(
    folder: str, ready: "multiprocessing.Queue[int]", count: "multiprocessing.Value"
) -> None:
    write_ca_bundle(Path(folder))
    receiver = Receiver()
    ready.put(receiver.port)
    while True:
        time.sleep(0.01)
        count.value = len(receiver.requests)


def main(number: int, receivers: int) -> None:
    folder = Path(tempfile.mkdtemp())
    data_dir = folder / "instance"
    data_dir.mkdir()
    create_key_file(data_dir)
    context = multiprocessing.get_context("fork")
    ready = context.Queue()
    count = context.Value("i", 0)
    server = context.Process(target=receive, args=(str(folder), ready, count), daemon=True)
    server.start()
    port = ready.get()
    settings = Settings(
        data_dir=data_dir,
        redis_url="none",
        sqlite_synchronous="NORMAL",
        webhook_allowed_cidrs=(ip_network("127.0.0.0/8"), ip_network("::1/128")),
        webhook_ca_bundle=str(folder / "webhook-ca.pem"),
    )
    parts = build_runtime(settings)
    Table.metadata.create_all(parts.db.engine)
    outbox.on_publish(fan_out)
    with parts.db.writing() as session:
        for index in range(receivers):
            url = f"https://localhost:{port}/{index}"
            service.create(session, parts.keyring, url=url, events=[EventType.EVALUATION_COMPLETED])
    sample = CATALOGUE[EventType.EVALUATION_COMPLETED].sample
    started = time.perf_counter()
    for _ in range(number // receivers // 100):
        with parts.db.writing() as session:
            for _ in range(100):
                outbox.publish(session, EventType.EVALUATION_COMPLETED, sample)
    print(f"published in {(time.perf_counter() - started) / number * 1e6:.0f} us each")
    sender = SenderProcess(environment_of(settings), folder / "sender.log")
    while count.value < 100:
        time.sleep(0.005)
    first, started, cpu = count.value, time.perf_counter(), sender.cpu_s()
    while count.value < number:
        time.sleep(0.005)
    elapsed, cpu = time.perf_counter() - started, sender.cpu_s() - cpu
    done = number - first
    print(f"{done / elapsed:.0f} deliveries/s, {cpu / done * 1000:.2f} ms CPU each")
    time.sleep(2.5)
    cpu = sender.cpu_s()
    time.sleep(10)
    print(f"idle: {(sender.cpu_s() - cpu) / 10 * 100:.2f} % of a processor")
    with parts.db.reading() as session:
        print(
            session.execute(text("select state, count(*) from webhook_deliveries group by 1")).all()
        )
    print("exit code", sender.stop())
    print((folder / "sender.log").read_text()[-2000:])


if __name__ == "__main__":
    arguments = [int(each) for each in sys.argv[1:]]
    main(*(arguments + [2000, 1][len(arguments) :]))
