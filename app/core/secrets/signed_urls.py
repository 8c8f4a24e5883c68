"""Signed URLs to stored objects, similar to shared access signatures."""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote, urlencode

from app.core.clock import iso_utc, utc_now
from app.core.secrets.encryption import Keyring

_LABEL = "cqe/url-signing/v1"
_FIELDS = ("sv", "sp", "se", "ct", "cl", "cd", "sh", "kid")
_HOLDER = "by"


class SignedUrlRefused(Exception):
    """The URL does not grant this; `code` is URL_SIGNATURE_INVALID or URL_EXPIRED."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """Permission of a URL: `c` (create once) or `r` (read), for one object until `expires_at`.

    `size_bytes` is the size of the upload; `sha256` is empty or what the bytes must hash to, and in
    a URL that reads it tells an object from an earlier one of its id.
    `holder` is empty or a digest of the key or person that the URL was given to.
    """

    permission: str
    object_id: str
    expires_at: datetime
    content_type: str
    size_bytes: int
    file_name: str = ""
    sha256: str = ""
    holder: str = ""

    @property
    def etag(self) -> str:
        return f"{self.object_id}-{self.sha256}" if self.sha256 else self.object_id


class UrlSigner:
    """Signs and checks grants with a sub-key of the master key."""

    def __init__(self, keyring: Keyring, holder: str = "") -> None:
        self._keyring = keyring
        self._holder = holder

    def for_holder(self, key_id: str) -> "UrlSigner":
        """Return a signer whose URLs say by a digest which key or person they were given to."""
        return UrlSigner(self._keyring, hashlib.sha256(key_id.encode()).hexdigest()[:16])

    def path_for(self, grant: Grant) -> str:
        """Return `/storage/v1/<object id>?sv=…&sig=…`."""
        values = {
            "sv": "1",
            "sp": grant.permission,
            "se": iso_utc(grant.expires_at),
            "ct": grant.content_type,
            "cl": str(grant.size_bytes),
            "cd": grant.file_name,
            "sh": grant.sha256,
            "kid": self._keyring.current_id,
            **({_HOLDER: self._holder} if self._holder else {}),
        }
        query = {**values, "sig": self._signature(grant.object_id, values)}
        return f"/storage/v1/{quote(grant.object_id)}?{urlencode(query)}"

    def grant_of(self, object_id: str, query: Mapping[str, str]) -> Grant:
        """Check the signature and the expiry, in this order, and read the grant.

        Raises:
            SignedUrlRefused: the signature is invalid, or the URL has expired.
        """
        values = {name: query.get(name, "") for name in _FIELDS}
        if _HOLDER in query:
            values[_HOLDER] = query[_HOLDER]
        if not self._keyring.has(values["kid"]) or not hmac.compare_digest(
            self._signature(object_id, values).encode(), query.get("sig", "").encode()
        ):
            raise SignedUrlRefused("URL_SIGNATURE_INVALID", "This URL's signature is invalid.")
        expires_at = datetime.fromisoformat(values["se"])
        if expires_at <= utc_now():
            raise SignedUrlRefused("URL_EXPIRED", "This URL has expired: request a new one.")
        return Grant(
            permission=values["sp"],
            object_id=object_id,
            expires_at=expires_at,
            content_type=values["ct"],
            size_bytes=int(values["cl"]),
            file_name=values["cd"],
            sha256=values["sh"],
            holder=values.get(_HOLDER, ""),
        )

    def _signature(self, object_id: str, values: Mapping[str, str]) -> str:
        lines = [
            "CQE1-URL",
            object_id,
            *(values[name] for name in (*_FIELDS, _HOLDER) if name in values),
        ]
        # Each line has its length in front: a line break in a file name cannot end a field.
        message = "\n".join(f"{len(line)}:{line}" for line in lines)
        key = self._keyring.subkey(_LABEL, values["kid"])
        digest = hmac.new(key, message.encode(), hashlib.sha256).digest()
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")
