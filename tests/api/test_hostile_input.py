"""Hostile bodies and headers: each gets its 4xx in the envelope, none a 500."""

import pytest

from tests.caller import Caller, error_code, findings

GOOD = b'{"name":"A","type":"qa"}'
BOM = b"\xef\xbb\xbf"


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"not json",
        b'{"name":"A","type":"qa",}',
        b"[]",
        b'"text"',
        b"null",
        b"1",
        BOM + GOOD,
        b"\xff\xfe",
        b'{"name":"\xc3\x28","type":"qa"}',
        b'{"name":"A","name":"B","type":"qa"}',
        b'{"name":NaN,"type":"qa"}',
        b'{"name":Infinity,"type":"qa"}',
        b'{"name":-Infinity,"type":"qa"}',
        b'{"name":1e999,"type":"qa"}',
        b'{"name":' + b"1" * 20 + b',"type":"qa"}',
        b'{"name":' + b"9" * 5000 + b',"type":"qa"}',
        b'{"name":"\\ud800","type":"qa"}',
        b'{"name":"a\\u0000b","type":"qa"}',
        b'{"a\\u0000":1}',
        b"[" * 100_000,
        b'{"a":' * 1000 + b"1" + b"}" * 1000,
        b'{"a":' * 33 + b"1" + b"}" * 33,
    ],
    ids=range(23),
)
def test_what_is_not_plain_json_is_400(shared_client: Caller, body: bytes) -> None:
    answer = shared_client.post("/engagements", body)
    assert answer.status_code == 400
    assert error_code(answer) == "MALFORMED_REQUEST"


@pytest.mark.parametrize(
    "body",
    [
        b'{"name":9223372036854775807,"type":"qa"}',
        b'{"name":["A"],"type":{"a":{"b":{}}}}',
        b'{"name":true,"type":1.5}',
        b"{}",
    ],
)
def test_what_is_json_but_wrong_is_422(shared_client: Caller, body: bytes) -> None:
    answer = shared_client.post("/engagements", body)
    assert answer.status_code == 422
    assert error_code(answer) == "VALIDATION_ERROR"


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "application/vnd.api+json"},
        {"Content-Type": "application/json; charset=latin-1"},
        {"Content-Type": ""},
        {"Content-Encoding": "gzip"},
    ],
)
def test_only_plain_json_bodies_are_taken(shared_client: Caller, headers: dict[str, str]) -> None:
    answer = shared_client.post("/engagements", GOOD, headers=headers)
    assert answer.status_code == 415
    assert error_code(answer) == "UNSUPPORTED_MEDIA_TYPE"


def test_a_charset_of_utf_8_may_be_said(client: Caller) -> None:
    headers = {"Content-Type": "application/json; charset=UTF-8"}
    assert client.post("/engagements", GOOD, headers=headers).status_code == 201


def test_names_keep_their_letters_and_take_the_composed_form(client: Caller) -> None:
    body = {"name": "  Zoe\u0308 ☕ 通話 🎧  ", "type": "qa"}
    made = client.post("/engagements", body).json()["data"]
    assert made["name"] == "Zoë ☕ 通話 🎧"


@pytest.mark.parametrize(
    "path",
    [
        "/engagements?page=" + "9" * 400,
        "/engagements?sort=%00",
        "/engagements?sort=%ff%fe",
        "/engagements/%ff",
        "/engagements/" + "x" * 2000,
        "/engagements/..%2f..%2fetc%2fpasswd",
        "//engagements",
        "/engagements/%E2%80%AE",
        "/api-keys/%00/rotate",
        "/usage/by-key?billingPeriod=2026-13",
        "/usage/by-key?billingPeriod=%D9%A2%D9%A0%D9%A2%D9%A6-01",
    ],
)
def test_odd_paths_and_queries_are_4xx(shared_client: Caller, path: str) -> None:
    answer = shared_client.get(path)
    assert 400 <= answer.status_code < 500
    error_code(answer)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("q=caf%e9", "FORMAT"),
        ("q=%ff", "FORMAT"),
        ("minScore=-1", "RANGE"),
        ("maxScore=1000000000000", "RANGE"),
        ("minScore=1.5", "TYPE"),
    ],
)
def test_a_query_parameter_is_refused_for_its_true_reason(
    shared_client: Caller, query: str, code: str
) -> None:
    answer = shared_client.get(f"/evaluations?{query}")
    assert findings(answer) == {query.partition("=")[0]: code}


@pytest.mark.parametrize("key", ["", " ", "x" * 256, "a b", "ünïcode"])
def test_a_wrong_idempotency_key_is_named(shared_client: Caller, key: str) -> None:
    headers = {"Idempotency-Key": key.encode("latin-1")}
    answer = shared_client.post("/engagements", GOOD, headers=headers)
    assert answer.status_code == 422
    assert answer.json()["error"]["details"][0]["location"] == "headers"


@pytest.mark.parametrize(
    "name", ["X-Timestamp", "X-Signature", "X-Nonce"], ids=["timestamp", "signature", "nonce"]
)
@pytest.mark.parametrize("value", ["", "a,b", "é", "1" * 5000, "12 34", "\t1"])
def test_odd_signature_headers_are_401(shared_client: Caller, name: str, value: str) -> None:
    if (name, value) == ("X-Nonce", ""):
        pytest.skip("an empty nonce means none")
    answer = shared_client.get("/engagements", headers={name: value.encode("latin-1")})
    assert answer.status_code == 401
    assert error_code(answer) in ("INVALID_SIGNATURE", "TIMESTAMP_EXPIRED")


@pytest.mark.parametrize(
    "query",
    [
        "summary?to=0001-01-20",
        "summary?from=0001-01-01&to=0001-01-02&compare=previous_period",
        "executives?from=0001-01-01&to=0001-01-02&timezone=Asia/Tokyo",
        "agreement?to=0001-01-01",
        "trends?metric=score&granularity=month&from=9999-12-30&to=9999-12-31",
    ],
)
def test_periods_at_the_ends_of_the_calendar_are_422(shared_client: Caller, query: str) -> None:
    answer = shared_client.get(f"/analytics/{query}")
    assert set(findings(answer).values()) == {"RANGE"}
    assert answer.status_code == 422


def test_exports_reach_to_the_ends_of_the_calendar_where_lists_do(client: Caller) -> None:
    ends = {"from": "0001-01-01", "to": "9999-12-31", "timezone": "Asia/Tokyo", "format": "csv"}
    assert client.post("/analytics/export", {"dataset": "criteria", **ends}).status_code == 202
    figures = {"dataset": "trends", "format": "csv", "to": "0001-01-01"}
    assert findings(client.post("/analytics/export", figures)) == {"to": "RANGE"}


def test_letters_that_look_like_others_are_no_error(client: Caller) -> None:
    body = {"messages": [{"role": "customer", "text": "my pin is \u017feven s\u0131x one one"}]}
    answer = client.call("PUT", "/imports/conversations/letters?evaluate=false", body)
    assert answer.status_code == 201, answer.text
    messages = client.get(f"/conversations/{answer.json()['data']['id']}/messages").json()["data"]
    assert messages[0]["text"] == "my pin is [PASSCODE]"
