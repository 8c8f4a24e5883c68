"""Webhooks as vendors send them: the examples of their documentation, signed by their rules."""

import base64
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

SECRET = "a-secret-of-the-vendor"

VAPI = {
    "message": {
        "type": "end-of-call-report",
        "endedReason": "customer-ended-call",
        "timestamp": 0,
        "startedAt": "2026-11-27T10:00:00.000Z",
        "endedAt": "2026-11-27T10:01:05.000Z",
        "durationSeconds": 65.2,
        "call": {"id": "vapi-call-1", "type": "inboundPhoneCall", "assistantId": "asst-1"},
        "customer": {"number": "+14155550142"},
        "assistant": {"id": "asst-1", "name": "Booking"},
        "artifact": {
            "messages": [
                {
                    "role": "system",
                    "message": "You are a booking assistant.",
                    "time": 1,
                    "secondsFromStart": 0,
                },
                {
                    "role": "bot",
                    "message": "Hello, how can I help you today?",
                    "secondsFromStart": 1.2,
                    "duration": 2100,
                },
                {
                    "role": "user",
                    "message": "I want to move my appointment to Friday.",
                    "secondsFromStart": 4.0,
                    "duration": 2500,
                },
                {"role": "tool_calls", "message": "", "secondsFromStart": 7.0},
                {
                    "role": "bot",
                    "message": "It is moved to Friday at nine.",
                    "secondsFromStart": 8.1,
                    "duration": 2000,
                },
            ]
        },
    }
}
RETELL = {
    "event": "call_ended",
    "call": {
        "call_type": "phone_call",
        "call_id": "Jabr9TXYYJHfvl6Syypi88rdAHYHmcq6",
        "agent_id": "oBeDLoLOeuAbiuaMFXRtDOLriTJ5tSxD",
        "from_number": "+12137771234",
        "to_number": "+12137771235",
        "direction": "inbound",
        "call_status": "ended",
        "start_timestamp": 1714608475945,
        "end_timestamp": 1714608491736,
        "duration_ms": 15791,
        "disconnection_reason": "user_hangup",
        "transcript": "Agent: hi how are you doing?\nUser: Doing pretty well.\n",
        "transcript_object": [
            {
                "role": "agent",
                "content": "hi how are you doing?",
                "words": [
                    {"word": "hi", "start": 0.7, "end": 1.3},
                    {"word": "doing?", "start": 1.4, "end": 2.0},
                ],
            },
            {
                "role": "user",
                "content": "Doing pretty well.",
                "words": [{"word": "Doing", "start": 2.4, "end": 3.0}],
            },
            {"role": "tool_call_invocation", "content": "", "words": []},
        ],
    },
}
ELEVENLABS = {
    "type": "post_call_transcription",
    "event_timestamp": 1739537297,
    "data": {
        "agent_id": "xyz",
        "conversation_id": "abc",
        "status": "done",
        "transcript": [
            {
                "role": "agent",
                "message": "Hey there angelo. How are you?",
                "time_in_call_secs": 0,
                "tool_calls": None,
            },
            {
                "role": "user",
                "message": "Hey, can you tell me, like, a fun fact about 11 Labs?",
                "time_in_call_secs": 2,
            },
            {"role": "agent", "message": None, "time_in_call_secs": 9},
        ],
        "metadata": {
            "start_time_unix_secs": 1739537297,
            "call_duration_secs": 22,
            "termination_reason": "",
            "phone_call": {"direction": "outbound", "external_number": "+14155550142"},
        },
    },
}
TWILIO = {
    "AccountSid": "AC" + "0a" * 16,
    "CallSid": "CA" + "0b" * 16,
    "RecordingSid": "RE" + "0c" * 16,
    "RecordingUrl": f"https://api.twilio.com/2010-04-01/Accounts/AC{'0a' * 16}/Recordings/RE{'0c' * 16}",
    "RecordingStatus": "completed",
    "RecordingDuration": "4",
    "RecordingChannels": "2",
    "RecordingStartTime": "Tue, 24 Aug 2010 09:16:00 +0000",
    "RecordingSource": "RecordVerb",
}
ZENDESK = {
    "type": "zen:event-type:ticket.status_changed",
    "account_id": 22129848,
    "id": "cbe4028c-7239-495d-b020-f22348516046",
    "time": "2026-11-27T06:38:57.181121Z",
    "subject": "zen:ticket:5158",
    "detail": {"id": "5158", "status": "SOLVED", "requester_id": "1"},
    "event": {"current": "SOLVED", "previous": "OPEN"},
}
INTERCOM = {
    "type": "notification_event",
    "id": "notif_ccd8a4d0-f965-11e3-a367-c779cae3e1b3",
    "topic": "conversation.admin.closed",
    "created_at": 0,
    "data": {
        "type": "notification_event_data",
        "item": {"type": "conversation", "id": "1911149811"},
    },
}
CHATWOOT = {
    "event": "conversation_status_changed",
    "id": 7,
    "inbox_id": 1,
    "channel": "Channel::WebWidget",
    "status": "resolved",
    "messages": [
        {
            "id": 23,
            "content": "Conversation was resolved",
            "account_id": 3,
            "conversation_id": 7,
            "message_type": 2,
            "created_at": 1627063369,
        }
    ],
    "meta": {"sender": {"id": 12, "name": "Ida", "type": "contact"}},
}
ZAMMAD = {
    "ticket": {
        "id": 12,
        "number": "10012",
        "title": "Parcel",
        "state": "closed",
        "state_id": 4,
    },
    "article": {"id": 31, "ticket_id": 12, "body": "Solved."},
}
_SAID = ("Where is my parcel?", "She is angry.", "It arrives on Friday.")
_HTML = [f"<p>{text}</p>" for text in _SAID]
_TIMES = [f"2026-11-26T{hour}:00:00Z" for hour in (10, 11, 12, 13)]
_SECONDS = [1_795_514_400 + 100 * number for number in range(4)]
_IDA, _ANN = {"type": "user", "name": "Ida"}, {"type": "admin", "name": "Ann Lee"}
# What the vendors answer when they are asked for the messages, by path; the second is a private note.
ANSWERS: dict[str, dict[str, Any]] = {
    "zendesk": {
        "/api/v2/tickets/5158/comments.json?include=users&page%5Bsize%5D=100": {
            "comments": [
                {
                    "id": number,
                    "author_id": 2 if number in (1, 2) else 1,
                    "public": number != 1,
                    "html_body": html,
                    "plain_body": html and "> quoted",
                    "created_at": _TIMES[number],
                    "via": {"channel": "email"},
                }
                for number, html in enumerate([*_HTML, ""])
            ],
            "users": [
                {"id": 1, "name": "Ida", "role": "end-user"},
                {"id": 2, "name": "Ann Lee", "role": "agent"},
            ],
            "meta": {"has_more": False},
        }
    },
    "intercom": {
        "/conversations/1911149811": {
            "id": "1911149811",
            "created_at": _SECONDS[0],
            "source": {"type": "conversation", "body": _HTML[0], "author": _IDA},
            "conversation_parts": {
                "conversation_parts": [
                    {"part_type": kind, "body": body, "created_at": seconds, "author": _ANN}
                    for kind, body, seconds in zip(
                        ("note", "comment", "close"), [*_HTML[1:], None], _SECONDS[1:], strict=True
                    )
                ]
            },
        }
    },
    "chatwoot": {
        "/api/v1/accounts/3/conversations/7/messages": {
            "payload": [
                {
                    "id": 20 + number,
                    "content": text,
                    "message_type": kind,
                    "private": number == 1,
                    "created_at": _SECONDS[number],
                    "sender": _IDA if kind == 0 else _ANN,
                }
                for number, (kind, text) in enumerate(
                    zip((0, 1, 1, 2), [*_SAID, "Conversation was resolved"], strict=True)
                )
            ]
        },
        "/api/v1/accounts/3/conversations/7/messages?before=20": {"payload": []},
    },
    "zammad": {
        "/api/v1/ticket_articles/by_ticket/12": [
            {
                "id": 29 + number,
                "ticket_id": 12,
                "sender": "Agent" if number else "Customer",
                "from": "Ann Lee <ann@example.com>" if number else "Ida <ida@example.com>",
                "subject": f"Re: {number}",
                "body": _HTML[number] if number else _SAID[0],
                "content_type": "text/html" if number else "text/plain",
                "internal": number == 1,
                "created_at": _TIMES[number],
            }
            for number in range(3)
        ]
    },
}


