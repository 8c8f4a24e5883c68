"""Examples of fields for the OpenAPI document: a realistic value for each, by name and type."""

from typing import Any

# The last part of every id.
TAIL = "01jd3v8xqkf6r9w2m5t7h4c0pz"
_MOMENT = "2026-11-21T09:30:00.000Z"

# Values by field name, for any resource.
BY_NAME: dict[str, Any] = {
    "name": "Spring audit",
    "description": "Calls about deliveries, autumn season",
    "type": "quality_audit",
    "language": "en",
    "externalId": "crm-4711",
    "customerRef": "customer-815",
    "url": "https://hooks.example.com/cqe",
    "uploadUrl": f"https://cqe.example.com/storage/v1/aud_{TAIL}?sv=1&sp=c&sig=Zm9v",
    "downloadUrl": f"https://cqe.example.com/storage/v1/aud_{TAIL}?sv=1&sp=r&sig=Zm9v",
    "recordingUrl": f"https://cqe.example.com/storage/v1/aud_{TAIL}?sv=1&sp=r&sig=Zm9v",
    "statusUrl": f"https://cqe.example.com/api/v1/audio-files/aud_{TAIL}/processing-status",
    "fileName": "call-4711.wav",
    "contentType": "audio/wav",
    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "codec": "pcm_s16le",
    "email": "nora@example.com",
    "timezone": "Europe/Berlin",
    "billingPeriod": "2026-11",
    "date": "2026-11-21",
    "tier": "self-hosted",
    "operation": "listEvaluations",
    "keyPrefix": "cqek_9fQ2",
    "apiKey": "cqek_9fQ2mZ7xT4bW1kL8pR3vN6yC5dH0sJ2f7ixZ",
    "secret": "cqes_Vd8uJm3Qx7Rt2Zk9Lp4Wn6Yb1Hc5Gf0Sa3Ee7To2Iq81d1SjF",
    "keyName": "warehouse sync",
    "ipAllowlist": "203.0.113.0/24",
    "scopes": "evaluations:read",
    "title": "Confirms that it is solved",
    "key": "resolution.confirmed",
    "criterionKey": "resolution.confirmed",
    "section": "resolution",
    "question": "Does the agent confirm with the customer that it is solved?",
    "explanation": "The customer confirmed that the problem is solved.",
    "quote": "Yes, it works now, thank you.",
    "text": "Yes, it works now, thank you.",
    "suggestion": "Before closing, ask whether the issue is solved.",
    "answer": "yes",
    "overview": "My parcel has not arrived.",
    "issue": "My parcel has not arrived.",
    "outcome": "It will be with you tomorrow by noon.",
    "topic": "delivery",
    "topics": "delivery",
    "campaign": "Spring support",
    "callCenter": "Riverside",
    "executive": "Nora Field",
    "authorName": "Nora Field",
    "displayName": "Nora Field",
    "botName": "Delivery line",
    "botId": "delivery-line",
    "botVersion": "4.2",
    "engagement": "Spring audit",
    "subject": "Parcel 4711",
    "disposition": "solved",
    "comment": "Quick and kind.",
    "fromNumber": "*********42",
    "toNumber": "*********17",
    "endReason": "goal_reached",
    "goal": "date of delivery arranged",
    "provider": "embedded",
    "model": "rules-8",
    "promptVersion": "3",
    "code": "RANGE",
    "message": "This must be from 1 to 100.",
    "error": "The receiver did not answer in time.",
    "location": "query",
    "field": "pageSize",
    "serverTime": "1795243800",
    "timestamp": "1795243800",
    "nonce": "8f14e45fceea167a5a36dedd4bea2543",
    "method": "POST",
    "path": "/api/v1/engagements",
    "bodySha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "segmentId": "seg_0012",
    "participantId": "channel_1",
    "entityType": "phone_number",
    "metric": "agentWpm",
    "reason": "The agent says fewer than 30 words.",
    "requestId": f"req_{TAIL}",
    "response_excerpt": "ok",
    "status_code": 200,
}
# Id prefixes by the name of the field.
_PREFIXES: dict[str, str] = {
    "engagement": "eng",
    "evaluation": "eval",
    "supersedes": "eval",
    "audioFile": "aud",
    "audio_file": "aud",
    "conversation": "conv",
    "message": "msg",
    "voiceCall": "call",
    "campaign": "camp",
    "callCenter": "cc",
    "callCenterIds": "cc",
    "executive": "exec",
    "executives": "exec",
    "key": "key",
    "scorecard": "sc",
    "webhook": "wh",
    "event": "evt",
    "delivery": "dlv",
    "source": "aud",
    "job": "job",
}
_BY_FORMAT = {"date-time": _MOMENT, "date": "2026-11-21", "email": "nora@example.com"}


def exemplify(schemas: dict[str, Any]) -> None:
    """Add an example to every plain field of these schemas that has none."""
    for name, schema in schemas.items():
        for field, shape in schema.get("properties", {}).items():
            if not {"example", "examples"} & shape.keys():
                value = _example(field, shape, name)
                if value is not None:
                    shape["examples"] = [value]


def _example(field: str, shape: dict[str, Any], schema: str) -> Any:
    kinds = shape.get("type", ())
    kind = kinds if isinstance(kinds, str) else next(iter(kinds), None)
    if shape.get("enum"):
        return next(value for value in shape["enum"] if value is not None)
    if kind == "array" and "$ref" not in shape.get("items", {}):
        inner = _example(field, shape["items"], schema)
        return None if inner is None else [inner]
    if kind == "string":
        return _text(field, shape, schema)
    if kind in ("integer", "number"):
        low, high = shape.get("minimum", 0), shape.get("maximum", 1_000)
        return int(min(max(low, 1), high)) if kind == "integer" else min(max(low, 0.5), high)
    return True if kind == "boolean" else None


def _text(field: str, shape: dict[str, Any], schema: str) -> str:
    if shape.get("format") in _BY_FORMAT:
        return _BY_FORMAT[shape["format"]]
    pattern = str(shape.get("pattern", ""))
    if pattern.startswith("^") and "_[0-7]" in pattern:
        prefix = pattern[1:].split("_", 1)[0].strip("()").split("|")[0]
        return f"{prefix}_{TAIL}"
    for stem in (field.removesuffix("Id"), field.removesuffix("_id"), field):
        if stem in _PREFIXES and (stem != field or field.endswith("s")):
            return f"{_PREFIXES[stem]}_{TAIL}"
    value = BY_NAME.get(field)
    return value if isinstance(value, str) else "text"
