"""The wheel alone, without a checkout: it starts, judges, and shows its pages."""

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import requests

from tests.conversations import HELPFUL
from tests.waiting import wait_until
from tests.walks.service_process import ROOT, UP, ServiceProcess

SOURCES = ("pyproject.toml", "setup.cfg", "README.md", "LICENSE", "NOTICE", "wsgi.py", "worker.py")


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Build the wheel from a copy, and unpack it into a folder of its own."""
    sources, wheels, site = tmp_path / "sources", tmp_path / "wheels", tmp_path / "site"
    for folder in ("app", "migrations"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, sources / folder, ignore=ignored)
    for file in SOURCES:
        shutil.copy(ROOT / file, sources)
    subprocess.run(
        [
            sys.executable,
            "-c",
            f"from setuptools import build_meta as b; b.build_wheel({str(wheels)!r})",
        ],
        cwd=sources,
        check=True,
        capture_output=True,
    )
    shutil.rmtree(sources)
    [wheel] = wheels.iterdir()
    zipfile.ZipFile(wheel).extractall(site)
    return site


@pytest.mark.nightly("builds a wheel and an environment")
def test_the_service_runs_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    service = ServiceProcess(tmp_path / "instance", command=UP, PYTHONPATH=str(installed))
    try:
        where = [sys.executable, "-P", "-c", "import app, migrations; print(app, migrations)"]
        imported = subprocess.check_output(where, env=service.environment, text=True)
        assert (imported.count(str(installed)), str(ROOT) in imported) == (2, False)
        client = service.wait_ready().caller()
        messages = [{"role": role, "text": text} for role, text in HELPFUL]
        made = client.call("PUT", "/imports/conversations/chat-1", {"messages": messages})
        evaluation = f"/evaluations/{made.json()['data']['evaluationId']}"
        wait_until(lambda: client.get(evaluation).json()["data"]["status"] == "completed")
        sign_in = requests.get(f"{client.base}/sign-in", timeout=30).text
        styles = re.search(r'"(/assets/[^"]+css)"', sign_in)
        assert styles
        for page in (styles[1], "/docs", "/openapi.json"):
            assert requests.get(f"{client.base}{page}", timeout=30).status_code == 200
    finally:
        service.end()
