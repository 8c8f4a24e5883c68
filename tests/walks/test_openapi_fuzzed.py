"""The OpenAPI document as a promise: generated requests, signed, find no answer outside of it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from app.core.setting_parsers import RateLimit
from tests.caller import Caller
from tests.sampling import NIGHTLY, sample
from tests.walks.service_process import ROOT

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not find_spec("schemathesis"), reason="schemathesis is not installed"),
]

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)
ALL_PATHS = sorted(json.loads((ROOT / "openapi.json").read_text())["paths"])
PATHS = ALL_PATHS if NIGHTLY else sample(ALL_PATHS)[::2]
CONFIG = Path(__file__).parent / "schemathesis.toml"
# A run must not take its own key away; versions of scorecards take the body that scorecards take,
# the largest of all.
LEFT_ALONE = r"api-keys/\{key_id\}|scorecards/\{scorecard_id\}/versions"


def test_no_answer_breaks_the_documents_promises(
    serve: Callable[..., str], make_caller: Callable[..., Caller], tmp_path: Path
) -> None:
    much = RateLimit(1_000_000, 60)
    caller = make_caller(serve(rate=much, rate_limit_keys=much, rate_limit_expensive=much))
    ran = subprocess.run(
        [
            *(Path(sys.executable).parent / "st", "--config-file", CONFIG),
            *("run", ROOT / "openapi.json", "--url", caller.base, "--request-timeout", "60"),
            *("--checks", ",".join(CHECKS), "--phases", "coverage,fuzzing"),
            *("--max-examples", "3", "--seed", "20261121", "--no-color"),
            *("--exclude-path-regex", LEFT_ALONE, "--exclude-method", "DELETE"),
            *(f"--include-path={path}" for path in PATHS),
        ],
        env={
            **os.environ,
            "SCHEMATHESIS_HOOKS": "tests.walks.signing_hook",
            "PYTHONPATH": str(ROOT),
            "CALLER_KEY": caller.api_key,
            "CALLER_SECRET": caller.secret,
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
    # Calls are metered only if their signature is valid: the run was authenticated.
    assert caller.get("/usage/summary").json()["usage"]["calls"]["used"] > len(PATHS)
