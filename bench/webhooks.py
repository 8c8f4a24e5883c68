"""Measures one sender: deliveries a second, CPU time of each, and how long a delivery waits.

`python -m bench.webhooks` compares with a baseline in the same run: the same POSTs to the same
receiver from a loop of `requests` over one kept connection. `--finished 1000000` repeats it over a
table with that many finished deliveries; `--distances` measures only receivers that are far away.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import orjson
import requests

from app.events.catalogue import example_of
from app.webhooks import signing
from bench.webhook_stage import EVENT, Receivers, Stage, fill
from tests.queue_server import running_queue_server

_PACED_PER_S = 100
_PACED_S = 4.0
_HANGING = 10
_DISTANCES_MS = (10, 100, 400)


@contextmanager
def stage() -> Iterator[Stage]:
    with tempfile.TemporaryDirectory() as name, running_queue_server() as queue:
        receivers = Receivers(Path(name))
        built = Stage(Path(name), receivers, queue.url)
        try:
            yield built
        finally:
            built.runtime.db.engine.dispose()
            receivers.close()


def baseline(number: int) -> float:
    """Return the POSTs a second of a loop that does nothing else."""
    with tempfile.TemporaryDirectory() as name:
        receivers = Receivers(Path(name))
        body = orjson.dumps(example_of(EVENT))
        headers = signing.headers(
            signing_secrets=[signing.new_secret()],
            event_id="evt_1",
            delivery_id="dlv_1",
            attempt=1,
            timestamp=int(time.time()),
            body=body,
        )
        with requests.Session() as session:
            session.trust_env = False
            session.verify = str(Path(name) / "webhook-ca.pem")
            session.post(receivers.url("/baseline"), data=body, headers=headers, timeout=10)
            started, cpu = time.perf_counter(), time.process_time()
            for _ in range(number):
                session.post(receivers.url("/baseline"), data=body, headers=headers, timeout=10)
            took_s, cpu = time.perf_counter() - started, time.process_time() - cpu
        receivers.close()
    print(f"{'baseline':24}{number / took_s:8.0f} /s {cpu / number * 1000:6.2f} ms CPU")
    return number / took_s


def backlog(where: Stage, name: str, number: int, receivers: int) -> None:
    """Publish a backlog and let a sender deliver it, right after measuring the baseline."""
    limit = baseline(min(number, 2000))
    before = where.receivers.count()
    where.publish(number // receivers, in_one=100)
    number = number // receivers * receivers
    warm_up = number // 10
    with where.sender() as sender:
        where.wait_for(before + warm_up)
        done, started, cpu = where.receivers.count(), time.perf_counter(), sender.cpu_s()
        where.wait_for(before + number)
        took_s, cpu = time.perf_counter() - started, sender.cpu_s() - cpu
    done = before + number - done
    rate = done / took_s
    print(
        f"{name:24}{rate:8.0f} /s {cpu / done * 1000:6.2f} ms CPU"
        f"   {rate / limit * 100:4.0f} % of the baseline"
    )


def paced(where: Stage, name: str, per_s: float, seconds: float, receivers: int) -> None:
    """Publish at a pace, and print the time from each commit to each receipt."""
    committed: dict[str, float] = {}
    before = where.receivers.count()
    with where.sender():
        time.sleep(2)
        started = time.monotonic()
        for turn in range(max(10, int(per_s * seconds))):
            time.sleep(max(0.0, started + turn / per_s - time.monotonic()))
            committed.update(where.publish(1))
        where.wait_for(before + len(committed) * receivers, within_s=60)
    arrived = where.receivers.arrivals()
    waits = [at - done for event, done in committed.items() for at in arrived[event]]
    print(f"{name:24}{_percentiles(waits)}   ({len(waits)} deliveries, {per_s:g} events/s)")


def distant(where: Stage, answers_after_ms: int) -> None:
    """Print the pace of a receiver that keeps up, and its pace once it is behind."""
    per_s = 1000 // answers_after_ms
    with where.sender():
        _pace(where, 1, skipped=0)
        in_order = _pace(where, 3 * per_s, skipped=1)
        behind = _pace(where, 60 * per_s, skipped=20 * per_s)
    print(
        f"{f'answers after {answers_after_ms} ms':24}{in_order:8.1f} /s in order"
        f"{behind:10.1f} /s from five seconds behind"
    )


def _pace(where: Stage, number: int, *, skipped: int) -> float:
    """Publish at once, and return the deliveries a second of all but the first ones."""
    before = where.receivers.count()
    where.publish(number, in_one=100)
    where.wait_for(before + skipped)
    done, started = where.receivers.count(), time.perf_counter()
    where.wait_for(before + number)
    return (before + number - done) / (time.perf_counter() - started)


def _percentiles(waits: Sequence[float]) -> str:
    cuts = statistics.quantiles(waits, n=100, method="inclusive")
    return "".join(f"  p{each} {cuts[each - 1] * 1000:6.1f} ms" for each in (50, 95, 99))


def main(number: int, finished: int) -> None:
    for receivers in (1, 50):
        with stage() as where:
            subscriptions = where.subscribe([f"/{each}" for each in range(receivers)])
            name = f"{receivers} receiver{'s' * (receivers > 1)}"
            backlog(where, name, number, receivers)
            paced(where, f"  {name}, paced", _PACED_PER_S / receivers, _PACED_S, receivers)
            if receivers == 1:
                paced(where, "  each after a pause", 1 / 1.5, 15, 1)
                if finished:
                    started = time.perf_counter()
                    fill(where.runtime.db, subscriptions, finished)
                    print(
                        f"{finished} finished deliveries in {time.perf_counter() - started:.0f} s"
                    )
                    backlog(where, "  then", number, 1)
                    paced(where, "  then, paced", _PACED_PER_S, _PACED_S, 1)
    with stage() as where:
        where.subscribe(["/healthy", *(f"/hang{each}" for each in range(_HANGING))])
        paced(where, "1 beside 10 that hang", _PACED_PER_S / 5, _PACED_S * 3, 1)
    distances()


def distances() -> None:
    for answers_after_ms in _DISTANCES_MS:
        with stage() as where:
            where.subscribe([f"/after{answers_after_ms}"])
            distant(where, answers_after_ms)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deliveries", type=int, default=5000)
    parser.add_argument("--finished", type=int, default=0, help="rows that ended, 0 for none")
    parser.add_argument("--distances", action="store_true", help="only receivers that are far away")
    arguments = parser.parse_args()
    if arguments.distances:
        distances()
    else:
        main(arguments.deliveries, arguments.finished)
