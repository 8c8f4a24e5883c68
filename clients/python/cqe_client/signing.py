"""Request signatures `CQE1-HMAC-SHA256`."""

import hashlib
import hmac
import time
import uuid

SCHEME = "CQE1-HMAC-SHA256"


def signed_headers(
    api_key: str,
    secret: str,
    method: str,
    target: str,
    body: bytes = b"",
    *,
    timestamp: str | None = None,
    nonce: str | None = None,
) -> dict[str, str]:
    """Return the headers that authenticate one request.

    Args:
        target: path and query exactly as sent, without scheme and host.
        timestamp: Unix time in seconds; the present by default.
        nonce: a random one by default; an empty one is not sent.
    """
    timestamp = str(int(time.time())) if timestamp is None else timestamp
    nonce = uuid.uuid4().hex if nonce is None else nonce
    digest = hashlib.sha256(body).hexdigest()
    lines = "\n".join([SCHEME, timestamp, nonce, method, target, digest])
    signature = hmac.new(secret.encode(), lines.encode(), hashlib.sha256).hexdigest()
    headers = {"X-Api-Key": api_key, "X-Timestamp": timestamp, "X-Signature": signature}
    return {**headers, "X-Nonce": nonce} if nonce else headers
