"""A caller of the API: signs as the documentation says, over real sockets."""

import hashlib
import hmac
import json
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPResponse
from typing import Any
from urllib.parse import urlsplit

import requests

SCHEME = "CQE1-HMAC-SHA256"


def signature(
    secret: str, timestamp: str, nonce: str, method: str, target: str, body: bytes
) -> str:
    lines = [SCHEME, timestamp, nonce, method, target, hashlib.sha256(body).hexdigest()]
    return hmac.new(secret.encode(), "\n".join(lines).encode(), hashlib.sha256).hexdigest()


@dataclass
class Caller:
    """Holds one key pair and the service's address."""

    base: str
    api_key: str
    secret: str
    session: requests.Session = field(default_factory=requests.Session)
    key_id: str = ""

    def __post_init__(self) -> None:
        self.session.trust_env = False

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        nonce: str = "",
        timestamp: int | None = None,
        headers: dict[str, str] | None = None,
        params: dict[str, Any] | None = None,
    ) -> requests.Response:
        """Sign and send; a dict is sent as JSON, bytes as they are. Paths are under /api/v1."""
        prefix = "" if path.startswith(("/api/", "/v1/", "/health")) else "/api/v1"
        data = json.dumps(body).encode() if isinstance(body, dict | list) else (body or b"")
        request = requests.Request(method, self.base + prefix + path, params=params, data=data)
        prepared = self.session.prepare_request(request)
        stamp = str(int(time.time()) if timestamp is None else timestamp)
        signed = signature(self.secret, stamp, nonce, method, prepared.path_url, data)
        prepared.headers.update({"X-Api-Key": self.api_key, "X-Timestamp": stamp})
        prepared.headers["X-Signature"] = signed
        if nonce:
            prepared.headers["X-Nonce"] = nonce
        if data:
            prepared.headers["Content-Type"] = "application/json"
        prepared.headers.update(headers or {})
        return self.session.send(prepared, timeout=30, allow_redirects=False)

    def get(self, path: str, **kwargs: Any) -> requests.Response:
        return self.call("GET", path, **kwargs)

    def post(self, path: str, body: Any = None, **kwargs: Any) -> requests.Response:
        return self.call("POST", path, body, **kwargs)

    def patch(self, path: str, body: Any = None, **kwargs: Any) -> requests.Response:
        return self.call("PATCH", path, body, **kwargs)

    def delete(self, path: str, **kwargs: Any) -> requests.Response:
        return self.call("DELETE", path, **kwargs)

    def plain(self, method: str, path: str, **kwargs: Any) -> requests.Response:
        """Send a request exactly as given, with no signature added."""
        kwargs.setdefault("timeout", 30)
        return self.session.request(method, self.base + path, allow_redirects=False, **kwargs)

    def close(self) -> None:
        self.session.close()


def error_code(response: requests.Response) -> str:
    """Return the code of an error answer, having checked its envelope."""
    error = response.json()["error"]
    assert set(error) <= {"code", "message", "requestId", "retryAfter", "details"}
    assert error["requestId"] == response.headers["X-Request-Id"]
    assert error["message"]
    return str(error["code"])


def findings(response: requests.Response) -> dict[str, str]:
    """Return the code of each finding of a 422 by its field."""
    assert error_code(response) == "VALIDATION_ERROR"
    return {each["field"]: each["code"] for each in response.json()["error"]["details"]}


def send_chunked(method: str, url: str, headers: Mapping[str, str], body: bytes) -> tuple[int, str]:
    """Send a request without a length; return the status and the code of the error.

    Head and body are sent at once: a service that refuses the head closes the connection, and what
    is sent later may fail before the answer is read.
    """
    parts = urlsplit(url)
    fields = {**headers, "Host": parts.netloc, "Transfer-Encoding": "chunked"}
    target = f"{parts.path}?{parts.query}" if parts.query else parts.path
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {fields[name]}" for name in fields), "", ""]
    with socket.create_connection((parts.hostname or "", parts.port or 80), timeout=30) as raw:
        chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        raw.sendall("\r\n".join(lines).encode() + chunks)
        answer = HTTPResponse(raw)
        answer.begin()
        return answer.status, str(json.loads(answer.read())["error"]["code"])
