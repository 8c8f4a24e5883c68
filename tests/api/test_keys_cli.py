"""Commands of API keys: `keys create` and `keys list`."""

import json

import pytest

from app.api_keys.cli import keys
from tests.caller import Caller
from tests.contacts import get
from tests.running import CommandRunner


def run(*arguments: str, code: int = 0) -> str:
    result = CommandRunner().invoke(keys, arguments)
    assert result.exit_code == code, result.output
    return str(result.output)


def test_a_key_is_created_with_every_option(client: Caller) -> None:
    options = ("--scopes", "usage:read, audio:read", "--ip-allowlist", "127.0.0.0/8, ::1")
    policy = ("--signature-policy", "optional", "--require-nonce")
    expiry = ("--expires-at", "2126-01-01T00:00:00+02:00")
    made = json.loads(run("create", "--name", "robot", *options, *policy, *expiry, "--json"))
    assert made["scopes"] == ["audio:read", "usage:read"]
    [record] = [key for key in get(client, "/api-keys") if key["id"] == made["id"]]
    assert record["ipAllowlist"] == ["127.0.0.0/8", "::1/128"]
    assert record["signaturePolicy"] == "optional"
    assert record["requireNonce"] is True
    assert record["expiresAt"] == "2125-12-31T22:00:00.000Z"
    robot = Caller(client.base, made["apiKey"], made["secret"])
    assert robot.get("/usage/summary").status_code == 200


@pytest.mark.parametrize(
    ("name", "scopes", "more", "field"),
    [
        ("", "*", (), "name"),
        ("x" * 201, "*", (), "name"),
        ("x", "", (), "scopes"),
        ("x", "usage:write", (), "scopes"),
        ("x", "*", ("--ip-allowlist", "10.0.0.1/8"), "ipAllowlist"),
        ("x", "*", ("--expires-at", "2126-01-01"), "expiresAt"),
    ],
)
def test_a_wrong_option_is_named(
    client: Caller, name: str, scopes: str, more: tuple[str, ...], field: str
) -> None:
    refusal = run("create", "--name", name, "--scopes", scopes, *more, code=1)
    assert f"Error: {field}" in refusal


def test_unused_keys_are_listed(client: Caller) -> None:
    shown = {key["id"] for key in get(client, "/api-keys")}
    assert {key["id"] for key in json.loads(run("list", "--json"))} == shown
    assert json.loads(run("list", "--unused-days", "1", "--json")) == []
    refusal = run("list", "--unused-days", "1000000000000", code=2)
    assert "--unused-days" in refusal
