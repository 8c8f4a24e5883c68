"""Containers of Azure Blob Storage: their client and shared access signatures."""

import hmac
from base64 import b64decode, b64encode
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from obstore.store import AzureStore

from app.core.clock import as_utc
from app.core.storage.objects import Upload, UploadLink

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig

_VERSION = "2022-11-02"


@dataclass(frozen=True, slots=True)
class AzureContainer:
    """A container of a storage account.

    Attributes:
        endpoint: address of the account, without a slash at its end.
        key: access key of the account, in Base64.
    """

    account: str
    container: str
    endpoint: str
    key: str

    def client(self, options: "ClientConfig", retries: "RetryConfig") -> AzureStore:
        """Open a client; it must not outlive a fork."""
        return AzureStore(
            container_name=self.container,
            account_name=self.account,
            account_key=self.key,
            endpoint=self.endpoint,
            client_options=options,
            retry_config=retries,
        )

    def upload_link(self, blob: str, upload: Upload) -> UploadLink:
        """Return a link that creates the blob once; Azure accepts any size up to 5,000 MiB."""
        headers = {"Content-Type": upload.content_type, "x-ms-blob-type": "BlockBlob"}
        return UploadLink(self._url(blob, "c", upload.expires_at, {}), headers)

    def read_link(
        self, blob: str, expires_at: datetime, *, content_type: str, disposition: str
    ) -> str:
        """Return a link that reads the blob under this type and disposition."""
        return self._url(blob, "r", expires_at, {"rscd": disposition, "rsct": content_type})

    def _url(self, blob: str, permission: str, expires_at: datetime, shown: dict[str, str]) -> str:
        """Build the address of a blob with a service SAS for one permission."""
        expiry = f"{as_utc(expires_at):%Y-%m-%dT%H:%M:%SZ}"
        protocol = "https" if self.endpoint.startswith("https:") else "https,http"
        signed_lines = [
            permission,
            "",  # start: from now on
            expiry,
            f"/blob/{self.account}/{self.container}/{blob}",
            "",  # stored access policy
            "",  # IP addresses
            protocol,
            _VERSION,
            "b",
            "",  # snapshot
            "",  # encryption scope
            "",  # cache control
            shown.get("rscd", ""),
            "",  # content encoding
            "",  # content language
            shown.get("rsct", ""),
        ]
        digest = hmac.digest(b64decode(self.key), "\n".join(signed_lines).encode(), "sha256")
        query = {
            "sv": _VERSION,
            "sp": permission,
            "se": expiry,
            "sr": "b",
            "spr": protocol,
            **shown,
            "sig": b64encode(digest).decode(),
        }
        return f"{self.endpoint}/{self.container}/{quote(blob)}?{urlencode(query)}"
