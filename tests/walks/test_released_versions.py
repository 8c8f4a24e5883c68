"""A data folder of each released version, as it was left behind: the newest code goes on with it.

`tests/data/releases/VERSION` has the database as SQL, the keys and what was stored. The folder of
0.1.0 has a chat with a card number and a review, a recording, and a webhook.
"""

import gzip
import re
import shutil
import sqlite3
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import requests

from cqe_client import verify_webhook
from tests.caller import Caller
from tests.waiting import wait_until
from tests.walks.service_process import ROOT, ServiceProcess, run_to_end

DATA = ROOT / "tests" / "data"
CHAT, RECORDING = "eval_01m85d1mx6ehfa21zw0gem1tt3", "aud_01m85d1ps8e7m985b48ret42av"
WEBHOOK, SIGNING_SECRET = (
    "wh_01m85d1n2ce6nr1w6kgwamcypy",
    "whsec_xrBobk+PBPlvirZBmqrvZVO6AiGVfy0MY/ICOvrmIM4=",
)


@pytest.fixture(scope="module", params=["0.1.0"])
def service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServiceProcess]:
    folder = tmp_path_factory.mktemp("released") / "instance"
    released = DATA / "releases" / request.param
    shutil.copytree(released, folder, ignore=shutil.ignore_patterns("*.sql.gz"))
    for private in (folder, *folder.rglob("*")):
        private.chmod(0o700 if private.is_dir() else 0o600)
    with sqlite3.connect(folder / "cqe.db") as database:
        database.executescript(gzip.decompress((released / "cqe.sql.gz").read_bytes()).decode())
    database.close()
    stored = folder / "storage" / "av" / "42" / RECORDING
    shutil.copy(DATA / "audio" / "formats" / "jfk.gsm.wav", stored)
    started = ServiceProcess(
        folder, CQE_WEBHOOK_ALLOW_HTTP="1", CQE_WEBHOOK_ALLOWED_CIDRS="127.0.0.0/8"
    )
    yield started.wait_ready()
    started.end()


@pytest.fixture
def client(service: ServiceProcess) -> Caller:
    """Return a client with the API key that the old version made."""
    key, secret = re.findall(r"cqe[ks]_\S+", (service.data_dir / "first-key.txt").read_text())
    return Caller(f"http://127.0.0.1:{service.port}", key, secret)


def test_the_start_upgrades_the_tables_and_keeps_a_copy(service: ServiceProcess) -> None:
    assert len([*(service.data_dir / "backups").iterdir()]) == 1
    for command in (["db", "check"], ["analytics", "check"]):
        code, text = run_to_end(service.data_dir, *command)
        assert code == 0, text


def test_results_reviews_and_originals_are_as_they_were(client: Caller) -> None:
    chat = client.get(f"/evaluations/{CHAT}").json()["data"]
    assert (chat["score"], chat["status"], chat["reviewStatus"]) == (87, "completed", "reviewed")
    results = client.get(f"/evaluations/{CHAT}/results").json()["data"]
    answers = {criterion["key"]: criterion["judgedBy"] for criterion in results["criteria"]}
    assert answers["closing.recap"] == "human"
    messages = f"/conversations/{chat['sourceId']}/messages"
    assert "[CARD]" in client.get(messages).text
    assert "4111 1111 1111 1111" in client.get(messages, params={"redacted": "false"}).text
    assert client.get("/analytics/summary").status_code == 200


def test_a_recording_is_still_there_byte_by_byte(client: Caller) -> None:
    recording = client.get(f"/audio-files/{RECORDING}").json()["data"]
    assert recording["status"] == "processed"
    link = client.get(f"/audio-files/{RECORDING}/download-url").json()["data"]
    content = requests.get(link["downloadUrl"], timeout=30).content
    assert content == (DATA / "audio" / "formats" / "jfk.gsm.wav").read_bytes()


def test_a_webhook_is_signed_with_the_secret_that_its_receiver_knows(client: Caller) -> None:
    events = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            events.append(verify_webhook(SIGNING_SECRET, body, dict(self.headers)))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Receiver) as server:
        url = f"http://127.0.0.1:{server.server_port}/"
        assert client.patch(f"/webhooks/{WEBHOOK}", {"url": url}).status_code == 200
        assert client.post(f"/webhooks/{WEBHOOK}/test").status_code == 202
        server.timeout = 60
        server.handle_request()
    assert [event["event"] for event in events] == ["evaluation.completed"]


def test_what_was_judged_by_the_old_version_is_judged_again(client: Caller) -> None:
    assert client.post(f"/evaluations/{CHAT}/re-evaluate").status_code == 202

    def current() -> dict[str, object]:
        found = client.get("/evaluations", params={"q": "chat-1"}).json()["data"]
        return found[0]

    wait_until(lambda: current()["revision"] == 2)
    assert current()["status"] == "completed"
