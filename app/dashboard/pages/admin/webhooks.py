"""Webhooks: receivers, how their deliveries go, and switching one on again."""

from datetime import timedelta

from flask import render_template, request
from werkzeug.wrappers import Response

from app.core.clock import utc_now
from app.core.database.paging import PageRequest
from app.dashboard import forms, responses
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.forms import redirect_with
from app.dashboard.pages.audited import audited, record
from app.events.catalogue import EventType
from app.people.audit import Action
from app.web.current import current_runtime
from app.web.principal import EXPENSIVE, require_scope
from app.webhooks import deliveries, history, schemas, service

_SCOPE = "webhooks:manage"
blp = PageBlueprint("webhooks", __name__, scope=_SCOPE)

_SHOWN = 20


@blp.get("/webhooks")
def list_page() -> str:
    """Show every webhook, and the form for a new one."""
    with current_runtime().db.reading() as session:
        webhooks = service.list_page(session, PageRequest(page_size=service.MOST_SUBSCRIPTIONS))
    return render_template(
        "webhooks/list.html",
        webhooks=webhooks.items,
        event_types=list(EventType),
        typed=request.form,
    )


@blp.post("/webhooks")
@forms.shown_again(list_page)
def create() -> tuple[str, int]:
    """Create a webhook; this answer alone shows its signing secret."""
    runtime = current_runtime()
    typed = {**request.form, "events": request.form.getlist("events")}
    values = forms.load(schemas.SubscriptionCreate(), typed)
    service.check_url(runtime.settings, values["url"])
    with runtime.db.writing() as session:
        created = service.create(session, runtime.keyring, **values)
        record(session, Action.WEBHOOK_CREATED, created["id"])
    return show(created["id"], secret=created["signing_secret"]), 201


@blp.get("/webhooks/<id:subscription_id>")
def show(subscription_id: str, *, secret: str = "") -> str:
    """Show a webhook with its latest deliveries."""
    if secret:
        responses.keep_uncompressed()
    a_day_ago = utc_now() - timedelta(days=1)
    with current_runtime().db.reading() as session:
        webhook = service.get(session, subscription_id)
        latest = history.list_page(session, subscription_id, PageRequest(page_size=_SHOWN))
        counts = {
            status: history.list_page(
                session, subscription_id, PageRequest(page_size=1), status=status, start=a_day_ago
            ).total_count
            for status in ("succeeded", "failed")
        }
        return render_template(
            "webhooks/show.html",
            webhook=webhook,
            latest=latest,
            counts=counts,
            missed=deliveries.count_missed(session, subscription_id),
            secret=secret,
        )


@blp.post("/webhooks/<id:subscription_id>/test")
@require_scope(_SCOPE, policy=EXPENSIVE)
def send_test(subscription_id: str) -> Response:
    """Send a test event; it is sent to a webhook that is switched off as well."""
    with audited(Action.WEBHOOK_TESTED, subscription_id) as session:
        deliveries.send_test(session, subscription_id, None)
    return redirect_with("test-sent", "webhooks.show", subscription_id=subscription_id)


@blp.post("/webhooks/<id:subscription_id>/switch")
def switch(subscription_id: str) -> Response:
    """Switch a webhook on again, or off."""
    active = request.form.get("active") == "true"
    with audited(Action.WEBHOOK_CHANGED, subscription_id) as session:
        service.change(session, subscription_id, {"active": active})
    notice = "webhook-on" if active else "webhook-off"
    return redirect_with(notice, "webhooks.show", subscription_id=subscription_id)


@blp.post("/webhooks/<id:subscription_id>/recover")
@require_scope(_SCOPE, policy=EXPENSIVE)
def recover(subscription_id: str) -> Response:
    """Send again every event whose latest delivery has failed or was missed."""
    runtime = current_runtime()
    deliveries.recover(runtime.db, subscription_id)
    with runtime.db.writing() as session:
        record(session, Action.WEBHOOK_RECOVERED, subscription_id)
    return redirect_with("sent-again", "webhooks.show", subscription_id=subscription_id)


@blp.post("/webhooks/<id:subscription_id>/deliveries/<id:delivery_id>/redeliver")
@require_scope(_SCOPE, policy=EXPENSIVE)
def redeliver(subscription_id: str, delivery_id: str) -> Response:
    """Send the event of a delivery once more."""
    with audited(Action.WEBHOOK_RECOVERED, subscription_id) as session:
        deliveries.redeliver(session, subscription_id, delivery_id)
    return redirect_with("sent-again", "webhooks.show", subscription_id=subscription_id)


@blp.post("/webhooks/<id:subscription_id>/secret")
def rotate_secret(subscription_id: str) -> str:
    """Replace the signing secret; the previous one also signs for a day."""
    runtime = current_runtime()
    overlap_s = forms.load(schemas.SecretRotate(), {})["overlap_seconds"]
    with audited(Action.WEBHOOK_SECRET_ROTATED, subscription_id) as session:
        issued = service.rotate_secret(
            session, runtime.keyring, subscription_id, overlap_s=overlap_s
        )
    return show(subscription_id, secret=issued["signing_secret"])


@blp.post("/webhooks/<id:subscription_id>/delete")
def delete(subscription_id: str) -> Response:
    """Delete a webhook; what waits to be sent is canceled."""
    with audited(Action.WEBHOOK_DELETED, subscription_id) as session:
        service.remove(session, subscription_id)
    return redirect_with("webhook-deleted", "webhooks.list_page")
