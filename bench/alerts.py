"""Time from a conversation that comes in to the alert about it in a chat and in a mailbox.

`python -m bench.alerts [rounds]` starts the whole service, with a receiver that plays Slack and a
mail server. A rule sends one message an hour: each round has a rule of its own.
"""

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from app.core.clock import utc_now
from app.core.settings import Settings
from app.wiring import build_runtime
from bench.service import free_port, new_key
from bench.start import command, is_healthy
from tests.caller import Caller
from tests.contacts import put_chat
from tests.mail_server import PASSWORD, USER, Mailbox, running_mail_server
from tests.receiver import Receiver, write_ca_bundle

ROUNDS, PATIENCE_S = 10, 120
RUDE = (
    ("customer", "Hello, my parcel has not arrived and I am worried about it."),
    ("agent", "That is your own fault, you idiot. Shut up and stop wasting my time."),
    ("customer", "Pardon? I want my parcel."),
    ("agent", "I do not care. Goodbye."),
)


def main(rounds: int) -> None:
    receiver = Receiver()
    with (
        tempfile.TemporaryDirectory() as folder,
        running_mail_server() as mailbox,
        running(Path(folder)) as client,
    ):
        server = {"host": "localhost", "port": mailbox.port, "sender": "quality@example.com"}
        made(client, "PUT", "/alerts/mail-server", user=USER, password=PASSWORD, **server)
        mail = made(client, "POST", "/alerts/targets", kind="email", address="lead@example.com")
        waits = [waits_of(client, number, receiver, mailbox, mail) for number in range(rounds)]
    receiver.close()
    for name, seconds in zip(("chat", "mail"), zip(*waits, strict=True), strict=True):
        print(f"{name}: median {statistics.median(seconds):.1f} s, longest {max(seconds):.1f} s")


@contextmanager
def running(folder: Path) -> Iterator[Caller]:
    """Run the service, which may send to this machine."""
    port, data = free_port(), folder / "instance"
    environment = {
        **os.environ,
        "CQE_DATA_DIR": str(data),
        "CQE_PORT": str(port),
        "CQE_WEBHOOK_ALLOWED_CIDRS": "127.0.0.0/8,::1/128",
        "CQE_WEBHOOK_CA_BUNDLE": write_ca_bundle(folder),
    }
    log = subprocess.DEVNULL
    process = subprocess.Popen(command("up"), env=environment, stdout=log, stderr=log)
    try:
        while not is_healthy(port):
            time.sleep(0.1)
        key = new_key(build_runtime(Settings(data_dir=data)))
        yield Caller(f"http://127.0.0.1:{port}", key.api_key, key.secret)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def waits_of(
    client: Caller, number: int, receiver: Receiver, mailbox: Mailbox, mail: str
) -> tuple[float, float]:
    """Return the seconds until an auto-fail is told in the chat, and by mail."""
    path = f"/services/{number}"
    chat = made(client, "POST", "/alerts/targets", kind="slack", address=receiver.url(path))
    rule = {"name": f"Auto-fails {number}", "trigger": "auto_fail", "targetIds": [chat, mail]}
    rule_id = made(client, "POST", "/alerts/rules", **rule)
    # Rounds begin at different moments between two looks at the rules.
    time.sleep(number % 5)
    at = utc_now() - timedelta(minutes=5)
    lines = [
        {"role": role, "text": text, "sentAt": (at + timedelta(seconds=20 * place)).isoformat()}
        for place, (role, text) in enumerate(RUDE)
    ]
    started = time.monotonic()
    put_chat(client, f"rude-{number}", messages=lines)
    waits: dict[str, float] = {}
    while len(waits) < 2 and time.monotonic() - started < PATIENCE_S:
        if receiver.received(path):
            waits.setdefault("chat", time.monotonic() - started)
        if len(mailbox.letters) > number:
            waits.setdefault("mail", time.monotonic() - started)
        time.sleep(0.05)
    assert client.delete(f"/alerts/rules/{rule_id}").status_code == 204
    return waits["chat"], waits["mail"]


def made(client: Caller, method: str, path: str, **body: Any) -> str:
    answer = client.call(method, path, body)
    assert answer.status_code in (200, 201), answer.text
    return str(answer.json()["data"].get("id", ""))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
