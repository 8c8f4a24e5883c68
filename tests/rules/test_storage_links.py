"""Links to object storages: signed as the providers' own clients sign them."""

from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
import time_machine
from botocore.auth import S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from app.core.storage.objects import Upload
from app.core.storage.providers import AzureContainer, S3Bucket

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
BUCKET = S3Bucket(
    bucket="calls",
    region="eu-central-1",
    endpoint="http://10.0.0.7:9000",
    public_endpoint="https://files.example.com",
    access_key="AKIDEXAMPLE",
    secret="secret/with+signs=",
)
DISPOSITION = "attachment; filename=\"a b.wav\"; filename*=UTF-8''%C3%A4%20b.wav"


def signed_by_botocore(method: str, url: str, headers: dict[str, str]) -> str:
    request = AWSRequest(method=method, url=url, headers=headers)
    credentials = Credentials(BUCKET.access_key, BUCKET.secret)
    S3SigV4QueryAuth(credentials, "s3", BUCKET.region, expires=600).add_auth(request)
    return str(request.url)


@pytest.mark.parametrize("sha256", ["", "ab" * 32])
@time_machine.travel(NOW, tick=False)
def test_an_upload_link_of_s3_fixes_size_type_and_hash(sha256: str) -> None:
    upload = Upload("aud_1", "audio/wav", 1234, sha256, NOW + timedelta(minutes=10))
    link = BUCKET.upload_link("some/_1/aud_1", upload)
    headers = {**link.headers, "Content-Length": "1234"}
    expected = signed_by_botocore("PUT", f"{BUCKET.public_endpoint}/calls/some/_1/aud_1", headers)
    assert parse_qs(urlsplit(link.url).query) == parse_qs(urlsplit(expected).query)
    assert link.url.partition("?")[0] == expected.partition("?")[0]
    assert ("x-amz-checksum-sha256" in link.headers) == bool(sha256)


@time_machine.travel(NOW, tick=False)
def test_a_read_link_of_s3_names_type_and_file() -> None:
    link = BUCKET.read_link(
        "aud_1", NOW + timedelta(minutes=10), content_type="audio/wav", disposition=DISPOSITION
    )
    unsigned, query = link.partition("?")[0], parse_qs(urlsplit(link).query)
    assert query["response-content-disposition"] == [DISPOSITION]
    shown = "&".join(part for part in link.partition("?")[2].split("&") if part[:9] == "response-")
    expected = signed_by_botocore("GET", f"{unsigned}?{shown}", {})
    assert query == parse_qs(urlsplit(expected).query)


def test_a_link_of_azure_requires_tls_unless_the_endpoint_has_none() -> None:
    for endpoint, protocols in (
        ("https://acme.blob.core.windows.net", ["https"]),
        ("http://127.0.0.1:10000/acme", ["https,http"]),
    ):
        container = AzureContainer("acme", "calls", endpoint, key="a2V5")
        link = container.read_link("aud_1", NOW, content_type="audio/wav", disposition=DISPOSITION)
        query = parse_qs(urlsplit(link).query)
        assert query["spr"] == protocols
        assert (query["sp"], query["se"]) == (["r"], ["2026-03-01T12:00:00Z"])
        assert link.startswith(f"{endpoint}/calls/aud_1?")