@dataclass(frozen=True)
class Sent:
    """A request to be sent to a source."""

    body: bytes
    headers: dict[str, str]


def _hmac(message: bytes, algorithm: str = "sha256", secret: str = SECRET) -> "hmac.HMAC":
    return hmac.new(secret.encode(), message, algorithm)


def signed(
    source: str,
    document: Mapping[str, Any],
    now_s: float,
    *,
    address: str = "",
    secret: str = SECRET,
) -> Sent:
    """Sign a document as its source does, at this time."""
    body = json.dumps(document).encode()
    seconds = str(int(now_s))
    if source == "vapi":
        headers = {"x-vapi-signature": _hmac(body, secret=secret).hexdigest()}
    elif source == "retell":
        stamp = str(int(now_s * 1000))
        headers = {
            "x-retell-signature": f"v={stamp},d={_hmac(body + stamp.encode(), secret=secret).hexdigest()}"
        }
    elif source == "elevenlabs":
        digest = _hmac(f"{seconds}.".encode() + body, secret=secret).hexdigest()
        headers = {"ElevenLabs-Signature": f"t={seconds},v0={digest}"}
    elif source == "twilio":
        body = urlencode(document).encode()
        text = address + "".join(key + document[key] for key in sorted(document))
        digest = base64.b64encode(_hmac(text.encode(), "sha1", secret).digest()).decode()
        headers = {
            "X-Twilio-Signature": digest,
            "Content-Type": "application/x-www-form-urlencoded",
        }
    elif source == "zendesk":
        stamp = datetime.fromtimestamp(now_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        digest = base64.b64encode(_hmac(stamp.encode() + body, secret=secret).digest()).decode()
        headers = {
            "X-Zendesk-Webhook-Signature": digest,
            "X-Zendesk-Webhook-Signature-Timestamp": stamp,
        }
    elif source == "chatwoot":
        digest = _hmac(f"{seconds}.".encode() + body, secret=secret).hexdigest()
        headers = {"X-Chatwoot-Signature": f"sha256={digest}", "X-Chatwoot-Timestamp": seconds}
    else:
        headers = {"X-Hub-Signature": f"sha1={_hmac(body, 'sha1', secret).hexdigest()}"}
    return Sent(body, {"Content-Type": "application/json", **headers})
