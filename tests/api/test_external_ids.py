"""External ids in the path of an upsert: accepted and refused keys."""

from typing import Any
from urllib.parse import quote

import pytest

from tests.caller import Caller, error_code, findings

pytestmark = pytest.mark.sql


def put(client: Caller, external_id: str, **fields: Any) -> dict[str, Any]:
    path = f"/imports/campaigns/{quote(external_id, safe='')}"
    answer = client.call("PUT", path, {"name": "N", **fields})
    assert answer.status_code in (200, 201), answer.text
    return dict(answer.json()["data"])


def test_any_visible_key_is_kept_unchanged(client: Caller) -> None:
    plain = ("a", "x" * 200, "Ünïcødé 🙂", "पुणे", "a..b", " a")
    for external_id in (*plain, "a b+c&d=e?f#g%h", "it's:;,@$!*()", '"<>"'):
        made = put(client, external_id, externalId=external_id)
        assert made["externalId"] == external_id
        assert put(client, external_id)["id"] == made["id"]


def test_a_key_is_normalised_to_composed_characters(client: Caller) -> None:
    composed = put(client, "caf\u00e9")
    apart = put(client, "cafe\u0301", externalId="cafe\u0301")
    assert apart["id"] == composed["id"]
    assert apart["externalId"] == "caf\u00e9"


@pytest.mark.parametrize(
    ("segment", "code"),
    [
        ("x" * 201, "LENGTH"),
        (quote("ü" * 201), "LENGTH"),
        ("a%00b", "FORMAT"),
        ("a%0Ab", "FORMAT"),
        ("a%7F", "FORMAT"),
        ("%C2%85", "FORMAT"),
        ("a%FFb", "FORMAT"),
    ],
)
def test_an_invalid_key_in_the_path_is_reported(
    shared_client: Caller, segment: str, code: str
) -> None:
    answer = shared_client.call("PUT", f"/imports/campaigns/{segment}", {"name": "A"})
    assert answer.status_code == 422
    assert findings(answer) == {"externalId": code}
    assert answer.json()["error"]["details"][0]["location"] == "path"


@pytest.mark.parametrize("path", ["campaigns/", "campaigns/a%2Fb", "campaigns", "parties/a"])
def test_a_path_without_a_valid_key_is_404(shared_client: Caller, path: str) -> None:
    answer = shared_client.call("PUT", f"/imports/{path}", {"name": "A"})
    assert answer.status_code == 404
    assert error_code(answer) == "RESOURCE_NOT_FOUND"
