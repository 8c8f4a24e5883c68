"""Request signatures `CQE1-HMAC-SHA256`: the signed text, and its verification."""

import hashlib
import hmac
import re
from urllib.parse import urlsplit

SCHEME = "CQE1-HMAC-SHA256"
TIMESTAMP_FORM = re.compile(r"[0-9]{1,15}", re.ASCII)
NONCE_FORM = re.compile(r"[A-Za-z0-9._~-]{1,64}", re.ASCII)
SIGNATURE_FORM = re.compile(r"[0-9A-Fa-f]{64}", re.ASCII)


def string_to_sign(*, timestamp: str, nonce: str, method: str, target: str, body: bytes) -> str:
    """Join the six signed lines.

    Args:
        nonce: empty when the header is absent.
        method: as on the request line, upper case.
        target: path and query exactly as sent, with no scheme and host.
        body: the bytes on the wire, may be empty.
    """
    return "\n".join([SCHEME, timestamp, nonce, method, target, body_digest(body)])


def body_digest(body: bytes) -> str:
    """Return the last signed line: the hex SHA-256 of the body."""
    return hashlib.sha256(body).hexdigest()


def sign(secret: str, message: str) -> str:
    """Return the lower-case hex HMAC-SHA256 keyed with the whole secret string, prefix included."""
    return hmac.new(
        secret.encode(), message.encode("utf-8", "surrogateescape"), "sha256"
    ).hexdigest()


def verify(secret: str, message: str, signature: str) -> bool:
    """Compare in constant time; anything but 64 hex digits does not match."""
    if not SIGNATURE_FORM.fullmatch(signature):
        return False
    return hmac.compare_digest(bytes.fromhex(sign(secret, message)), bytes.fromhex(signature))


def request_target(raw_uri: str) -> str:
    """Reduce an absolute-form request target to path and query; leave any other as it is."""
    if raw_uri.startswith(("http://", "https://")):
        parts = urlsplit(raw_uri)
        return raw_uri[len(parts.scheme) + 3 + len(parts.netloc) :] or "/"
    return raw_uri
