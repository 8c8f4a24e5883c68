"""Cross-origin requests: allowed for the origins of the setting only, and for none by default."""

from collections.abc import Callable

import requests

CRM = "https://crm.example.com"
ALLOWED = "Access-Control-Allow-Origin"


def ask(method: str, address: str, origin: str) -> requests.Response:
    headers = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    return requests.request(method, address, headers=headers, timeout=30)


def test_pages_of_a_listed_origin_may_sign_and_read(serve: Callable[..., str]) -> None:
    base = serve(cors_origins=(CRM,))
    preflight = ask("OPTIONS", f"{base}/api/v1/engagements", CRM)
    assert preflight.status_code == 200
    assert preflight.headers[ALLOWED] == CRM
    assert "POST" in preflight.headers["Access-Control-Allow-Methods"]
    assert "X-Signature" in preflight.headers["Access-Control-Allow-Headers"]
    refused = ask("GET", f"{base}/v1/engagements", CRM)
    assert (refused.status_code, refused.headers[ALLOWED]) == (401, CRM)
    assert "X-Request-Id" in refused.headers["Access-Control-Expose-Headers"]
    assert "Access-Control-Allow-Credentials" not in refused.headers
    other = ask("OPTIONS", f"{base}/api/v1/engagements", "https://other.example.com")
    assert ALLOWED not in other.headers
    assert "Origin" in other.headers["Vary"]
    assert ALLOWED not in ask("GET", f"{base}/sign-in", CRM).headers


def test_without_the_setting_no_origin_is_allowed(base: str) -> None:
    answer = ask("OPTIONS", f"{base}/api/v1/engagements", CRM)
    assert ALLOWED not in answer.headers
