"""Authentication: accepted and refused requests, the order of checks, and the headers."""

import hashlib
import hmac
import json
import os
import socket
import subprocess
import time
from collections.abc import Callable
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path

import pytest
import requests
import time_machine
from sqlalchemy import text

from app.core.clock import utc_now
from app.core.hosts import WORKER, Heartbeat
from app.core.runtime import Runtime
from app.core.setting_parsers import RateLimit
from tests.caller import SCHEME, Caller, error_code, send_chunked


def test_health_needs_no_key(client: Caller) -> None:
    for path in ("/health", "/api/v1/health", "/v1/health"):
        answer = client.plain("GET", path)
        assert answer.status_code == 200
        assert set(answer.json()) == {"status", "time", "checks"}


def test_health_is_degraded_without_a_worker(
    client: Caller, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert client.plain("GET", "/health").json()["status"] == "starting"
    monkeypatch.setattr("app.web.health._STARTED_WITHIN_S", 0)
    absent = client.plain("GET", "/health").json()
    assert absent["status"] == "degraded"
    assert absent["checks"] == {
        "database": "ok",
        "masterKeys": "ok",
        "clock": "ok",
        "queue": "ok",
        "sharedQueue": "ok",
        "worker": "failing",
        "storage": "ok",
        "disk": "ok",
    }
    Heartbeat(runtime.db, WORKER).beat()
    time.sleep(1.05)  # an answer is kept for a second
    assert client.plain("GET", "/health").json()["status"] == "ok"


def test_health_is_503_with_tables_of_another_version(client: Caller, runtime: Runtime) -> None:
    with runtime.db.writing() as session:
        session.execute(text("UPDATE alembic_version SET version_num = 'older'"))
    answer = client.plain("GET", "/health")
    assert answer.status_code == 503
    assert error_code(answer) == "SERVICE_UNAVAILABLE"


def test_both_bases_serve_the_same(client: Caller) -> None:
    made = client.post("/v1/engagements", {"name": "A", "type": "qa"}).json()["data"]
    assert client.get(f"/api/v1/engagements/{made['id']}").json()["data"] == made


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Api-Key": "nonsense"},
        {"X-Api-Key": "cqek_9fQ2mZ7xT4bW1kL8pR3vN6yC5dH0sJ2f7ixY"},
        {"X-Api-Key": "cqek_9fQ2mZ7xT4bW1kL8pR3vN6yC5dH0sJ2f7ixZ"},
        {"Authorization": "Bearer cqek_9fQ2mZ7xT4bW1kL8pR3vN6yC5dH0sJ2f7ixZ"},
        {"Authorization": "Basic Zm9vOmJhcg=="},
    ],
)
def test_missing_malformed_and_unknown_keys_are_401(
    shared_client: Caller, headers: dict[str, str]
) -> None:
    answer = shared_client.plain("GET", "/api/v1/engagements", headers=headers)
    assert answer.status_code == 401
    assert error_code(answer) == "INVALID_API_KEY"
    assert answer.headers["WWW-Authenticate"] == "CQE1-HMAC-SHA256, Bearer"
    assert "Date" in answer.headers


def test_two_different_keys_are_refused(client: Caller) -> None:
    other = {"Authorization": "Bearer cqek_9fQ2mZ7xT4bW1kL8pR3vN6yC5dH0sJ2f7ixZ"}
    assert error_code(client.get("/engagements", headers=other)) == "INVALID_API_KEY"


def test_the_key_is_never_read_from_the_query(client: Caller) -> None:
    answer = client.plain("GET", f"/api/v1/engagements?X-Api-Key={client.api_key}")
    assert error_code(answer) == "INVALID_API_KEY"


