"""Pages of sources: vendors whose webhooks are taken, switched on with their secrets, and what arrived."""

from flask import render_template, request
from werkzeug.wrappers import Response

from app.core.errors import NotFound
from app.dashboard import forms
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.forms import redirect_with
from app.dashboard.pages.audited import audited
from app.dashboard.pickers import options_of
from app.dashboard.views.filters import FIELDS
from app.intake import service
from app.intake.catalogue import VENDORS
from app.intake.vendor import Vendor
from app.people.audit import Action
from app.web.addresses import public_address
from app.web.current import current_runtime
from app.web.principal import EXPENSIVE, require_scope

_SCOPE = "webhooks:manage"
blp = PageBlueprint("sources", __name__, url_prefix="/sources", scope=_SCOPE)

_DEFAULTS = [field for field in FIELDS if field.name in ("campaignId", "callCenterId")]


@blp.get("")
def list_page() -> str:
    """Show every source, and what those that are switched on have sent in the last 24 hours."""
    with current_runtime().db.reading() as session:
        states = service.states(session)
    return render_template("sources/list.html", vendors=VENDORS.values(), states=states)


@blp.get("/<name>")
def show(name: str) -> str:
    """Show the settings of a source and what it has sent."""
    vendor, runtime = _vendor_of(name), current_runtime()
    with runtime.db.reading() as session:
        state, _ = service.states(session).get(name, (None, {}))
        config, removable = service.shown_config(session, runtime.keyring, vendor)
        return render_template(
            "sources/show.html",
            vendor=vendor,
            state=state,
            config={**config, **request.form},
            removable=removable,
            deliveries=service.latest(session, name),
            address=f"{public_address(runtime.settings)}/intake/{name}",
            pickers=_DEFAULTS,
            options=options_of(session, {}),
            defaults=dict(state.defaults) if state else {},
        )


@blp.post("/<name>")
@forms.shown_again(show)
def switch_on(name: str) -> Response:
    """Switch a source on, or change its settings."""
    vendor, keyring = _vendor_of(name), current_runtime().keyring
    defaults = forms.given(*(field.name for field in _DEFAULTS))
    with audited(Action.SOURCE_CHANGED, name) as session:
        removed = request.form.getlist("remove")
        service.switch_on(session, keyring, vendor, request.form, defaults, removed)
    return redirect_with("source-on", "sources.show", name=name)


@blp.post("/<name>/off")
def switch_off(name: str) -> Response:
    """Switch a source off."""
    with audited(Action.SOURCE_CHANGED, _vendor_of(name).name) as session:
        service.switch_off(session, name)
    return redirect_with("source-off", "sources.show", name=name)


@blp.post("/<name>/deliveries/<id:delivery_id>/retry")
@require_scope(_SCOPE, policy=EXPENSIVE)
def try_again(name: str, delivery_id: str) -> Response:
    """Try a failed delivery again."""
    vendor = _vendor_of(name)
    with audited(Action.SOURCE_RETRIED, delivery_id) as session:
        service.try_again(session, delivery_id)
    return redirect_with("tried-again", "sources.show", name=vendor.name)


def _vendor_of(name: str) -> Vendor:
    if name not in VENDORS:
        raise NotFound("There is no such source.")
    return VENDORS[name]
