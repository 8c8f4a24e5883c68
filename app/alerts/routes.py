"""Endpoints of alert rules, digests, targets of messages, and the mail server."""

from typing import Any

from app.alerts import digests, schemas
from app.alerts.rules import RULES
from app.web.api import Blueprint
from app.web.current import current_runtime
from app.web.principal import EXPENSIVE, require_scope
from app.web.records import add_endpoints
from app.webhooks import mail_server, service, targets
from app.webhooks.enums import TargetKind

_SCOPE = "webhooks:manage"
blp = Blueprint(
    "alerts",
    __name__,
    url_prefix="/alerts",
    description="Extension: messages for people",
    scope=_SCOPE,
)

add_endpoints(
    blp,
    "/rules",
    RULES,
    scope=_SCOPE,
    create=schemas.RuleCreate,
    change=schemas.RuleChange,
    shown=schemas.RuleSchema,
)
add_endpoints(
    blp,
    "/digests",
    digests.DIGESTS,
    scope=_SCOPE,
    create=schemas.DigestCreate,
    change=schemas.DigestChange,
    shown=schemas.DigestSchema,
)


@blp.get("/digests/<id:digest_id>/preview")
@require_scope(_SCOPE, policy=EXPENSIVE)
@blp.response(200, schemas.SentMessageSchema)
def preview_digest(digest_id: str) -> Any:
    """Show what a digest would say now; nothing is sent."""
    runtime = current_runtime()
    with runtime.db.reading() as session:
        return digests.preview(session, runtime, digest_id)


@blp.get("/targets")
@blp.arguments(schemas.TargetQuery, location="query")
@blp.response(200, schemas.TargetSchema(many=True))
def list_targets(query: dict[str, Any]) -> Any:
    """List the targets of messages."""
    with current_runtime().db.reading() as session:
        return targets.list_page(session, query["page_request"])


@blp.post("/targets")
@blp.arguments(schemas.TargetCreate)
@blp.response(201, schemas.TargetSchema)
def create_target(body: dict[str, Any]) -> Any:
    """Create a target; `/webhooks/{id}` tests, switches and deletes it and shows its deliveries."""
    runtime = current_runtime()
    if body["kind"] != TargetKind.EMAIL:
        service.check_url(runtime.settings, body["address"], field="address")
    with runtime.db.writing() as session:
        return targets.create(session, runtime.keyring, **body)


@blp.get("/mail-server")
@blp.response(200, schemas.MailServerSchema)
def get_mail_server() -> Any:
    """Show the mail server, without its password."""
    with current_runtime().db.reading() as session:
        return mail_server.find(session)


@blp.put("/mail-server")
@blp.arguments(schemas.MailServerBody)
@blp.response(200, schemas.MailServerSchema)
def put_mail_server(body: dict[str, Any]) -> Any:
    """Set the mail server that e-mail is sent through."""
    runtime = current_runtime()
    mail_server.check_address(runtime.settings, body["host"], body["port"])
    with runtime.db.writing() as session:
        return mail_server.replace(session, runtime.keyring, **body)


@blp.delete("/mail-server")
@blp.response(204)
def delete_mail_server() -> None:
    """Forget the mail server; e-mail waits until there is one again."""
    with current_runtime().db.writing() as session:
        mail_server.remove(session)
