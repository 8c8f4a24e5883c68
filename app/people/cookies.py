"""Cookies of the dashboard: under a `Secure` name where browsers take one, under a plain name elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from flask import Request
from werkzeug.wrappers import Response

from app.core.clock import utc_now
from app.core.ip_addresses import is_loopback
from app.core.runtime import Runtime
from app.core.secrets.encryption import UnknownMasterKey
from app.core.settings import Settings
from app.web.addresses import forwarded_scheme, requested_host


@dataclass(frozen=True, slots=True)
class Cookie:
    """One cookie by its two names; scripts of pages never see it."""

    secure_name: str
    plain_name: str

    def read(self, request: Request, settings: Settings) -> str:
        """Return the cookie's value, or an empty text."""
        return request.cookies.get(self._name(request, settings), "")

    def write(
        self, response: Response, request: Request, settings: Settings, value: str, *, max_age: int
    ) -> None:
        """Set the cookie; what it stands for decides how long it is valid."""
        response.set_cookie(
            self._name(request, settings),
            value,
            path="/",
            max_age=max_age,
            secure=is_secure(request, settings),
            httponly=True,
            samesite="Lax",
        )

    def clear(self, response: Response, request: Request, settings: Settings) -> None:
        response.delete_cookie(
            self._name(request, settings),
            path="/",
            secure=is_secure(request, settings),
            httponly=True,
            samesite="Lax",
        )

    def _name(self, request: Request, settings: Settings) -> str:
        return self.secure_name if is_secure(request, settings) else self.plain_name


SESSION = Cookie("__Host-cqe", "cqe_session")
KNOWN_BROWSER = Cookie("__Host-cqe-browser", "cqe_browser")
# A sign-in that has begun: its content is encrypted and signed.
PENDING = Cookie("__Host-cqe-pending", "cqe_pending")
_PENDING_FOR_S = 600


def write_pending(
    response: Response, request: Request, runtime: Runtime, step: str, values: Mapping[str, Any]
) -> None:
    """Have the browser keep what the next step of a sign-in needs, sealed."""
    document = orjson.dumps({**values, "until": utc_now().timestamp() + _PENDING_FOR_S})
    sealed = runtime.keyring.encrypt(document, purpose=f"pending sign-in: {step}")
    PENDING.write(response, request, runtime.settings, sealed, max_age=_PENDING_FOR_S)


def read_pending(request: Request, runtime: Runtime, step: str) -> dict[str, Any] | None:
    """Return what `write_pending` has sealed for this step; None if there is nothing, or it is old."""
    sealed = PENDING.read(request, runtime.settings)
    try:
        content = runtime.keyring.decrypt(sealed, purpose=f"pending sign-in: {step}")
    except (UnknownMasterKey, ValueError):
        return None
    document: dict[str, Any] = orjson.loads(content)
    return document if document.pop("until") > utc_now().timestamp() else None


def is_secure(request: Request, settings: Settings) -> bool:
    """Return whether browsers take `Secure` cookies: over https, and from this machine itself."""
    return own_scheme(request, settings) == "https" or is_loopback(requested_host())


def own_scheme(request: Request, settings: Settings) -> str:
    """Return the scheme that the browser uses, as a trusted proxy says or the connection is."""
    return forwarded_scheme(request, settings.trusted_proxies) or request.scheme
