"""Collection for Postman: it has every operation, and its script signs what it sends."""

import json
import shutil
import subprocess
from typing import Any

import pytest
import requests

from app.web.openapi.pages import SIGN_SCRIPT
from tests.caller import Caller

# What Postman offers to the script, on top of Node's own cryptography.
SANDBOX = """
const crypto = require("node:crypto");
const [path, body, apiKey, secret] = process.argv.slice(1);
const headers = {};
const text = (value) => ({ toString: () => value });
const library = {
  lib: { WordArray: { random: (size) => text(crypto.randomBytes(size).toString("hex")) } },
  SHA256: (value) => text(crypto.createHash("sha256").update(value).digest("hex")),
  HmacSHA256: (value, key) => text(crypto.createHmac("sha256", key).update(value).digest("hex")),
};
const pm = {
  variables: { get: (name) => ({ apiKey, secret })[name], replaceIn: (value) => value },
  request: {
    method: "POST",
    url: { getPathWithQuery: () => path, update: () => {} },
    body: { raw: body },
    headers: { upsert: ({ key, value }) => { headers[key] = value; } },
  },
};
new Function("require", "pm", %s)(() => library, pm);
console.log(JSON.stringify(headers));
"""


@pytest.fixture
def collection(base: str) -> dict[str, Any]:
    answer = requests.get(f"{base}/docs/cqe.postman_collection.json", timeout=30)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_it_has_every_operation_with_its_sample(collection: dict[str, Any], client: Caller) -> None:
    document = client.plain("GET", "/openapi.json").json()
    requests_of = [entry["request"] for folder in collection["item"] for entry in folder["item"]]
    listed = sorted(f"{entry['method']} {entry['url']['raw']}" for entry in requests_of)
    assert listed == sorted(
        f"{method.upper()} {{{{base}}}}{path.replace('{', ':').replace('}', '')}"
        for path, item in document["paths"].items()
        for method in item
        if method != "parameters"
    )
    assert {"key": "base", "value": client.base} in collection["variable"]


def test_its_script_signs(collection: dict[str, Any], client: Caller) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    [event] = collection["event"]
    assert event["script"]["exec"] == SIGN_SCRIPT.read_text().splitlines()
    [created] = [
        entry["request"]
        for folder in collection["item"]
        for entry in folder["item"]
        if entry["request"]["url"]["raw"] == "{{base}}/api/v1/engagements"
        and entry["request"]["method"] == "POST"
    ]
    path, body = "/api/v1/engagements", created["body"]["raw"]
    ran = subprocess.run(
        [
            node,
            "-e",
            SANDBOX % json.dumps(SIGN_SCRIPT.read_text()),
            path,
            body,
            client.api_key,
            client.secret,
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    headers = {"Content-Type": "application/json", **json.loads(ran.stdout)}
    for expected in (201, 401):  # The nonce is accepted once.
        answer = client.plain("POST", path, data=body.encode(), headers=headers)
        assert answer.status_code == expected, answer.text
