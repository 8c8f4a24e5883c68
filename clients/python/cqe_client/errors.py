"""Exceptions of the client."""

from typing import Any

import requests

from cqe_client.types import ErrorDetail, ProcessingStatus


class CqeError(Exception):
    """Base of the client's exceptions."""


class ApiError(CqeError):
    """The service refused a request, or could not answer it.

    Attributes:
        status: the HTTP status.
        code: the stable code, such as `VALIDATION_ERROR`; empty if a proxy answered.
        message: the sentence for people.
        details: the fields that are wrong, if the service names them.
        request_id: quote it when you report a problem.
        retry_after: seconds to wait, if the service names them.
    """

    def __init__(self, response: requests.Response) -> None:
        body = _error_body(response)
        self.status = response.status_code
        self.code = str(body.get("code", ""))
        self.message = str(body.get("message", f"The answer was HTTP {self.status}."))
        self.details: list[ErrorDetail] = body.get("details", [])
        self.request_id = str(body.get("requestId", response.headers.get("X-Request-Id", "")))
        self.retry_after: int | None = body.get("retryAfter")
        super().__init__(self._sentence())

    def _sentence(self) -> str:
        lines = [f"{self.message} ({self.status} {self.code}, request {self.request_id})"]
        for detail in self.details:
            problem = detail.get("message") or ", ".join(
                f"{name}={value!r}"
                for name, value in detail.items()
                if name not in {"location", "field", "code"}
            )
            lines.append(f"  {detail.get('field', '')}: {problem}")
        return "\n".join(lines)


class ProcessingFailed(CqeError):
    """A recording could not be transcribed or evaluated.

    Attributes:
        status: the processing status, with the stage that failed.
        code: why, such as `UNSUPPORTED_MEDIA`.
        message: the sentence for people.
    """

    def __init__(self, status: ProcessingStatus) -> None:
        error = status["error"]
        self.status = status
        self.code = error["code"] if error else status["status"].upper()
        self.message = error["message"] if error else f"The recording is {status['status']}."
        super().__init__(f"{status['audioFileId']}: {self.message} ({self.code})")


class WaitTimeout(CqeError):
    """A recording was not processed in time; its processing goes on."""


class InvalidWebhook(CqeError):
    """A request does not come from the service, or is too old."""


def _error_body(response: requests.Response) -> dict[str, Any]:
    try:
        body = response.json()["error"]
    except (ValueError, KeyError, TypeError):
        return {}
    return body if isinstance(body, dict) else {}
