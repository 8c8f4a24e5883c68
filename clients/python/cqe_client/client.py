"""HTTP client of the API."""

import json
import os
import random
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote, urlencode, urlsplit

import requests

from cqe_client.errors import ApiError, CqeError, ProcessingFailed, WaitTimeout
from cqe_client.signing import signed_headers
from cqe_client.types import Evaluation, EvaluationDetail, ProcessingStatus, Results
from cqe_client.version import VERSION

_RETRIED_STATUSES = frozenset({429, 502, 503, 504})
# After a lost answer, a repeated DELETE finds nothing and a repeated PATCH may undo a later change.
_NOT_REPEATED = frozenset({"PATCH", "DELETE"})
_LONGEST_WAIT_S = 60.0
_CONTENT_TYPES = {
    ".wav": "audio/wav",
    ".mp3": "audio/mpeg",
    ".m4a": "audio/mp4",
    ".mp4": "audio/mp4",
    ".ogg": "audio/ogg",
    ".opus": "audio/ogg",
    ".flac": "audio/flac",
    ".webm": "audio/webm",
}


class Client:
    """Sends signed requests to one service.

    Paths are relative to `/api/v1`. Filters, fields and keys of answers have the API's names
    (`pageSize`, `engagementId`); for `from`, a keyword of Python, write `from_`.

    A request that was limited, or that met an overloaded service, is sent again after the time that
    the service names; so is one whose answer was lost, except PATCH and DELETE. A POST carries an
    Idempotency-Key and takes effect once.

    Args:
        url: the address of the service, without a path.
        timeout_s: seconds to wait for a connection, and for each part of an answer.
        retries: how often a request is sent again.
    """

    def __init__(
        self, url: str, api_key: str, secret: str, *, timeout_s: float = 30, retries: int = 4
    ) -> None:
        self._base = f"{url.rstrip('/')}/api/v1"
        self._api_key = api_key
        self._secret = secret
        self._timeout_s = timeout_s
        self._retries = retries
        self._session = requests.Session()

    @classmethod
    def from_environment(cls) -> "Client":
        """Make a client from CQE_CLIENT_URL, CQE_CLIENT_KEY and CQE_CLIENT_SECRET."""
        url = os.environ.get("CQE_CLIENT_URL", "http://127.0.0.1:8000")
        try:
            return cls(url, os.environ["CQE_CLIENT_KEY"], os.environ["CQE_CLIENT_SECRET"])
        except KeyError as missing:
            raise CqeError(f"The environment variable {missing.args[0]} must be set.") from None

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def get(self, path: str, **params: Any) -> Any:
        """Return the `data` of an answer."""
        return self.request("GET", path, params=params)

    def post(self, path: str, body: Any = None, *, idempotency_key: str | None = None) -> Any:
        """Create or start something; an Idempotency-Key of your own outlives this process."""
        return self.request("POST", path, body, idempotency_key=idempotency_key)

    def put(self, path: str, body: Any) -> Any:
        """Create or replace a record under an id of yours."""
        return self.request("PUT", path, body)

    def patch(self, path: str, body: Any) -> Any:
        """Change a resource."""
        return self.request("PATCH", path, body)

    def delete(self, path: str) -> None:
        """Delete or revoke a resource."""
        self.request("DELETE", path)

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        params: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> Any:
        """Send a request and return the `data` of its answer, or the whole answer without `data`.

        Raises:
            ApiError: the service refused the request.
            CqeError: there was no answer.
        """
        headers = {}
        if method == "POST":
            headers["Idempotency-Key"] = idempotency_key or uuid.uuid4().hex
        answer = self._answer(method, path, body, params=params or {}, headers=headers)
        return answer["data"] if isinstance(answer, dict) and "data" in answer else answer

    def iterate(self, path: str, **params: Any) -> Iterator[Any]:
        """Yield the items of a list, fetching one page after the other.

        What is added meanwhile moves the items after it to later pages: with the newest first an
        item may come twice, with `sort="createdAt"` none does.
        """
        page = int(params.pop("page", 1))
        while True:
            answer = self._answer("GET", path, params={**params, "page": page}, headers={})
            yield from answer["data"]
            # The list of engagements has these fields next to `data`.
            paging = answer.get("pagination", answer)
            if page * paging["pageSize"] >= paging["totalCount"]:
                return
            page += 1

    def evaluations(self, **filters: Any) -> Iterator[Evaluation]:
        """Yield the evaluations that match the filters."""
        return self.iterate("/evaluations", **filters)

    def evaluation(self, evaluation_id: str) -> EvaluationDetail:
        """Return one evaluation with its summary."""
        return cast(EvaluationDetail, self.get(f"/evaluations/{_segment(evaluation_id)}"))

    def results(self, evaluation_id: str) -> Results:
        """Return the results of an evaluation, with their evidence."""
        return cast(Results, self.get(f"/evaluations/{_segment(evaluation_id)}/results"))

    def upload(self, file: str | os.PathLike[str], **fields: Any) -> str:
        """Upload a recording and return its `audioFileId`.

        Args:
            file: WAV, MP3, M4A, Ogg, FLAC or WebM.
            fields: fields of `POST /audio-files/upload-url`, such as `engagementId`,
                `channelMap` and `autoProcess`. `contentType` follows from the file's name.
        """
        path = Path(file)
        body = {"fileName": path.name, **_described(path, fields)}
        reserved = self.post("/audio-files/upload-url", body)
        self._send_file(path, reserved)
        return str(reserved["audioFileId"])

    def upload_pair(
        self,
        agent: str | os.PathLike[str],
        customer: str | os.PathLike[str],
        *,
        sides: Mapping[str, Mapping[str, Any]] | None = None,
        **fields: Any,
    ) -> str:
        """Upload both sides of a call, which a worker joins, and return its `audioFileId`.

        Args:
            agent: the file of the agent's side, with one channel.
            customer: that of the customer's side.
            sides: fields of `agent` and `customer`, such as `recordedAt`, where it is known.
            fields: other fields of `POST /audio-files/pairs`, such as `autoProcess`.
        """
        files = {"agent": Path(agent), "customer": Path(customer)}
        body = {"fileName": files["agent"].name, **fields}
        for role, path in files.items():
            body[role] = _described(path, (sides or {}).get(role, {}))
        reserved = self.post("/audio-files/pairs", body)
        for role, path in files.items():
            self._send_file(path, reserved[role])
        return str(reserved["audioFileId"])

    def import_file(self, file: str | os.PathLike[str], **fields: Any) -> str:
        """Upload a file of conversations, whose import then starts, and return its `importId`.

        Args:
            file: a file in one of the formats of imports, of up to 2 GiB.
            fields: fields of `POST /imports/files/upload-url`, such as `defaults` and `dryRun`.
        """
        path = Path(file)
        reserved = self.post(
            "/imports/files/upload-url",
            {"fileName": path.name, "sizeBytes": path.stat().st_size, **fields},
        )
        self._send_file(path, reserved)
        return str(reserved["importId"])

    def wait(
        self,
        audio_file_id: str,
        *,
        on_progress: Callable[[ProcessingStatus], object] | None = None,
        timeout_s: float = 3600,
        interval_s: float = 1,
    ) -> ProcessingStatus:
        """Wait until a recording is transcribed and evaluated.

        Args:
            on_progress: called with each processing status, the last one included.

        Raises:
            ProcessingFailed: the recording could not be processed.
            WaitTimeout: it was not processed in time.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            status: ProcessingStatus = self.get(
                f"/audio-files/{_segment(audio_file_id)}/processing-status"
            )
            if on_progress is not None:
                on_progress(status)
            if status["status"] == "processed":
                return status
            if status["status"] in ("failed", "expired"):
                raise ProcessingFailed(status)
            if time.monotonic() + interval_s > deadline:
                raise WaitTimeout(f"{audio_file_id} was not processed within {timeout_s:g} s.")
            time.sleep(interval_s)

    def upload_and_wait(
        self,
        file: str | os.PathLike[str],
        *,
        on_progress: Callable[[ProcessingStatus], object] | None = None,
        timeout_s: float = 3600,
        **fields: Any,
    ) -> ProcessingStatus:
        """Upload a recording, wait until it is evaluated, and return its last status."""
        audio_file_id = self.upload(file, **{"autoProcess": True, **fields})
        return self.wait(audio_file_id, on_progress=on_progress, timeout_s=timeout_s)

    def _send_file(self, path: Path, reserved: Mapping[str, Any]) -> None:
        """Send a file by a signed link, which takes one upload."""

        def send() -> requests.Response:
            with path.open("rb") as content:
                upload = requests.Request(
                    reserved["method"],
                    reserved["uploadUrl"],
                    headers=reserved["headers"],
                    data=content,
                )
                return self._transmit(upload.prepare())

        self._with_retries(send, repeat_lost=False)

    def _answer(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        params: Mapping[str, Any],
        headers: Mapping[str, str],
    ) -> Any:
        query = urlencode(_query(params))
        url = f"{self._base}{path}{f'?{query}' if query else ''}"
        content = b"" if body is None else json.dumps(body, allow_nan=False).encode()

        def send() -> requests.Response:
            prepared = requests.Request(method, url, headers=dict(headers), data=content).prepare()
            if content:
                prepared.headers["Content-Type"] = "application/json"
            # Signed again for each attempt: a nonce is accepted once.
            prepared.headers.update(
                signed_headers(self._api_key, self._secret, method, prepared.path_url, content)
            )
            return self._transmit(prepared)

        response = self._with_retries(send, repeat_lost=method not in _NOT_REPEATED)
        return response.json() if response.content else None

    def _with_retries(
        self, send: Callable[[], requests.Response], *, repeat_lost: bool
    ) -> requests.Response:
        attempt = 0
        while True:
            is_last = attempt == self._retries
            wait_s = random.uniform(0.5, 1) * 2**attempt  # noqa: S311 - not a secret
            try:
                response = send()
            except requests.RequestException as error:
                if is_last or not repeat_lost:
                    host = urlsplit(self._base).netloc
                    raise CqeError(f"There was no answer from {host}: {_reason(error)}.") from None
            else:
                if response.status_code < 300:
                    return response
                wait_s = max(wait_s, _retry_after(response))
                is_retried = response.status_code in _RETRIED_STATUSES
                if is_last or not is_retried or wait_s > _LONGEST_WAIT_S:
                    raise ApiError(response)
            time.sleep(wait_s)
            attempt += 1

    def _transmit(self, prepared: requests.PreparedRequest) -> requests.Response:
        """Send what was signed as it is: no redirects, no credentials of a .netrc file."""
        prepared.headers["User-Agent"] = f"cqe-client/{VERSION}"
        options = self._session.merge_environment_settings(prepared.url, {}, None, None, None)
        return self._session.send(
            prepared, timeout=self._timeout_s, allow_redirects=False, **options
        )


def _reason(error: BaseException) -> str:
    """Return what the system says, below the words of the libraries, such as `Connection refused`."""
    while (inner := _inner(error)) is not None:
        error = inner
    said = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(said).removesuffix(".")


def _inner(error: BaseException) -> BaseException | None:
    wrapped = getattr(error, "reason", None) or next(iter(error.args), None)
    if isinstance(wrapped, BaseException):
        return wrapped
    return error.__cause__ or error.__context__


def _segment(resource_id: str) -> str:
    return quote(resource_id, safe="")


def _query(params: Mapping[str, Any]) -> dict[str, str]:
    return {
        name.removesuffix("_"): _query_value(value)
        for name, value in params.items()
        if value is not None
    }


def _query_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ",".join(_query_value(item) for item in value)
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _described(file: Path, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a recording's file, with its type and size."""
    content_type = fields.get("contentType") or _content_type(file)
    return {"sizeBytes": file.stat().st_size, **fields, "contentType": content_type}


def _content_type(file: Path) -> str:
    try:
        return _CONTENT_TYPES[file.suffix.lower()]
    except KeyError:
        raise CqeError(f"contentType must be given for {file.name}.") from None


def _retry_after(response: requests.Response) -> float:
    value = response.headers.get("Retry-After", "")
    return float(value) if value.isascii() and value.isdigit() else 0
