"""Sender of messages: e-mail over TLS, Slack and Teams, and kills; nothing is lost."""

from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from jsonschema import Draft202012Validator

from app.webhooks.enums import MailSecurity, TargetKind
from tests import kill_scenarios
from tests import receiver as answers
from tests.mail_server import PASSWORD, Mailbox, running_mail_server
from tests.receiver import Receiver
from tests.sampling import examples
from tests.sent_messages import add, send, set_server
from tests.webhook_harness import WebhookHarness

_TEXT = {"type": "string", "minLength": 1, "maxLength": 3000}


def _block(kind: str, **properties: Any) -> dict[str, Any]:
    return {
        "properties": {"type": {"const": kind}, **properties},
        "required": ["type", *properties],
        "additionalProperties": False,
    }


def _text(*kinds: str, longest: int) -> dict[str, Any]:
    return {
        "properties": {"type": {"enum": list(kinds)}, "text": {**_TEXT, "maxLength": longest}},
        "required": ["type", "text"],
        "additionalProperties": False,
    }


# What their documentation demands, as far as these messages use it.
SLACK = {
    "required": ["text", "blocks"],
    "properties": {
        "text": _TEXT,
        "blocks": {
            "minItems": 1,
            "maxItems": 50,
            "items": {
                "oneOf": [
                    _block("header", text=_text("plain_text", longest=150)),
                    _block("section", text=_text("mrkdwn", longest=3000)),
                    _block(
                        "context",
                        elements={"maxItems": 10, "items": _text("mrkdwn", longest=3000)},
                    ),
                ]
            },
        },
    },
}
TEAMS = {
    "required": ["type", "attachments"],
    "properties": {
        "type": {"const": "message"},
        "attachments": {
            "minItems": 1,
            "items": {
                "required": ["contentType", "content"],
                "properties": {
                    "contentType": {"const": "application/vnd.microsoft.card.adaptive"},
                    "content": {
                        "required": ["$schema", "type", "version", "body"],
                        "properties": {
                            "type": {"const": "AdaptiveCard"},
                            "version": {"enum": ["1.2", "1.3", "1.4", "1.5"]},
                            "body": {
                                "items": {
                                    "required": ["type", "text"],
                                    "properties": {"type": {"const": "TextBlock"}, "text": _TEXT},
                                }
                            },
                            "actions": {
                                "items": {
                                    "required": ["type", "title", "url"],
                                    "properties": {"url": {"pattern": "^https?://"}},
                                }
                            },
                        },
                    },
                },
            },
        },
    },
}
HOSTILE = "*Bold* <script>&\n[x](http://evil.example) \r\nBcc: all@example.com"


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    with running_mail_server() as mailbox:
        yield mailbox


def wait_for_ends(harness: WebhookHarness, target_id: str, count: int) -> list[dict[str, Any]]:
    def ended(found: list[dict[str, Any]]) -> bool:
        return len(found) >= count and all(each["status"] == "succeeded" for each in found)

    return harness.wait_until(target_id, ended)


