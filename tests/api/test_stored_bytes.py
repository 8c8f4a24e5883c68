"""Storage is metered with the upload that takes it up."""

from tests.caller import Caller
from tests.recordings import upload


def test_an_upload_is_in_the_usage_at_once(client: Caller) -> None:
    upload(client, b"RIFF" + bytes(2_999_996))
    upload(client, b"RIFF" + bytes(1_499_996))
    summary = client.get("/usage/summary").json()
    assert summary["usage"]["storage_gb"]["used"] == 0.0045
    details = client.get("/usage/details?type=storage_gb").json()["data"]
    assert sum(detail["quantity"] for detail in details) == 0.0045
