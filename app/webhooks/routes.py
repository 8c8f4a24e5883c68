"""Endpoints of webhooks."""

from typing import Any

from app.core.database.paging import PageRequest, cut_page
from app.events.schemas import described_types
from app.web.api import Blueprint, if_match
from app.web.current import current_runtime
from app.web.principal import EXPENSIVE, require_scope
from app.webhooks import deliveries, history, schemas, service

blp = Blueprint(
    "webhooks",
    __name__,
    url_prefix="/webhooks",
    description="Events sent to you",
    scope="webhooks:manage",
)


@blp.get("")
@blp.arguments(schemas.SubscriptionQuery, location="query")
@blp.response(200, schemas.SubscriptionSchema(many=True))
def list_webhooks(query: dict[str, PageRequest]) -> Any:
    """List the webhook subscriptions."""
    with current_runtime().db.reading() as session:
        return service.list_page(session, query["page_request"])


@blp.post("")
@blp.arguments(schemas.SubscriptionCreate)
@blp.response(201, schemas.IssuedSubscriptionSchema, etag=True)
def create_webhook(body: dict[str, Any]) -> Any:
    """Create a webhook subscription; only this response shows its signing secret."""
    runtime = current_runtime()
    service.check_url(runtime.settings, body["url"])
    with runtime.db.writing() as session:
        return service.create(session, runtime.keyring, **body)


@blp.patch("/<id:subscription_id>")
@blp.arguments(schemas.SubscriptionChange)
@blp.response(200, schemas.SubscriptionSchema, etag=True)
def change_webhook(changes: dict[str, Any], subscription_id: str) -> Any:
    """Change the given fields of a subscription; `active` true switches it on again."""
    if "url" in changes:
        service.check_url(current_runtime().settings, changes["url"])
    with current_runtime().db.writing() as session:
        return service.change(session, subscription_id, changes, if_match=if_match())


@blp.delete("/<id:subscription_id>")
@blp.response(204)
def delete_webhook(subscription_id: str) -> None:
    """Delete a subscription: pending deliveries are canceled, the history stays."""
    with current_runtime().db.writing() as session:
        service.remove(session, subscription_id)


@blp.post("/<id:subscription_id>/test")
@require_scope("webhooks:manage", policy=EXPENSIVE)
@blp.arguments(schemas.TestRequest)
@blp.response(202, schemas.StartedDeliverySchema)
def test_webhook(body: dict[str, str], subscription_id: str) -> Any:
    """Send a test event in the same way as a real one."""
    with current_runtime().db.writing() as session:
        return deliveries.send_test(session, subscription_id, body.get("event"))


@blp.get("/<id:subscription_id>/deliveries")
@blp.arguments(schemas.DeliveryQuery, location="query")
@blp.response(200, schemas.DeliverySchema(many=True))
def list_webhook_deliveries(query: dict[str, Any], subscription_id: str) -> Any:
    """Show the delivery history of a subscription."""
    request = query.pop("page_request")
    with current_runtime().db.reading() as session:
        return history.list_page(session, subscription_id, request, **query)


@blp.post("/<id:subscription_id>/deliveries/<id:delivery_id>/redeliver")
@require_scope("webhooks:manage", policy=EXPENSIVE)
@blp.response(202, schemas.StartedDeliverySchema)
def redeliver_webhook(subscription_id: str, delivery_id: str) -> Any:
    """Send the event of a delivery once more, in one attempt."""
    with current_runtime().db.writing() as session:
        return deliveries.redeliver(session, subscription_id, delivery_id)


@blp.post("/<id:subscription_id>/recover")
@require_scope("webhooks:manage", policy=EXPENSIVE)
@blp.arguments(schemas.RecoverRequest)
@blp.response(202, schemas.RecoveredSchema)
def recover_webhook(body: dict[str, Any], subscription_id: str) -> Any:
    """Send every event again whose latest delivery failed, was canceled or missed."""
    return {"count": deliveries.recover(current_runtime().db, subscription_id, **body)}


@blp.post("/<id:subscription_id>/rotate-secret")
@blp.arguments(schemas.SecretRotate)
@blp.response(200, schemas.IssuedSubscriptionSchema, etag=True)
def rotate_webhook_secret(body: dict[str, int], subscription_id: str) -> Any:
    """Replace the signing secret; the previous one also signs for a while."""
    runtime = current_runtime()
    overlap_s = body["overlap_seconds"]
    with runtime.db.writing() as session:
        return service.rotate_secret(session, runtime.keyring, subscription_id, overlap_s=overlap_s)


@blp.get("/event-types")
@blp.arguments(schemas.SubscriptionQuery, location="query")
@blp.response(200, schemas.EventTypeSchema(many=True))
def list_event_types(query: dict[str, PageRequest]) -> Any:
    """List the event types, each with a JSON Schema and an example."""
    return cut_page(described_types(), query["page_request"])