@pytest.mark.sql
def test_a_message_reaches_mail_slack_and_teams_in_their_form(
    harness: WebhookHarness, receiver: Receiver, mailbox: Mailbox
) -> None:
    set_server(harness, mailbox)
    mail = add(harness, TargetKind.EMAIL, "lead@example.com")
    slack = add(harness, TargetKind.SLACK, receiver.url("/services/T0/B0/secret-token"))
    teams = add(harness, TargetKind.TEAMS, receiver.script("/workflow?sig=x", answers.status(202)))
    harness.start_sender()
    section = {
        "heading": HOSTILE,
        "lines": [{"text": HOSTILE, "url": "https://q.example/a?b=1&c=2", "words": HOSTILE}] * 60,
    }
    ends = "https://q.example/unsubscribe/dig_1/abc"
    event_id = send(
        harness, [mail, slack, teams], title=HOSTILE, sections=[section], unsubscribe_url=ends
    )
    for target in (mail, slack, teams):
        wait_for_ends(harness, target, 1)
    [letter] = mailbox.letters
    assert mailbox.encrypted == [True]
    assert letter["To"] == "lead@example.com"
    assert letter["Bcc"] is None
    assert letter["List-Unsubscribe"] == f"<{ends}>"
    assert letter["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert letter["Message-ID"] == f"<{event_id}@example.com>"
    text, page = letter.get_body(("plain",)), letter.get_body(("html",))
    assert text is not None
    assert "https://q.example/a?b=1&c=2" in text.get_content()
    assert page is not None
    assert "<script>" not in page.get_content()
    [posted] = receiver.received("/services/T0/B0/secret-token")
    document = orjson.loads(posted.body)
    Draft202012Validator(SLACK).validate(document)
    assert "<script>" not in repr(
        [block for block in document["blocks"] if block["type"] == "section"]
    )
    assert "x-webhook-signature" not in posted.headers
    [posted] = receiver.received("/workflow?sig=x")
    document = orjson.loads(posted.body)
    Draft202012Validator(TEAMS).validate(document)
    assert "[x](" not in repr(document)
    # The token of the URL is in no row that is read back.
    shown = repr(harness.history(slack)) + repr(vars(harness.subscription(slack)))
    assert "secret-token" not in shown


def test_a_refusal_is_tried_again_and_shown(harness: WebhookHarness, mailbox: Mailbox) -> None:
    set_server(harness, mailbox)
    mailbox.refusals.append("451 4.7.1 Greylisted, try again")
    target = add(harness, TargetKind.EMAIL, "lead@example.com")
    harness.start_sender()
    send(harness, [target])
    [delivery] = wait_for_ends(harness, target, 1)
    first, second = delivery["attempts"]
    assert (first["outcome"], first["status_code"]) == ("mail_error", 451)
    assert "Greylisted" in first["response_excerpt"]
    assert (second["outcome"], second["status_code"]) == ("success", 250)


@pytest.mark.parametrize(
    ("changes", "settings", "outcome", "words"),
    [
        ({"password": "wrong"}, {}, "mail_error", "535"),
        ({"host": "127.0.0.1"}, {}, "tls_error", "certificate"),
        ({}, {"webhook_allowed_cidrs": ()}, "blocked_url", "not allowed"),
        ({"security": MailSecurity.TLS}, {}, "tls_error", "TLS"),
    ],
)
def test_what_keeps_mail_from_being_sent_is_told(
    make_harness: Any,
    mailbox: Mailbox,
    changes: dict[str, Any],
    settings: dict[str, Any],
    outcome: str,
    words: str,
) -> None:
    harness = make_harness(**settings)
    set_server(harness, mailbox, **changes)
    target = add(harness, TargetKind.EMAIL, "lead@example.com")
    harness.start_sender()
    send(harness, [target])
    delivery = harness.wait_for_status(target, "failed")
    attempts = delivery["attempts"]
    assert {attempt["outcome"] for attempt in attempts} == {outcome}
    assert words in f"{attempts[0]['status_code']} {attempts[0]['error']}"
    assert PASSWORD not in repr(delivery)
    assert mailbox.letters == []


def test_mail_waits_until_there_is_a_server(harness: WebhookHarness, mailbox: Mailbox) -> None:
    target = add(harness, TargetKind.EMAIL, "lead@example.com")
    send(harness, [target])
    harness.start_sender()
    harness.wait_for_log("no mail server is set")
    [delivery] = harness.history(target)
    assert (delivery["status"], delivery["attempt_count"]) == ("pending", 0)
    set_server(harness, mailbox)
    wait_for_ends(harness, target, 1)


@pytest.mark.sql
def test_kills_lose_no_mail_and_no_message(
    harness: WebhookHarness, receiver: Receiver, mailbox: Mailbox
) -> None:
    audit = kill_scenarios.messages(harness, receiver, mailbox, kills=examples(20))
    assert audit.fair, audit
