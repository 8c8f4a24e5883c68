"""Scripts of docs/first-hour.md, run as printed against a service that starts for the first time."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cqe_client import Client
from tests.conversations import HELPFUL
from tests.waiting import wait_until
from tests.walks.service_process import ROOT, ServiceProcess

pytestmark = pytest.mark.long

pytest.importorskip("faster_whisper", reason="the speech engine is not installed")


def scripts() -> list[str]:
    """The Python blocks of the page: a recording, a receiver, an export."""
    text = (ROOT / "docs" / "first-hour.md").read_text()
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    started = ServiceProcess(
        tmp_path_factory.mktemp("readme") / "instance",
        CQE_WEBHOOK_ALLOW_HTTP="1",
        CQE_WEBHOOK_ALLOWED_CIDRS="127.0.0.0/8",
    )
    yield started.wait_ready()
    started.end()


@pytest.fixture(scope="module")
def variables(service: ServiceProcess) -> dict[str, str]:
    """The variables that the page exports, and the address of this service."""
    key_file = (service.data_dir / "first-key.txt").read_text()
    key, secret = (re.search(rf"{start}\S+", key_file) for start in ("cqek_", "cqes_"))
    assert key
    assert secret
    return {
        "CQE_CLIENT_URL": f"http://127.0.0.1:{service.port}",
        "CQE_CLIENT_KEY": key[0],
        "CQE_CLIENT_SECRET": secret[0],
    }


class Script:
    """A running script of the page; `output` is what it has printed."""

    def __init__(self, text: str, folder: Path, variables: dict[str, str]) -> None:
        file = folder / "script.py"
        file.write_text(text)
        self._output = folder / "output.txt"
        with self._output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, str(file)],
                cwd=ROOT,
                env={**os.environ, "PYTHONUNBUFFERED": "1", **variables},
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    @property
    def output(self) -> str:
        return self._output.read_text()

    def finish(self) -> str:
        try:
            self.process.wait(120)
        finally:
            self.process.kill()
            self.process.wait()
        return self.output


def test_the_first_script_prints_progress_score_and_quotes(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    script = Script(scripts()[0], tmp_path, variables)
    output = script.finish()
    assert script.process.returncode == 0, output
    assert re.search(r"^transcribe \d+$", output, re.MULTILINE)
    assert re.search(r"^\d+ (exceeds|meets|needs_improvement|critical|too)", output, re.MULTILINE)
    assert re.search(r"^[01]\.\d\d \w", output, re.MULTILINE)
    assert re.search(r"^      (agent|customer) \w", output, re.MULTILINE)


def test_the_first_script_says_why_a_recording_failed(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    recording = "tests/data/audio/calls/fx-call-2.stereo.wav"
    assert recording in scripts()[0]
    broken = tmp_path / "broken.wav"
    broken.write_text("This is not a recording." * 100)
    script = Script(scripts()[0].replace(recording, str(broken)), tmp_path, variables)
    output = script.finish()
    assert script.process.returncode == 1
    assert "The recording could not be processed: aud_" in output
    assert "(UNSUPPORTED_MEDIA)" in output
    assert "Traceback" not in output


def test_the_receiver_prints_a_test_event_and_an_evaluation(
    tmp_path: Path, service: ServiceProcess, variables: dict[str, str]
) -> None:
    script = Script(scripts()[1], tmp_path, variables)
    wait_until(lambda: "Waiting" in script.output or script.process.poll() is not None)
    assert re.search(r"^evaluation\.completed \{.*'test': True", script.output, re.MULTILINE)
    client = Client(*variables.values())
    messages = [{"role": role, "text": text} for role, text in HELPFUL]
    evaluated = client.put("/imports/conversations/chat-1", {"messages": messages})
    output = script.finish()
    assert script.process.returncode == 0, output
    assert evaluated["evaluationId"] in output
    assert client.get("/webhooks") == []


def test_the_export_prints_what_was_evaluated(tmp_path: Path, variables: dict[str, str]) -> None:
    client = Client(*variables.values())
    messages = [{"role": role, "text": text} for role, text in HELPFUL]
    client.put("/imports/conversations/chat-2", {"messages": messages})
    wait_until(lambda: list(client.evaluations(q="chat-2", status="completed")), 60)
    script = Script(scripts()[2], tmp_path, variables)
    output = script.finish()
    assert script.process.returncode == 0, output
    assert re.search(r"^chat-2 chat \d+$", output, re.MULTILINE)
