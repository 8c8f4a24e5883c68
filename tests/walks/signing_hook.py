"""Signs the requests that Schemathesis makes; loaded by it, in its own process."""

import os
import time

import requests
import schemathesis

from tests.caller import signature


class Signed(requests.auth.AuthBase):
    """Adds the headers of a signed request, over what is about to be sent."""

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        body = request.body.encode() if isinstance(request.body, str) else request.body or b""
        stamp = str(int(time.time()))
        request.headers.pop("X-Nonce", None)
        request.headers["X-Api-Key"] = os.environ["CALLER_KEY"]
        request.headers["X-Timestamp"] = stamp
        request.headers["X-Signature"] = signature(
            os.environ["CALLER_SECRET"], stamp, "", str(request.method), request.path_url, body
        )
        return request


schemathesis.auth.set_from_requests(Signed())  # type: ignore[attr-defined]
