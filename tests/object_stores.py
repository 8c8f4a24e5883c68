"""Object storages for tests: Azurite, which checks signatures, and moto's S3 server."""

import contextlib
import hmac
import os
import re
import shutil
import subprocess
import sys
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import boto3
import pytest
import requests

_AZURITE = os.environ.get("CQE_TEST_AZURITE") or shutil.which("azurite-blob") or ""
# The account and the key that every Azurite has.
_ACCOUNT = "devstoreaccount1"
_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


@dataclass
class ObjectStore:
    """A running server; `settings` make the service use it."""

    command: Sequence[str]
    folder: Path
    address: str = ""
    settings: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[str] | None = None

    def start(self, port: str = "0") -> None:
        """Start the server and wait for its address."""
        self.process = subprocess.Popen(
            [word.format(port=port) for word in self.command],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if told := re.search(r"(?:listens|Running) on (http://127\.0\.0\.1:\d+)", line):
                self.address = told[1]
                return
        raise AssertionError("the server has ended")

    def stop(self) -> None:
        """Kill the server."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


@contextlib.contextmanager
def azure(folder: Path) -> Iterator[ObjectStore]:
    """Start Azurite with an empty container."""
    if not _AZURITE:
        pytest.skip("Azurite is missing: npm install -g azurite")
    options = "--blobHost 127.0.0.1 --blobPort {port} --disableTelemetry --skipApiVersionCheck"
    store = ObjectStore([_AZURITE, *options.split()], folder)
    with _running(store):
        account = f"{store.address}/{_ACCOUNT}"
        made = requests.put(f"{account}/cqe-test?restype=container&{_account_sas()}", timeout=30)
        assert made.status_code == 201, made.text
        store.settings = {
            "storage_url": f"azure://{_ACCOUNT}/cqe-test/some?endpoint={account}",
            "storage_secret": _KEY,
        }
        yield store


@contextlib.contextmanager
def s3(folder: Path) -> Iterator[ObjectStore]:
    """Start an S3 server with an empty bucket; it does not check signatures."""
    store = ObjectStore([sys.executable, "-m", "moto.server", "-p", "{port}"], folder)
    with _running(store):
        client = boto3.client(
            "s3",
            endpoint_url=store.address,
            region_name="eu-central-1",
            aws_access_key_id="AKIDEXAMPLE",
            aws_secret_access_key="secret",
        )
        where = {"LocationConstraint": "eu-central-1"}
        client.create_bucket(Bucket="cqe-test", CreateBucketConfiguration=where)
        client.close()
        store.settings = {
            "storage_url": f"s3://cqe-test/some?region=eu-central-1&endpoint={store.address}",
            "storage_access_key": "AKIDEXAMPLE",
            "storage_secret": "secret",
        }
        yield store


@contextlib.contextmanager
def _running(store: ObjectStore) -> Iterator[None]:
    store.start()
    try:
        yield
    finally:
        store.stop()


def _account_sas() -> str:
    version, expiry, protocols = "2022-11-02", "2100-01-01T00:00:00Z", "https,http"
    lines = [_ACCOUNT, "c", "b", "c", "", expiry, "", protocols, version, "", ""]
    digest = hmac.digest(b64decode(_KEY), "\n".join(lines).encode(), "sha256")
    values = {"sv": version, "ss": "b", "srt": "c", "sp": "c", "se": expiry, "spr": protocols}
    return urlencode({**values, "sig": b64encode(digest).decode()})