@pytest.mark.parametrize("change", ["method", "target", "body", "timestamp", "nonce", "secret"])
def test_a_change_of_any_signed_part_breaks_the_signature(client: Caller, change: str) -> None:
    now = int(time.time())
    if change == "secret":
        client.secret = client.secret[:-1] + ("A" if client.secret[-1] != "A" else "B")
        answer = client.get("/engagements")
    elif change == "timestamp":
        answer = client.get("/engagements", timestamp=now - 5, headers={"X-Timestamp": str(now)})
    elif change == "nonce":
        answer = client.get("/engagements", nonce="one", headers={"X-Nonce": "two"})
    else:
        signed = client.post("/engagements", {"name": "A", "type": "qa"}).request
        method = "PUT" if change == "method" else "POST"
        path = "/api/v1/engagements" + ("?a=1" if change == "target" else "")
        body = b'{"name":"B","type":"qa"}' if change == "body" else signed.body
        answer = client.plain(method, path, data=body, headers=dict(signed.headers))
    assert answer.status_code == 401
    assert error_code(answer) == "INVALID_SIGNATURE"


@pytest.mark.parametrize("body", [b"", b'{"name":"B"}'])
def test_a_wrong_signature_is_answered_with_the_lines_as_received(
    client: Caller, body: bytes
) -> None:
    path = "/api/v1/engagements?q=a%20b&x=%2F"
    answer = client.call("POST", path, body, nonce="n3", headers={"X-Signature": "ab" * 32})
    [detail] = answer.json()["error"]["details"]
    assert detail == {
        "location": "headers",
        "field": "X-Signature",
        "timestamp": answer.request.headers["X-Timestamp"],
        "nonce": "n3",
        "method": "POST",
        "path": path,
        "bodySha256": hashlib.sha256(body).hexdigest(),
    }
    signed = "\n".join([SCHEME, *list(detail.values())[2:]])
    expected = hmac.new(client.secret.encode(), signed.encode(), "sha256").hexdigest()
    assert expected not in answer.text
    assert client.secret not in answer.text
    repeated = client.call(
        "POST",
        path,
        body,
        nonce="n3",
        headers={"X-Signature": expected, "X-Timestamp": detail["timestamp"]},
    )
    assert error_code(repeated) != "INVALID_SIGNATURE"


def test_a_path_that_is_not_ascii_is_shown_escaped(client: Caller) -> None:
    """Sent raw: HTTP libraries would percent-encode it."""
    headers = "".join(
        f"{name}: {value}\r\n"
        for name, value in {
            "Host": "localhost",
            "Connection": "close",
            "X-Api-Key": client.api_key,
            "X-Timestamp": str(int(time.time())),
            "X-Signature": "ab" * 32,
        }.items()
    )
    port = int(client.base.rsplit(":", 1)[1])
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(f"GET /api/v1/engagements?q=é HTTP/1.1\r\n{headers}\r\n".encode())
        answer = connection.makefile("rb").read()
    assert b"401" in answer.split(b"\r\n")[0]
    error = json.loads(answer.split(b"\r\n\r\n", 1)[1])["error"]
    assert error["details"][0]["path"].startswith("/api/v1/engagements?q=\\xc3\\x")


@pytest.mark.parametrize("skew", [-301, 302, -86400])
def test_a_timestamp_outside_of_the_window_is_answered_with_the_time(
    shared_client: Caller, skew: int
) -> None:
    answer = shared_client.get("/engagements", timestamp=int(time.time()) + skew)
    assert answer.status_code == 401
    assert error_code(answer) == "TIMESTAMP_EXPIRED"
    [detail] = answer.json()["error"]["details"]
    assert detail["field"] == "X-Timestamp"
    assert abs(int(detail["serverTime"]) - time.time()) < 5


def test_a_timestamp_inside_of_the_window_is_accepted(client: Caller) -> None:
    assert client.get("/engagements", timestamp=int(time.time()) - 290).status_code == 200
    assert client.get("/engagements", timestamp=int(time.time()) + 290).status_code == 200


def test_the_documented_shell_client_is_accepted(client: Caller) -> None:
    page = (Path(__file__).parents[2] / "docs" / "authentication.md").read_text()
    _, script = page.split("```bash\nBASE=")[1].split("```")[0].split("\n", 1)
    script += """echo; call POST /api/v1/engagements '{"name":"Zoë ☕","type":"qa"}'"""
    values = {"BASE": client.base, "KEY": client.api_key, "SECRET": client.secret}
    ran = subprocess.run(
        ["bash", "-euc", script], env={**os.environ, **values}, capture_output=True, check=True
    )
    evaluations, engagement = (json.loads(line) for line in ran.stdout.decode().splitlines())
    assert evaluations["data"] == []
    assert engagement["data"]["name"] == "Zoë ☕"


