"""API keys: created, rotated and revoked; their strings show once, in the answer to the form."""

from collections import ChainMap
from typing import Any

from flask import render_template, request
from werkzeug.wrappers import Response

from app.api_keys import schemas, service
from app.api_keys.credentials import IssuedKey
from app.api_keys.enums import SCOPES
from app.core.database.session import after_commit
from app.core.errors import Conflict, InsufficientScope, InvalidInput
from app.dashboard import forms, responses
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.forms import redirect_with
from app.dashboard.pages.audited import audited, record
from app.dashboard.pickers import teams_offered
from app.dashboard.queries import filters_of
from app.dashboard.words import WORDS
from app.people.audit import Action
from app.web.current import current_runtime
from app.web.principal import KEYS, current_principal, require_scope

_SCOPE = "keys:manage"
blp = PageBlueprint("keys", __name__, scope=_SCOPE)

_LISTS = ("scopes", "callCenterIds", "campaignIds")


@blp.get("/keys")
def list_page() -> str:
    """Show every key, and the form for a new one."""
    page_request = forms.load(schemas.KeyQuery(), request.args)["page_request"]
    with current_runtime().db.reading() as session:
        keys = service.list_page(session, page_request, caller=current_principal())
        return render_template(
            "keys/list.html",
            page_of_keys=keys,
            keys=service.records_of(session, keys.items),
            policies=list(WORDS["signaturePolicy"].items()),
            scopes=[scope for scope in SCOPES if scope in current_principal().scopes],
            typed=request.form,
            offered=teams_offered(session, {}),
        )


@blp.post("/keys")
@require_scope(_SCOPE, policy=KEYS)
@forms.shown_again(list_page, {Conflict: "name", InsufficientScope: "name"})
def create() -> tuple[str, int]:
    """Create a key; this answer alone shows its strings."""
    runtime = current_runtime()
    values = forms.load(schemas.KeyCreate(), _typed())
    with runtime.db.writing() as session:
        issued = service.create_key(session, runtime.keyring, **values, caller=current_principal())
        record(session, Action.KEY_CREATED, issued.key.id)
    return show(issued.key.id, issued=issued), 201


@blp.get("/keys/<id:key_id>")
def show(key_id: str, *, issued: IssuedKey | None = None) -> str:
    """Show one key."""
    if issued:
        responses.keep_uncompressed()
    with current_runtime().db.reading() as session:
        [key] = service.records_of(session, [service.get_key(session, key_id)])
        known = {
            "executiveId": key["executive_ids"],
            "callCenterIds": key["call_center_ids"],
            "campaignIds": key["campaign_ids"],
        }
        names = dict(ChainMap(*teams_offered(session, known).values()))
    return render_template(
        "keys/show.html",
        key=key,
        names=names,
        pair=issued.pair if issued else None,
        address=request.host_url.rstrip("/"),
    )


@blp.post("/keys/<id:key_id>/rotate")
@require_scope(_SCOPE, policy=KEYS)
def rotate(key_id: str) -> str:
    """Replace both strings of a key; the previous pair works for the chosen time."""
    runtime = current_runtime()
    grace_s = {"none": 0, "hour": 3600, "day": 86_400}.get(request.form.get("grace", ""), 0)
    with audited(Action.KEY_ROTATED, key_id) as session:
        issued = service.rotate_key(
            session, runtime.keyring, key_id, grace_period_s=grace_s, caller=current_principal()
        )
        after_commit(session, runtime.state.new_key_version)
    return show(key_id, issued=issued)


@blp.post("/keys/<id:key_id>/revoke")
@require_scope(_SCOPE, policy=KEYS)
@forms.shown_again(show)
def revoke(key_id: str) -> Response:
    """Revoke a key for good, if its name was typed."""
    runtime = current_runtime()
    with runtime.db.reading() as session:
        name = service.get_key(session, key_id).name
    if request.form.get("name", "").strip() != name:
        raise InvalidInput.field("name", "This is not the name of the key.")
    with audited(Action.KEY_REVOKED, key_id) as session:
        service.revoke_key(session, key_id, caller=current_principal())
        after_commit(session, runtime.state.new_key_version)
    return redirect_with("key-revoked", "keys.show", key_id=key_id)


def _typed() -> dict[str, Any]:
    expires_on = request.form.get("expiresAt", "")
    networks = [part.strip() for part in request.form.get("ipAllowlist", "").split(",")]
    return {
        **request.form,
        **{name: request.form.getlist(name) for name in _LISTS},
        # The beginning of the day in the person's zone.
        "expiresAt": filters_of({"from": expires_on}).moments()["from"] if expires_on else "",
        "ipAllowlist": [network for network in networks if network],
    }
