"""JavaScript client: its tests run in Node, against the real service."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from app.api_keys.signing_cli import KEY, SECRET, VECTORS
from tests.caller import Caller
from tests.signed_webhooks import SENT_AT, SIGNING_SECRET, signed_webhook

ROOT = Path(__file__).resolve().parents[2]


def test_the_client_passes_its_tests(client: Caller) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    vectors = [{**vector._asdict(), "body": vector.body.decode()} for vector in VECTORS]
    body, headers = signed_webhook()
    webhook = {"secret": SIGNING_SECRET, "body": body, "headers": headers, "now": SENT_AT}
    ran = subprocess.run(
        [node, "--test", ROOT / "tests" / "javascript_client.test.mjs"],
        env={
            **os.environ,
            "CLIENT": str(ROOT / "clients" / "javascript" / "cqe-client.js"),
            "BASE": client.base,
            "API_KEY": client.api_key,
            "SECRET": client.secret,
            "VECTORS": json.dumps({"key": KEY, "secret": SECRET, "vectors": vectors}),
            "WEBHOOK": json.dumps(webhook),
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
    assert "fail 0" in ran.stdout
    assert "pass 0" not in ran.stdout
