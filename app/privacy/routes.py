"""Endpoints of erasures."""

from typing import Any

from app.privacy import schemas, service
from app.web.api import Blueprint
from app.web.current import current_runtime
from app.web.principal import current_principal

blp = Blueprint(
    "privacy",
    __name__,
    url_prefix="/privacy",
    description="Extension: erasure of personal data",
    scope="data:erase",
)


@blp.post("/erase", tags=["privacy", "extension"])
@blp.arguments(schemas.EraseRequest)
@blp.response(202, schemas.ErasureSchema)
def erase_customer(body: dict[str, str]) -> Any:
    """Erase the texts and recordings of a customer; scores and metrics stay.

    Selects conversations by their `customerRef`, calls and recordings by a label of that name, and
    calls by the customer's telephone number. A worker erases; repeating the request is safe.
    """
    key_id = current_principal().key_id
    with current_runtime().db.writing() as session:
        return service.request(session, body["customer_ref"], requested_by=key_id)


@blp.get("/erasures/<id:erasure_id>", tags=["privacy", "extension"])
@blp.response(200, schemas.ErasureSchema)
def get_erasure(erasure_id: str) -> Any:
    """Show an erasure and its counts so far."""
    with current_runtime().db.reading() as session:
        return service.show(session, erasure_id)
