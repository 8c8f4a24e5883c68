"""Webhook requests signed by a library that is not ours."""

import json
from datetime import UTC, datetime

from standardwebhooks import Webhook

SIGNING_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
SENT_AT = int(datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp())


def signed_webhook() -> tuple[str, dict[str, str]]:
    """Return body and headers of an event that was sent at `SENT_AT`."""
    body = json.dumps({"id": "evt_1", "event": "export.ready", "data": {"name": "Zoë ☕"}})
    signature = Webhook(SIGNING_SECRET).sign("evt_1", datetime.fromtimestamp(SENT_AT, UTC), body)
    headers = {
        "Webhook-Id": "evt_1",
        "Webhook-Timestamp": str(SENT_AT),
        "Webhook-Signature": signature,
    }
    return body, headers
