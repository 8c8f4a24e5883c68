"""Client of CQE: signed requests, paging, retries, uploads and webhooks."""

from cqe_client.client import Client
from cqe_client.errors import ApiError, CqeError, InvalidWebhook, ProcessingFailed, WaitTimeout
from cqe_client.signing import signed_headers
from cqe_client.types import Criterion, Evaluation, Event, Evidence, ProcessingStatus, Results
from cqe_client.webhooks import verify_webhook

__all__ = [
    "ApiError",
    "Client",
    "CqeError",
    "Criterion",
    "Evaluation",
    "Event",
    "Evidence",
    "InvalidWebhook",
    "ProcessingFailed",
    "ProcessingStatus",
    "Results",
    "WaitTimeout",
    "signed_headers",
    "verify_webhook",
]
