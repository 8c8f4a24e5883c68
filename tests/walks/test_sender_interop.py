"""Deliveries checked from outside: by the official verifier, the plain formula, and the schemas."""

import hashlib
import hmac
from typing import Any, cast

import pytest
from jsonschema import Draft202012Validator
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from app.events import outbox
from app.events.catalogue import CATALOGUE, EventType
from app.events.data import EventData
from app.events.schemas import schema_of
from app.webhooks import deliveries, service
from tests.receiver import Received, Receiver
from tests.webhook_harness import WebhookHarness

ALL = list(EventType)


def subscribe_to_all(harness: WebhookHarness, url: str) -> tuple[str, str]:
    with harness.runtime.db.writing() as session:
        made = service.create(session, harness.runtime.keyring, url=url, events=ALL)
    return made["id"], made["signing_secret"]


def check(request: Received, *secrets: str) -> dict[str, Any]:
    """Verify a delivery in both ways with each secret; return its envelope."""
    for secret in secrets:
        assert Webhook(secret).verify(request.body, request.headers) == request.event
    plain = hmac.new(secrets[0].encode(), request.body, hashlib.sha256).hexdigest()
    assert request.headers["x-webhook-signature"] == plain
    assert request.headers["x-webhook-timestamp"] == request.headers["webhook-timestamp"]
    Draft202012Validator(
        schema_of(EventType(request.event["event"])),
        format_checker=Draft202012Validator.FORMAT_CHECKER,
    ).validate(request.event)
    return request.event


def test_every_event_type_verifies_and_matches_its_schema(
    harness: WebhookHarness, receiver: Receiver
) -> None:
    subscription_id, secret = subscribe_to_all(harness, receiver.url())
    for event in ALL:
        with harness.runtime.db.writing() as session:
            outbox.publish(session, event, CATALOGUE[event].sample)
        with harness.runtime.db.writing() as session:
            deliveries.send_test(session, subscription_id, event)
    harness.start_sender()
    envelopes = [check(request, secret) for request in receiver.wait_for(2 * len(ALL))]
    assert sorted(envelope["event"] for envelope in envelopes) == sorted(2 * ALL)
    assert sum("test" in envelope["data"] for envelope in envelopes) == len(ALL)


def test_both_secrets_verify_while_they_overlap(
    harness: WebhookHarness, receiver: Receiver
) -> None:
    subscription_id, old = subscribe_to_all(harness, receiver.url())
    with harness.runtime.db.writing() as session:
        made = service.rotate_secret(
            session, harness.runtime.keyring, subscription_id, overlap_s=60
        )
    harness.publish()
    harness.start_sender()
    [request] = receiver.wait_for(1)
    check(request, made["signing_secret"], old)


def test_a_changed_body_is_refused(harness: WebhookHarness, receiver: Receiver) -> None:
    _, secret = subscribe_to_all(harness, receiver.url())
    harness.publish()
    harness.start_sender()
    [request] = receiver.wait_for(1)
    request.body += b" "
    with pytest.raises(WebhookVerificationError):
        check(request, secret)


def test_a_body_that_is_too_large_arrives_shortened_and_valid(
    harness: WebhookHarness, receiver: Receiver
) -> None:
    _, secret = subscribe_to_all(harness, receiver.url())
    event = EventType.EVALUATION_COMPLETED
    sample = cast("dict[str, Any]", CATALOGUE[event].sample)
    with harness.runtime.db.writing() as session:
        long = cast(EventData, {**sample, "campaign": "Ж" * 200_000})
        outbox.publish(session, event, long)
    harness.start_sender()
    [request] = receiver.wait_for(1)
    assert len(request.body) < 1000
    assert check(request, secret)["data"] == {**sample, "campaign": ""}
