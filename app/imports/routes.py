"""Endpoints of imports."""

from typing import Any

from flask import request

from app.core.errors import InvalidInput
from app.imports import request_parsing, service, uploads
from app.imports.schemas.requests import (
    ImportCreate,
    ImportLinesQuery,
    ImportQuery,
    ImportSchema,
    ImportUploadCreate,
    ImportUploadSchema,
)
from app.web.addresses import public_address
from app.web.api import Blueprint
from app.web.current import current_runtime
from app.web.parser import NDJSON
from app.web.principal import current_principal

blp = Blueprint(
    "imports",
    __name__,
    url_prefix="/imports",
    description="Extension: records from other systems",
    scope="ingest:write",
)
_LINES = (
    '{"externalId": "chat-1", "messages": [{"role": "customer", "text": "Where is my parcel?"}]}\n'
    '{"externalId": "chat-2", "messages": [{"role": "customer", "text": "Please cancel it."}]}\n'
)


@blp.post("", tags=["imports", "extension"])
@blp.arguments(ImportLinesQuery, location="query")
@blp.arguments(ImportCreate)
@blp.doc(requestBody={"content": {NDJSON: {"schema": {"type": "string"}, "example": _LINES}}})
@blp.response(202, ImportSchema)
def create_import(query: dict[str, Any], body: dict[str, Any]) -> Any:
    """Import records of other systems; a worker writes them.

    The body may also be JSON lines, `application/x-ndjson`, one record a line; the options are then
    in the query.
    """
    if query and request.mimetype != NDJSON:
        raise InvalidInput("Give the options of a JSON body in the body, not in the query.")
    body |= query
    runtime = current_runtime()
    documents = request_parsing.documents_from_body(body)
    options = request_parsing.options_from_body(body, runtime.settings.engagement_types)
    service.require_disk_space(runtime.settings)
    with runtime.db.writing() as session:
        return service.create(
            session, runtime.keyring, format=body["format"], documents=documents, options=options
        )


@blp.post("/files/upload-url", tags=["imports", "extension"])
@blp.arguments(ImportUploadCreate)
@blp.response(201, ImportUploadSchema)
def create_import_upload_url(body: dict[str, Any]) -> Any:
    """Reserve the upload of a file of up to 2 GiB; the import starts when it has arrived."""
    runtime = current_runtime()
    options = request_parsing.options_from_body(body, runtime.settings.engagement_types)
    with runtime.db.writing() as session:
        return uploads.reserve(
            session,
            runtime,
            base=public_address(runtime.settings),
            holder=current_principal().key_id,
            format=body["format"],
            file_name=body["file_name"],
            size_bytes=body["size_bytes"],
            sha256=body["sha256"],
            options=options,
        )


@blp.get("", tags=["imports", "extension"])
@blp.arguments(ImportQuery, location="query")
@blp.response(200, ImportSchema(many=True))
def list_imports(query: dict[str, Any]) -> Any:
    """List the imports of the last 90 days."""
    page_request = query.pop("page_request")
    with current_runtime().db.reading() as session:
        return service.list_page(session, page_request, **query)


@blp.post("/<id:import_id>", tags=["imports", "extension"])
@blp.response(202, ImportSchema)
@blp.alt_response(
    409,
    description="It is neither a dry run that has ended nor a failed import, or its input is deleted.",
)
def confirm_import(import_id: str) -> Any:
    """Import what a dry run has read, or continue a failed import; input is kept for an hour."""
    runtime = current_runtime()
    service.require_disk_space(runtime.settings)
    with runtime.db.writing() as session:
        return service.proceed(session, runtime.keyring, import_id)


@blp.get("/<id:import_id>", tags=["imports", "extension"])
@blp.response(200, ImportSchema)
def get_import(import_id: str) -> Any:
    """Show an import and its counts so far."""
    with current_runtime().db.reading() as session:
        return service.get(session, import_id)
