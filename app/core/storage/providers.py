"""Providers of object storage, Azure Blob and S3: their clients and signed links."""

import hashlib
import hmac
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import quote, urlencode, urlsplit

from obstore.store import AzureStore, S3Store

from app.core.clock import as_utc, utc_now
from app.core.storage.objects import Upload, UploadLink

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig

_AZURE_VERSION = "2022-11-02"


@dataclass(frozen=True, slots=True)
class AzureContainer:
    """A container of a storage account.

    Attributes:
        endpoint: address of the account, without a slash at its end.
        key: access key of the account, in Base64.
    """

    # The code of an answer where the container does not exist.
    missing_code: ClassVar = "ContainerNotFound"

    account: str
    container: str
    endpoint: str
    key: str

    @property
    def place(self) -> str:
        """Name the place of the objects, for people."""
        return f"the container {self.container}"

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
            _AZURE_VERSION,
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
            "sv": _AZURE_VERSION,
            "sp": permission,
            "se": expiry,
            "sr": "b",
            "spr": protocol,
            **shown,
            "sig": b64encode(digest).decode(),
        }
        return f"{self.endpoint}/{self.container}/{quote(blob)}?{urlencode(query)}"


@dataclass(frozen=True, slots=True)
class S3Bucket:
    """A bucket, addressed by path.

    Attributes:
        endpoint: address of the server, without a slash at its end.
        public_endpoint: the address of the server that callers reach.
    """

    # The code of an answer where the bucket does not exist.
    missing_code: ClassVar = "NoSuchBucket"

    bucket: str
    region: str
    endpoint: str
    public_endpoint: str
    access_key: str
    secret: str

    @property
    def place(self) -> str:
        """Name the place of the objects, for people."""
        return f"the bucket {self.bucket}"

    def client(self, options: "ClientConfig", retries: "RetryConfig") -> S3Store:
        """Open a client; it must not outlive a fork."""
        return S3Store(
            self.bucket,
            region=self.region,
            endpoint=self.endpoint,
            access_key_id=self.access_key,
            secret_access_key=self.secret,
            virtual_hosted_style_request=False,
            client_options=options,
            retry_config=retries,
        )

    def upload_link(self, key: str, upload: Upload) -> UploadLink:
        """Return a link that creates the object once, with the announced size and SHA-256."""
        headers = {"Content-Type": upload.content_type, "If-None-Match": "*"}
        if upload.sha256:
            headers["x-amz-checksum-sha256"] = b64encode(bytes.fromhex(upload.sha256)).decode()
        signed_headers = {**headers, "Content-Length": str(upload.size_bytes)}
        return UploadLink(self._url("PUT", key, upload.expires_at, signed_headers, {}), headers)

    def read_link(
        self, key: str, expires_at: datetime, *, content_type: str, disposition: str
    ) -> str:
        shown = {
            "response-content-disposition": disposition,
            "response-content-type": content_type,
        }
        return self._url("GET", key, expires_at, {}, shown)

    def _url(
        self,
        method: str,
        key: str,
        expires_at: datetime,
        headers: Mapping[str, str],
        parameters: Mapping[str, str],
    ) -> str:
        """Build an address that is signed by AWS Signature Version 4 in its query."""
        now = utc_now()
        moment = now.strftime("%Y%m%dT%H%M%SZ")
        scope = f"{now:%Y%m%d}/{self.region}/s3/aws4_request"
        path = quote(f"/{self.bucket}/{key}")
        signed = {"host": urlsplit(self.public_endpoint).netloc}
        signed |= {name.lower(): value for name, value in headers.items()}
        query = {
            **parameters,
            "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
            "X-Amz-Credential": f"{self.access_key}/{scope}",
            "X-Amz-Date": moment,
            "X-Amz-Expires": str(max(1, int((expires_at - now).total_seconds()))),
            "X-Amz-SignedHeaders": ";".join(sorted(signed)),
        }
        encoded_query = urlencode(sorted(query.items()), quote_via=quote, safe="")
        request_lines = [
            method,
            path,
            encoded_query,
            *(f"{name}:{signed[name]}" for name in sorted(signed)),
            "",
            query["X-Amz-SignedHeaders"],
            "UNSIGNED-PAYLOAD",
        ]
        request_digest = hashlib.sha256("\n".join(request_lines).encode()).hexdigest()
        text = "\n".join(["AWS4-HMAC-SHA256", moment, scope, request_digest])
        signature = hmac.digest(self._signing_key(scope), text.encode(), "sha256").hex()
        return f"{self.public_endpoint}{path}?{encoded_query}&X-Amz-Signature={signature}"

    def _signing_key(self, scope: str) -> bytes:
        key = f"AWS4{self.secret}".encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        return key
