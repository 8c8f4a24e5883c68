"""JavaScript client: its tests run in Node, against the real service."""

import json
import os
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from standardwebhooks import Webhook

from app.api_keys.vectors import KEY, SECRET, VECTORS
from tests.caller import Caller

ROOT = Path(__file__).resolve().parents[2]
WEBHOOK_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def signed_webhook() -> dict[str, object]:
    moment = datetime(2026, 11, 20, 12, tzinfo=UTC)
    body = json.dumps({"id": "evt_1", "event": "export.ready", "data": {"name": "Zoë ☕"}})
    headers = {
        "webhook-id": "evt_1",
        "webhook-timestamp": str(int(moment.timestamp())),
        "webhook-signature": Webhook(WEBHOOK_SECRET).sign("evt_1", moment, body),
    }
    return {
        "secret": WEBHOOK_SECRET,
        "body": body,
        "headers": headers,
        "now": int(moment.timestamp()),
    }


def test_the_client_passes_its_tests(client: Caller) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    vectors = [{**vector._asdict(), "body": vector.body.decode()} for vector in VECTORS]
    ran = subprocess.run(
        [node, "--test", ROOT / "tests" / "javascript_client.test.mjs"],
        env={
            **os.environ,
            "CLIENT": str(ROOT / "clients" / "javascript" / "cqe-client.js"),
            "BASE": client.base,
            "API_KEY": client.api_key,
            "SECRET": client.secret,
            "VECTORS": json.dumps({"key": KEY, "secret": SECRET, "vectors": vectors}),
            "WEBHOOK": json.dumps(signed_webhook()),
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
    assert "fail 0" in ran.stdout
    assert "pass 0" not in ran.stdout