def test_a_nonce_works_once(client: Caller) -> None:
    assert client.get("/engagements", nonce="n1").status_code == 200
    again = client.get("/engagements", nonce="n1")
    assert again.status_code == 401
    assert "X-Nonce" in again.json()["error"]["message"]


def test_a_wrong_signature_does_not_use_up_the_nonce(client: Caller) -> None:
    wrong = client.get("/engagements", nonce="n2", headers={"X-Signature": "ab" * 32})
    assert error_code(wrong) == "INVALID_SIGNATURE"
    assert client.get("/engagements", nonce="n2").status_code == 200


def test_a_key_can_require_nonces_for_changes(
    base: str, make_caller: Callable[..., Caller]
) -> None:
    strict = make_caller(base, require_nonce=True)
    body = {"name": "A", "type": "qa"}
    assert strict.get("/engagements").status_code == 200
    assert error_code(strict.post("/engagements", body)) == "INVALID_SIGNATURE"
    assert strict.post("/engagements", body, nonce="x").status_code == 201


def test_bearer_is_accepted_where_the_policy_says(
    base: str, make_caller: Callable[..., Caller]
) -> None:
    for policy, path, passes in (
        ("default", "/api/v1/engagements", True),
        ("default", "/v1/usage/by-key", True),
        ("default", "/v1/api-keys", False),
        ("required", "/api/v1/engagements", False),
        ("optional", "/api/v1/engagements", True),
        ("optional", "/api/v1/api-keys", False),
        ("optional", "/v1/api-keys", False),
        ("optional", "/api/v1/%61pi-keys", False),
        ("default", "/api/v1/%75sage/by-key", True),
    ):
        caller = make_caller(base, signature_policy=policy)
        headers = {"Authorization": f"Bearer {caller.api_key}"}
        answer = caller.plain("GET", path, headers=headers)
        assert answer.status_code == (200 if passes else 401), (policy, path)
        if not passes:
            assert error_code(answer) == "INVALID_SIGNATURE"


def test_an_unknown_route_is_404_with_bearer(base: str, make_caller: Callable[..., Caller]) -> None:
    caller = make_caller(base)
    headers = {"Authorization": f"Bearer {caller.api_key}"}
    answer = caller.plain("GET", "/api/v1/engagements/eng_1", headers=headers)
    assert error_code(answer) == "RESOURCE_NOT_FOUND"


def test_a_key_header_alone_is_not_enough(client: Caller) -> None:
    headers = {"X-Api-Key": client.api_key}
    answer = client.plain("GET", "/api/v1/engagements", headers=headers)
    assert error_code(answer) == "INVALID_SIGNATURE"


def test_a_signature_sent_with_bearer_is_verified(client: Caller) -> None:
    headers = {
        "Authorization": f"Bearer {client.api_key}",
        "X-Timestamp": str(int(time.time())),
        "X-Signature": "ab" * 32,
    }
    answer = client.plain("GET", "/api/v1/engagements", headers=headers)
    assert error_code(answer) == "INVALID_SIGNATURE"


def test_scope_is_checked_before_the_body(base: str, make_caller: Callable[..., Caller]) -> None:
    reader = make_caller(base, scopes=["engagements:read"])
    answer = reader.post("/engagements", b"not json")
    assert answer.status_code == 403
    assert error_code(answer) == "INSUFFICIENT_SCOPE"


def test_an_unknown_route_is_404_only_after_authentication(client: Caller) -> None:
    assert client.plain("GET", "/api/v1/nothing").status_code == 401
    assert client.plain("GET", "/api/v1").status_code == 401
    assert error_code(client.get("/nothing")) == "RESOURCE_NOT_FOUND"
    assert error_code(client.plain("GET", "/elsewhere")) == "RESOURCE_NOT_FOUND"
    assert error_code(client.get("/engagements/")) == "RESOURCE_NOT_FOUND"


def test_a_wrong_method_is_answered_with_the_allowed_ones(client: Caller) -> None:
    assert client.plain("PUT", "/api/v1/engagements").status_code == 401
    answer = client.call("PUT", "/engagements", {})
    assert error_code(answer) == "METHOD_NOT_ALLOWED"
    assert answer.headers["Allow"] == "GET, HEAD, OPTIONS, POST"


