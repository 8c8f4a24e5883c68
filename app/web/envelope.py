"""Envelope shapes A and B, and their schemas for the OpenAPI document."""

from typing import Any

from marshmallow import Schema, fields

from app.core.clock import iso_utc, utc_now
from app.core.database.paging import Page
from app.web.request_record import request_id
from app.web.schemas.base import CamelSchema
from app.web.schemas.fields import Nested, Timestamp, Whole


class MetaSchema(CamelSchema):
    request_id = fields.String(required=True, metadata={"pattern": "^req_[0-9a-z]{26}$"})
    timestamp = Timestamp(required=True)


class PaginationSchema(CamelSchema):
    """Position of a page in the whole list."""

    page = Whole(low=1, required=True)
    page_size = Whole(low=1, high=100, required=True)
    total_count = Whole(required=True)
    total_pages = Whole(required=True)
    searched = Whole(
        metadata={
            "description": "Only with the filter `said`, where its words are frequent: how many "
            "evaluations were searched, the first ones in the order of the list. `totalCount` counts "
            "the matches among these; search others with a period."
        }
    )


def shape_a(data: Any, page: Page[Any] | None = None) -> dict[str, Any]:
    """Wrap data in shape A, with pagination for a page."""
    envelope = {
        "data": data,
        "meta": {"requestId": request_id(), "timestamp": iso_utc(utc_now())},
    }
    if page is not None:
        envelope["pagination"] = {
            "page": page.page,
            "pageSize": page.page_size,
            "totalCount": page.total_count,
            "totalPages": page.total_pages,
        }
        if page.searched is not None:
            envelope["pagination"]["searched"] = page.searched
    return envelope


def shape_b(data: Any, page: Page[Any]) -> dict[str, Any]:
    """Wrap a page in shape B, which only the list of engagements uses."""
    return {
        "data": data,
        "page": page.page,
        "pageSize": page.page_size,
        "totalCount": page.total_count,
    }


def documented_shape_a(schema: Schema) -> Schema:
    members: dict[str, Any] = {
        "data": Nested(schema, required=True),
        "meta": Nested(MetaSchema, required=True),
    }
    if schema.many:
        members["pagination"] = Nested(PaginationSchema, required=True)
    kind = "Page" if schema.many else "Answer"
    return _named(schema, kind, members)


def documented_shape_b(schema: Schema) -> Schema:
    members: dict[str, Any] = {
        "data": Nested(schema, required=True),
        "page": Whole(low=1, required=True),
        "pageSize": Whole(low=1, high=100, required=True),
        "totalCount": Whole(required=True),
    }
    return _named(schema, "Page", members)


def _named(schema: Schema, kind: str, members: dict[str, Any]) -> Schema:
    name = type(schema).__name__.removesuffix("Schema") + kind
    shape: type[Schema] = type(name, (CamelSchema,), members)
    return shape()
