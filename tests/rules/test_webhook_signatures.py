"""The headers of a delivery, computed here once more from the words of the two definitions."""

import base64
import hashlib
import hmac
import re

from app.webhooks import signing

BODY = '{"id":"evt_1","data":{"text":"grüße"}}'.encode()


def headers(*secrets: str) -> dict[str, str]:
    return signing.headers(
        signing_secrets=secrets,
        event_id="evt_1",
        delivery_id="dlv_1",
        attempt=2,
        timestamp=1764000000,
        body=BODY,
    )


def standard_signature(secret: str, message_id: str, timestamp: str, body: bytes) -> str:
    """Standard Webhooks 1.0: `v1,` and base64 of HMAC-SHA256 over `id.timestamp.body`."""
    key = base64.b64decode(secret.split("_", 1)[1])
    content = message_id.encode() + b"." + timestamp.encode() + b"." + body
    return "v1," + base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()


def test_a_secret_is_32_random_bytes_behind_its_prefix() -> None:
    secret = signing.new_secret()
    assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{43}=", secret)
    assert len(base64.b64decode(secret.removeprefix("whsec_"))) == 32
    assert secret != signing.new_secret()


def test_the_body_is_signed_with_the_whole_secret_in_lower_case_hex() -> None:
    secret = signing.new_secret()
    expected = hmac.new(secret.encode("utf-8"), BODY, "sha256").hexdigest()
    assert headers(secret)["X-Webhook-Signature"] == expected


def test_a_known_vector() -> None:
    secret = "whsec_" + base64.b64encode(bytes(range(32))).decode()
    assert signing.sign_body(secret, b"{}") == (
        hmac.new(b"whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", b"{}", "sha256").hexdigest()
    )


def test_a_published_vector_of_standard_webhooks() -> None:
    signed = signing.sign_standard(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1614265330,
        b'{"test": 2432232314}',
    )
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_the_standard_signature_follows_its_formula() -> None:
    secret = signing.new_secret()
    sent = headers(secret)
    assert sent["webhook-signature"] == standard_signature(
        secret, sent["webhook-id"], sent["webhook-timestamp"], BODY
    )


def test_during_an_overlap_the_new_secret_comes_first_and_signs_the_body_alone() -> None:
    new, old = signing.new_secret(), signing.new_secret()
    sent = headers(new, old)
    assert sent["X-Webhook-Signature"] == signing.sign_body(new, BODY)
    assert sent["webhook-signature"].split(" ") == [
        standard_signature(new, "evt_1", "1764000000", BODY),
        standard_signature(old, "evt_1", "1764000000", BODY),
    ]


def test_the_ids_and_times_stand_in_both_families() -> None:
    sent = headers(signing.new_secret())
    assert sent["X-Webhook-Id"] == sent["webhook-id"] == "evt_1"
    assert sent["X-Webhook-Timestamp"] == sent["webhook-timestamp"] == "1764000000"
    assert sent["X-Webhook-Delivery"] == "dlv_1"
    assert sent["X-Webhook-Attempt"] == "2"
    assert sent["Content-Type"] == "application/json"
