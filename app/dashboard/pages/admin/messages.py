"""Messages: the rules that send them, their targets, the mail server, and digests."""

from collections.abc import Mapping
from typing import Any

from flask import render_template, request
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response

from app.alerts import digests, schemas
from app.alerts.enums import AlertTrigger, Every
from app.alerts.rules import RULES
from app.core.database.paging import PageRequest
from app.core.database.records import Records
from app.core.errors import NotFound
from app.dashboard import forms
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.forms import redirect_with
from app.dashboard.pages.audited import audited, record
from app.dashboard.pickers import FILTERS, filter_options
from app.people.audit import Action
from app.people.gate import current_person
from app.web.current import current_runtime
from app.web.principal import EXPENSIVE, require_scope
from app.webhooks import mail_server, service, targets
from app.webhooks.enums import MESSAGE_KINDS, MailSecurity, TargetKind

_SCOPE = "webhooks:manage"
blp = PageBlueprint("messages", __name__, scope=_SCOPE)
_ALL = PageRequest(page_size=100)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_SAVED = {RULES.noun: Action.ALERT_RULE_SAVED, digests.DIGESTS.noun: Action.DIGEST_SAVED}
_DELETED = {RULES.noun: Action.ALERT_RULE_DELETED, digests.DIGESTS.noun: Action.DIGEST_DELETED}


@blp.get("/messages")
def show(saved_id: str | None = None) -> str:
    """Show the rules, and the form for a new one."""
    with current_runtime().db.reading() as session:
        return render_template(
            "messages/rules.html",
            rules=RULES.list_page(session, _ALL).items,
            triggers=AlertTrigger.labels(),
            saved=RULES.show(session, saved_id) if saved_id else None,
            **_choices(session),
        )


@blp.post("/messages")
@forms.shown_again(show, inside="filters")
def create_rule() -> str:
    """Create a rule, and say what it would have sent."""
    typed = {
        **_typed(),
        "below": forms.whole("below"),
        "targetIds": request.form.getlist("targetIds"),
        "withWords": "withWords" in request.form,
    }
    return show(_create(RULES, schemas.RuleCreate(), typed))


@blp.post("/messages/rules/<id:rule_id>")
def change_rule(rule_id: str) -> Response:
    """Switch a rule on or off, or delete it."""
    return _changed(RULES, rule_id, "messages.show")


@blp.get("/messages/targets")
def show_targets() -> str:
    """Show where messages can go, and the mail server."""
    with current_runtime().db.reading() as session:
        try:
            server = mail_server.find(session)
        except NotFound:
            server = None
        return render_template(
            "messages/targets.html",
            server=server,
            security=list(MailSecurity.labels().items()),
            offered=[(kind.value, kind.label) for kind in MESSAGE_KINDS],
            **_choices(session),
        )


@blp.post("/messages/targets")
@forms.shown_again(show_targets)
def create_target() -> Response:
    """Create a target."""
    runtime = current_runtime()
    values = forms.load(schemas.TargetCreate(), request.form)
    if values["kind"] != TargetKind.EMAIL:
        service.check_url(runtime.settings, values["address"], field="address")
    with runtime.db.writing() as session:
        made = targets.create(session, runtime.keyring, **values)
        record(session, Action.WEBHOOK_CREATED, made["id"])
    return redirect_with("saved", "webhooks.show", subscription_id=made["id"])


@blp.post("/messages/mail-server")
@forms.shown_again(show_targets)
def set_mail_server() -> Response:
    """Set the mail server."""
    runtime = current_runtime()
    values = forms.load(schemas.MailServerBody(), {**request.form, "port": forms.whole("port")})
    mail_server.check_address(runtime.settings, values["host"], values["port"])
    with audited(Action.MAIL_SERVER_SET, values["host"]) as session:
        mail_server.replace(session, runtime.keyring, **values)
    return redirect_with("saved", "messages.show_targets")


@blp.get("/messages/digests")
def show_digests() -> str:
    """Show the digests, and the form for a new one."""
    with current_runtime().db.reading() as session:
        return render_template(
            "messages/digests.html",
            digests=digests.DIGESTS.list_page(session, _ALL).items,
            every=Every.labels(),
            weekdays=list(enumerate(_WEEKDAYS)),
            timezone=current_person().timezone,
            **_choices(session),
        )


@blp.post("/messages/digests")
@forms.shown_again(show_digests, inside="filters")
def create_digest() -> Response:
    """Create a digest, and show what it says."""
    typed = {**_typed(), "weekday": forms.whole("weekday"), "hour": forms.whole("hour")}
    made = _create(digests.DIGESTS, schemas.DigestCreate(), typed)
    return redirect_with("saved", "messages.show_digest", digest_id=made)


@blp.get("/messages/digests/<id:digest_id>")
@require_scope(_SCOPE, policy=EXPENSIVE)
def show_digest(digest_id: str) -> str:
    """Show what a digest would say now."""
    runtime = current_runtime()
    with runtime.db.reading() as session:
        digest = digests.DIGESTS.find(session, digest_id)
        message = digests.preview(session, runtime, digest_id)
    return render_template("messages/digest.html", digest=digest, message=message)


@blp.post("/messages/digests/<id:digest_id>")
def change_digest(digest_id: str) -> Response:
    """Switch a digest on or off, or delete it."""
    return _changed(digests.DIGESTS, digest_id, "messages.show_digests")


def _create(records: Records[Any], schema: Any, typed: Mapping[str, Any]) -> str:
    values = forms.load(schema, typed)
    with current_runtime().db.writing() as session:
        made_id: str = records.create(session, values, created_by=current_person().user_id).id
        record(session, _SAVED[records.noun], made_id)
    return made_id


def _changed(records: Records[Any], record_id: str, page: str) -> Response:
    change = request.form.get("change")
    is_deleted = change == "delete"
    with audited((_DELETED if is_deleted else _SAVED)[records.noun], record_id) as session:
        if is_deleted:
            records.remove(session, record_id)
        else:
            records.change(session, record_id, {"active": change == "on"})
    return redirect_with("saved", page)


def _typed() -> dict[str, Any]:
    return {**request.form, "filters": forms.given(*FILTERS)}


def _choices(session: Session) -> dict[str, Any]:
    return {
        "typed": request.form,
        "filters": filter_options(session),
        "targets": targets.list_page(session, _ALL).items,
        "kinds": TargetKind.labels(),
    }