def test_options_needs_no_key_and_returns_only_allow(client: Caller) -> None:
    answer = client.plain("OPTIONS", "/api/v1/engagements")
    assert answer.status_code in (200, 204)
    assert answer.content == b""
    assert "POST" in answer.headers["Allow"]


def test_head_is_get_without_a_body(client: Caller) -> None:
    answer = client.call("HEAD", "/engagements")
    assert answer.status_code == 200
    assert answer.content == b""
    assert int(answer.headers["Content-Length"]) > 0


@pytest.mark.parametrize(
    ("allowlist", "passes"),
    [(["127.0.0.0/8"], True), (["10.0.0.0/8", "::1/128"], False), ([], True)],
)
def test_an_allowlist_decides_by_address(
    base: str, make_caller: Callable[..., Caller], allowlist: list[str], passes: bool
) -> None:
    answer = make_caller(base, ip_allowlist=allowlist).get("/engagements")
    assert answer.status_code == (200 if passes else 403)
    if not passes:
        assert error_code(answer) == "IP_NOT_ALLOWED"


@pytest.mark.parametrize(
    ("forwarded", "passes"),
    [
        ("203.0.113.7", True),
        ("203.0.113.7:4711", True),
        ("198.51.100.1, 203.0.113.7", True),
        ("203.0.113.7, 198.51.100.1", False),
        ("203.0.113.7, 127.0.0.1", True),
        ("nonsense", False),
        ("", False),
    ],
)
def test_the_address_forwarded_by_a_trusted_proxy_counts(
    serve: Callable[..., str], make_caller: Callable[..., Caller], forwarded: str, passes: bool
) -> None:
    base = serve(trusted_proxies=(ip_network("127.0.0.0/8"),))
    caller = make_caller(base, ip_allowlist=["203.0.113.0/24"])
    headers = {"X-Forwarded-For": forwarded, "X-Forwarded-Proto": "https"}
    answer = caller.get("/engagements", headers=headers)
    assert answer.status_code == (200 if passes else 403)


def test_a_forwarded_address_of_anyone_else_is_ignored(
    base: str, make_caller: Callable[..., Caller]
) -> None:
    caller = make_caller(base, ip_allowlist=["203.0.113.0/24"])
    answer = caller.get("/engagements", headers={"X-Forwarded-For": "203.0.113.7"})
    assert error_code(answer) == "IP_NOT_ALLOWED"


def test_plain_http_through_a_proxy_is_refused(
    serve: Callable[..., str], make_caller: Callable[..., Caller]
) -> None:
    base = serve(trusted_proxies=(ip_network("127.0.0.0/8"),))
    answer = make_caller(base).get("/engagements", headers={"X-Forwarded-Proto": "http"})
    assert answer.status_code == 403
    assert "https" in answer.json()["error"]["message"]


def test_the_rate_limit_allows_exactly_its_number(
    serve: Callable[..., str], make_caller: Callable[..., Caller]
) -> None:
    base = serve(rate=RateLimit(5, 60))
    caller = make_caller(base)
    answers = [caller.get("/engagements") for _ in range(7)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429] * 2
    first, refused = answers[0], answers[5]
    assert first.headers["RateLimit-Policy"] == '"default";q=5;w=60'
    assert first.headers["RateLimit"].startswith('"default";r=4;t=')
    assert refused.headers["X-RateLimit-Remaining"] == "0"
    assert error_code(refused) == "RATE_LIMIT_EXCEEDED"
    assert refused.json()["error"]["retryAfter"] == int(refused.headers["Retry-After"])
    assert 1 <= int(refused.headers["Retry-After"]) <= 12


def test_a_clock_that_is_set_back_locks_nobody_out(
    serve: Callable[..., str], make_caller: Callable[..., Caller]
) -> None:
    caller = make_caller(serve(rate=RateLimit(2, 60)))
    with time_machine.travel(utc_now() + timedelta(hours=1)):
        answers = [caller.get("/engagements").status_code for _ in range(3)]
    assert answers == [200, 200, 429]
    assert caller.get("/engagements").status_code == 200


