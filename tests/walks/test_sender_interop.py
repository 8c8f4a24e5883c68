"""Deliveries as others see them: the official verifier, the plain formula, the published schemas."""

import hashlib
import hmac
from typing import Any, cast

import pytest
from jsonschema import Draft202012Validator
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from app.events import outbox
from app.events.catalogue import CATALOGUE, EventType, schema_of
from app.events.payloads import EventData
from app.webhooks import deliveries, service
from tests.receiver import Received, Receiver
from tests.sending import Desk

ALL = list(EventType)


def subscribe_to_all(desk: Desk, url: str) -> tuple[str, str]:
    with desk.parts.db.writing() as session:
        made = service.create(session, desk.parts.keyring, url=url, events=ALL)
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


def test_every_type_is_verified_by_others_and_obeys_its_schema(
    desk: Desk, receiver: Receiver
) -> None:
    subscription_id, secret = subscribe_to_all(desk, receiver.url())
    for event in ALL:
        with desk.parts.db.writing() as session:
            outbox.publish(session, event, CATALOGUE[event].sample)
        with desk.parts.db.writing() as session:
            deliveries.send_test(session, subscription_id, event=event)
    desk.start_sender()
    found = [check(each, secret) for each in receiver.wait_for(2 * len(ALL))]
    assert sorted(each["event"] for each in found) == sorted(2 * [each.value for each in ALL])
    assert sum("test" in each["data"] for each in found) == len(ALL)


def test_both_secrets_verify_while_they_overlap(desk: Desk, receiver: Receiver) -> None:
    subscription_id, old = subscribe_to_all(desk, receiver.url())
    with desk.parts.db.writing() as session:
        made = service.rotate_secret(session, desk.parts.keyring, subscription_id, overlap_s=60)
    desk.publish()
    desk.start_sender()
    [request] = receiver.wait_for(1)
    check(request, made["signing_secret"], old)


def test_a_body_that_was_touched_is_refused(desk: Desk, receiver: Receiver) -> None:
    _, secret = subscribe_to_all(desk, receiver.url())
    desk.publish()
    desk.start_sender()
    [request] = receiver.wait_for(1)
    request.body += b" "
    with pytest.raises(WebhookVerificationError):
        check(request, secret)


def test_a_body_that_is_too_large_arrives_thinned_and_valid(desk: Desk, receiver: Receiver) -> None:
    _, secret = subscribe_to_all(desk, receiver.url())
    event = EventType.EVALUATION_COMPLETED
    sample = cast("dict[str, Any]", CATALOGUE[event].sample)
    with desk.parts.db.writing() as session:
        long = cast(EventData, {**sample, "campaign": "Ж" * 200_000})
        outbox.publish(session, event, long)
    desk.start_sender()
    [request] = receiver.wait_for(1)
    assert len(request.body) < 1000
    assert check(request, secret)["data"] == {**sample, "campaign": ""}
