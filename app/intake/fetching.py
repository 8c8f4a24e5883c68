"""Requests to a vendor: documents and sound, from its hosts alone."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from app.core.errors import ServiceUnavailable
from app.core.outgoing_http.reply import AttemptOutcome, BodyLimit, Reply
from app.core.runtime import Runtime
from app.core.storage.files import require_space
from app.webhooks.service import address_policy

if TYPE_CHECKING:
    from app.core.outgoing_http.client import RequestsClient

_DOCUMENT_BYTES = 32 * 1024 * 1024
_DOCUMENT_WITHIN_S, _SOUND_WITHIN_S = 30.0, 900.0
_MOST_REDIRECTS = 3
_REDIRECTS = (301, 302, 303, 307, 308)
_LATER = (408, 425, 429)


class FetchRefused(Exception):
    """The vendor refuses, or what it names is on another host; another attempt would end alike."""


class HostFetch:
    """Reads from the hosts of a vendor, over addresses that webhooks may be sent to as well."""

    def __init__(self, runtime: Runtime, hosts: Sequence[str], folder: Path) -> None:
        """Read from these hosts; `folder` takes the sound."""
        self._runtime = runtime
        self._hosts = hosts
        self._folder = folder

    def json(self, url: str, headers: Mapping[str, str]) -> Any:
        """Return a document.

        Raises:
            FetchRefused: the vendor refuses, or the answer is no document.
            ServiceUnavailable: the vendor does not answer right now.
        """
        limit = BodyLimit(_DOCUMENT_BYTES, None)
        reply = self._get(url, headers, None, limit, _DOCUMENT_WITHIN_S)
        if reply.truncated:
            raise _cut_off(url, len(reply.body), limit)
        try:
            return json.loads(reply.body)
        except (ValueError, RecursionError) as error:
            raise FetchRefused(f"The answer of {_host_of(url)} is not JSON.") from error

    def sound(self, url: str, headers: Mapping[str, str], name: str) -> Path:
        """Read sound into a file of this name.

        Raises:
            FetchRefused, ServiceUnavailable: as by `json`.
            DiskFull: it would leave too little space.
        """
        settings = self._runtime.settings
        path = self._folder / name
        limit = BodyLimit(settings.upload_max_bytes, None)
        reply = self._get(url, headers, path, limit, _SOUND_WITHIN_S)
        if reply.truncated:
            raise _cut_off(url, path.stat().st_size, limit)
        return path

    def _get(
        self,
        url: str,
        headers: Mapping[str, str],
        path: Path | None,
        limit: BodyLimit,
        within_s: float,
    ) -> Reply:
        # Not at the top: the library takes long to import, and few processes send requests.
        from app.core.outgoing_http.client import RequestsClient  # noqa: PLC0415

        settings = self._runtime.settings
        client = RequestsClient(
            address_policy(settings), ca_bundle=settings.webhook_ca_bundle, body=limit
        )
        first = urlsplit(url)[:2]
        try:
            for _ in range(_MOST_REDIRECTS + 1):
                self._require_own(url)
                sent = headers if urlsplit(url)[:2] == first else {}
                reply = self._get_once(client, url, sent, path, within_s)
                if reply.status_code not in _REDIRECTS:
                    return _successful(url, reply)
                url = urljoin(url, reply.headers.get("location", ""))
        finally:
            client.close()
        raise FetchRefused(f"{first[1]} redirects too often.")

    def _get_once(
        self,
        client: "RequestsClient",
        url: str,
        headers: Mapping[str, str],
        path: Path | None,
        within_s: float,
    ) -> Reply:
        if path is None:
            return client.get(url, headers=headers, timeout_s=within_s)
        min_free_bytes = self._runtime.settings.min_free_bytes
        require_space(self._folder, 0, min_free_bytes)
        with path.open("wb") as file:

            def keep(chunk: bytes) -> None:
                require_space(self._folder, len(chunk), min_free_bytes)
                file.write(chunk)

            return client.get(url, headers=headers, timeout_s=within_s, sink=keep)

    def _require_own(self, url: str) -> None:
        host = _host_of(url)
        if not any(host == own or host.endswith(f".{own}") for own in self._hosts):
            raise FetchRefused(f"{host or 'That address'} is not a host of this source.")


def _successful(url: str, reply: Reply) -> Reply:
    """Return a reply with what was asked for; raises as `HostFetch.json` does."""
    host, status = _host_of(url), reply.status_code
    if reply.outcome == AttemptOutcome.SUCCESS:
        return reply
    if reply.outcome == AttemptOutcome.BLOCKED_URL:
        raise FetchRefused(f"{host}: {reply.error}")
    if status is None or status >= 500 or status in _LATER:
        reason = reply.error or f"It answered {status}."
        raise ServiceUnavailable(f"{host} does not answer right now. {reason}", retry_after_s=60)
    hint = " Check the settings of this source." if status in (401, 403) else ""
    raise FetchRefused(f"{host} answered {status}.{hint}")


def _cut_off(url: str, size: int, limit: BodyLimit) -> Exception:
    """Return the error for an answer of which this much has arrived."""
    if size >= limit.max_bytes:
        return FetchRefused(f"The answer of {_host_of(url)} has more than {limit.max_bytes} bytes.")
    return ServiceUnavailable(f"The answer of {_host_of(url)} was cut off.", retry_after_s=60)


def _host_of(url: str) -> str:
    return (urlsplit(url).hostname or "").casefold()