def test_a_large_body_counts_as_a_request_for_each_64_kib(
    serve: Callable[..., str], make_caller: Callable[..., Caller]
) -> None:
    caller = make_caller(serve(rate=RateLimit(10, 60)))
    padding = " " * (3 * 64 * 1024)
    answer = caller.post("/engagements", f'{{"name":"A","type":"qa"}}{padding}'.encode())
    assert answer.status_code == 201
    assert answer.headers["X-RateLimit-Remaining"] == "6"


def test_requests_with_a_wrong_signature_do_not_use_up_the_rate_limit(
    serve: Callable[..., str], make_caller: Callable[..., Caller]
) -> None:
    caller = make_caller(serve(rate=RateLimit(2, 60)))
    for _ in range(5):
        caller.get("/engagements", headers={"X-Signature": "ab" * 32})
    assert caller.get("/engagements").status_code == 200


def test_failed_authentications_of_one_address_are_limited(
    serve: Callable[..., str], make_caller: Callable[..., Caller]
) -> None:
    base = serve(
        trusted_proxies=(ip_network("127.0.0.0/8"),), rate_limit_auth_failures=RateLimit(2, 60)
    )
    caller = make_caller(base)

    def from_address(address: str, **headers: str) -> int:
        forwarded = {"X-Forwarded-For": address, "X-Forwarded-Proto": "https"}
        return caller.get("/engagements", headers={**forwarded, **headers}).status_code

    wrong = {"X-Signature": "ab" * 32}
    assert [from_address("203.0.113.7", **wrong) for _ in range(3)] == [401, 401, 429]
    assert from_address("203.0.113.7") == 200
    assert from_address("203.0.113.8", **wrong) == 401
    assert [from_address("127.0.0.1", **wrong) for _ in range(3)] == [401] * 3
    of_one_64 = [from_address(f"2001:db8:1:1::{number}", **wrong) for number in range(3)]
    assert of_one_64 == [401, 401, 429]
    of_one_48 = [from_address(f"2001:db8:2:{number}::1", **wrong) for number in range(9)]
    assert of_one_48 == [401] * 8 + [429]


def test_changing_keys_has_a_tighter_limit(
    serve: Callable[..., str], make_caller: Callable[..., Caller]
) -> None:
    caller = make_caller(serve(rate_limit_keys=RateLimit(1, 60)))
    body = {"name": "x", "scopes": ["usage:read"]}
    assert caller.post("/api-keys", body).status_code == 201
    refused = caller.post("/api-keys", body)
    assert refused.status_code == 429
    assert '"keys";q=1;w=60' in refused.headers["RateLimit-Policy"]
    assert caller.get("/api-keys").status_code == 200


def test_a_body_without_length_is_411(client: Caller) -> None:
    signed = client.post("/engagements", {"name": "A", "type": "qa"}).request
    headers = {name: value for name, value in signed.headers.items() if name != "Content-Length"}
    url = f"{client.base}/api/v1/engagements"
    answer = send_chunked("POST", url, headers, b'{"name":"A","type":"qa"}')
    assert answer == (411, "LENGTH_REQUIRED")


def test_a_body_over_one_mebibyte_is_413(client: Caller) -> None:
    answer = client.post("/engagements", b" " * (1024 * 1024 + 1))
    assert answer.status_code == 413
    assert error_code(answer) == "PAYLOAD_TOO_LARGE"


def test_answers_are_not_stored_and_not_sniffed(client: Caller, runtime: Runtime) -> None:
    answer = client.get("/engagements")
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_only_health_is_answered_without_tls_to_other_machines(serve: Callable[..., str]) -> None:
    base = serve(trusted_proxies=(ip_network("127.0.0.0/8"),))
    plain = {"X-Forwarded-For": "10.0.0.1", "X-Forwarded-Proto": "http"}
    for path in ("/health", "/health/live", "/health/ready"):
        assert requests.get(f"{base}{path}", headers=plain).status_code == 200
    refused = requests.get(f"{base}/api/v1/engagements", headers=plain)
    assert (refused.status_code, error_code(refused)) == (403, "TLS_REQUIRED")
