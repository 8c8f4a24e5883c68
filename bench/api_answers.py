"""Recorder of the answers in the OpenAPI document: `python -m bench.api_answers`.

Starts a service in a temporary folder, sends the sample requests in `app/web/openapi/requests.json`,
and writes the answers to `answers.json` next to it: ids, moments, addresses and secrets replaced by
fixed ones, long lists cut.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from app.web.openapi.examples import TAIL, examples_by_name
from tests.api_story import Story
from tests.caller import Caller
from tests.waiting import wait_until
from tests.walks.service_process import ROOT, ServiceProcess

FILE = ROOT / "app" / "web" / "openapi" / "answers.json"
# Lists that show their kind by this many items.
MOST_ITEMS = 2
SECRETS = {"apiKey", "secret", "signing_secret", "keyPrefix", "sha256", "requestId"}
_ID = re.compile(r"\b([a-z]+)_[0-7][0-9a-hjkmnp-tv-z]{25}\b")


def tidy(value: Any, base: str, name: str = "") -> Any:
    """Return a recorded value without what differs from one recording to the next."""
    if isinstance(value, dict):
        return {key: tidy(member, base, key) for key, member in value.items()}
    if isinstance(value, list):
        return [tidy(item, base, name) for item in value[:MOST_ITEMS]]
    if not isinstance(value, str):
        return value
    if name in SECRETS and name in examples_by_name():
        return examples_by_name()[name]
    text = _ID.sub(rf"\1_{TAIL}", value).replace(base, "https://cqe.example.com")
    return re.sub(r"(sig=|whsec_)[\w+/=-]+", r"\1Zm9vYmFy", text)


def main() -> None:
    """Record the answers of a service that runs as `up` starts it."""
    printed = subprocess.run(
        [sys.executable, "-P", "-m", "app.cli", "openapi"], capture_output=True, check=True
    )
    document = json.loads(printed.stdout)
    with tempfile.TemporaryDirectory() as folder:
        process = ServiceProcess(
            Path(folder) / "instance", CQE_WEBHOOK_ALLOWED_CIDRS="127.0.0.0/8"
        ).wait_ready()
        try:
            caller = process.caller()
            receiver = {"hooks.example.com": "127.0.0.1"}
            story = Story(document, caller, lambda: wait_until(lambda: done(caller), 60), receiver)
            story.tell()
        finally:
            process.end()
    answers = {
        name: {"status": answer["status"], "body": tidy(answer["body"], caller.base)}
        for name, answer in sorted(story.answers.items())
        if answer["body"] is not None
    }
    text = json.dumps(answers, indent=1, ensure_ascii=False)
    FILE.write_text(text.replace("127.0.0.1/cqe", "hooks.example.com/cqe") + "\n")
    print(f"{len(answers)} answers in {FILE.relative_to(ROOT)}")


def done(caller: Caller) -> bool:
    """Return whether everything that was sent has been judged."""
    evaluations = caller.get("/evaluations").json()["data"]
    return bool(evaluations) and all(row["status"] == "completed" for row in evaluations)


if __name__ == "__main__":
    main()
