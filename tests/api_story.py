"""Story that sends the sample request of every operation to a running service."""

import io
import json
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import requests

from tests.caller import Caller
from tests.openapi_document import operations

SAMPLES: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "app/web/openapi/requests.json").read_text()
)
# Operations in an order in which each finds what it needs; None: judge what is due.
_STEPS = (
    *("createEngagement", "putCallCenter", "putExecutive", "putCampaign", "putConversation"),
    *("putVoiceCall", "createImport", None, "createUploadUrl", "processAudioFile"),
    *("previewReview", "createReview", "createScorecard", "addScorecardVersion"),
    *("createWebhook", "changeWebhook", "testWebhook", "recoverWebhook"),
    *("rotateWebhookSecret", "createExport", "createApiKey", "changeApiKey", "rotateApiKey"),
    "READ",
    *("reEvaluate", "reEvaluateMany", "changeEngagement", "eraseCustomer", "getErasure"),
    *("cancelExport", "revokeApiKey", "deleteWebhook"),
)
# Fields of answers that name what later steps are about.
_IDS = {
    "createEngagement": {"engagement_id": "id"},
    "putCampaign": {"campaign_id": "id"},
    "putConversation": {"conversation_id": "id", "evaluation_id": "evaluationId"},
    "putVoiceCall": {"voice_call_id": "id"},
    "createImport": {"import_id": "id"},
    "createUploadUrl": {"audio_file_id": "audioFileId"},
    "createScorecard": {"scorecard_id": "id"},
    "createWebhook": {"subscription_id": "id"},
    "createExport": {"job_id": "jobId"},
    "createApiKey": {"key_id": "id"},
    "eraseCustomer": {"erasure_id": "erasureId"},
}
_QUERIES = {"getAnalyticsTrends": {"metric": "score"}}


class Story:
    """Sends one request after the other; `answers` has the status and body of each operation.

    Args:
        judge: judges what is due.
        replaced: texts of the samples that mean something else here, such as the receiver's address.
    """

    def __init__(
        self,
        document: dict[str, Any],
        caller: Caller,
        judge: Callable[[], None],
        replaced: dict[str, str],
    ) -> None:
        self.answers: dict[str, dict[str, Any]] = {}
        self._operations = {
            operation["operationId"]: name.split(" ", 1)
            for name, operation in operations(document)
            if name.split(" ", 1)[1].startswith("/")
        }
        self._caller, self._judge, self._replaced = caller, judge, replaced
        self._ids: dict[str, str] = {}

    def tell(self) -> None:
        """Send everything."""
        for step in _STEPS:
            if step is None:
                self._judge()
            elif step == "READ":
                self._read_everything()
            else:
                self.send(step)

    def send(self, operation: str, *, may_fail: bool = False) -> None:
        """Send the sample of one operation and note its answer."""
        method, path = self._operations[operation]
        text = json.dumps(SAMPLES.get(operation))
        for old, new in self._replaced.items():
            text = text.replace(old, new)
        body = json.loads(text)
        ids = {**self._ids, "external_id": (body or {}).get("externalId", "")}
        response = self._caller.call(
            method.upper(), path.format(**ids), body, params=_QUERIES.get(operation)
        )
        answer = response.json() if response.content else None
        if may_fail and response.status_code >= 400:
            return
        assert response.status_code < 300, f"{operation}: {response.text}"
        self.answers[operation] = {"status": response.status_code, "body": answer}
        for name, field in _IDS.get(operation, {}).items():
            self._ids[name] = answer["data"][field]
        if operation == "createUploadUrl":
            _upload(answer["data"], SAMPLES[operation]["sizeBytes"])

    def _read_everything(self) -> None:
        """Send every GET; what there is nothing to read for, such as a recording, is left out."""
        for operation, (method, path) in self._operations.items():
            needed = {part[1:-1] for part in path.split("/") if part.startswith("{")}
            if method == "get" and needed <= self._ids.keys():
                self.send(operation, may_fail=True)


def _upload(reserved: dict[str, Any], size: int) -> None:
    """Upload a second of silence of this size."""
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(8_000)
        file.writeframes(bytes(size - 44))
    sent = requests.put(
        reserved["uploadUrl"], buffer.getvalue(), headers=reserved["headers"], timeout=30
    )
    assert sent.status_code == 201, sent.text
