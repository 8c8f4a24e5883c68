"""Endpoints of API keys."""

from dataclasses import replace
from typing import Any

from app.api_keys import schemas, service
from app.core.database.paging import PageRequest
from app.core.database.session import after_commit
from app.web.api import Blueprint, if_match
from app.web.current import current_runtime
from app.web.principal import KEYS, current_principal, require_scope

blp = Blueprint(
    "api-keys", __name__, url_prefix="/api-keys", description="API keys of integrations"
)


@blp.get("")
@require_scope("keys:manage")
@blp.arguments(schemas.KeyQuery, location="query")
@blp.response(200, schemas.KeySchema(many=True))
def list_api_keys(query: dict[str, PageRequest]) -> Any:
    """List the API keys, revoked ones included."""
    with current_runtime().db.reading() as session:
        page = service.list_page(session, query["page_request"], caller=current_principal())
        return replace(page, items=service.records_of(session, page.items))


@blp.post("")
@require_scope("keys:manage", policy=KEYS)
@blp.arguments(schemas.KeyCreate)
@blp.response(201, schemas.IssuedKeySchema, etag=True)
def create_api_key(body: dict[str, Any]) -> Any:
    """Create an API key; only this answer shows its two strings."""
    runtime = current_runtime()
    with runtime.db.writing() as session:
        issued = service.create_key(session, runtime.keyring, **body, caller=current_principal())
        return service.issued_record(session, issued)


@blp.patch("/<id:key_id>")
@require_scope("keys:manage", policy=KEYS)
@blp.arguments(schemas.KeyChange)
@blp.response(200, schemas.KeySchema, etag=True)
def change_api_key(changes: dict[str, Any], key_id: str) -> Any:
    """Change the given fields of an API key."""
    with current_runtime().db.writing() as session:
        key = service.change_key(
            session, key_id, changes, caller=current_principal(), if_match=if_match()
        )
        after_commit(session, current_runtime().state.new_key_version)
        [record] = service.records_of(session, [key])
    return record


@blp.delete("/<id:key_id>")
@require_scope("keys:manage", policy=KEYS)
@blp.response(204)
def revoke_api_key(key_id: str) -> None:
    """Revoke an API key; it stops working before this answer is sent."""
    with current_runtime().db.writing() as session:
        service.revoke_key(session, key_id, caller=current_principal())
        after_commit(session, current_runtime().state.new_key_version)


@blp.post("/<id:key_id>/rotate")
@require_scope("keys:manage", policy=KEYS)
@blp.arguments(schemas.KeyRotate)
@blp.response(200, schemas.IssuedKeySchema, etag=True)
def rotate_api_key(body: dict[str, int], key_id: str) -> Any:
    """Replace both strings of an API key; the previous pair works for the grace period."""
    runtime = current_runtime()
    grace_s = body["grace_period_seconds"]
    with runtime.db.writing() as session:
        issued = service.rotate_key(
            session, runtime.keyring, key_id, grace_period_s=grace_s, caller=current_principal()
        )
        after_commit(session, runtime.state.new_key_version)
        return service.issued_record(session, issued)
