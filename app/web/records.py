"""Endpoints of records that people set up: list, create, show, change and delete, in one shape."""

from typing import Any

from marshmallow import fields

from app.core.database.records import Records
from app.web.api import Blueprint, if_match
from app.web.current import current_runtime
from app.web.principal import current_principal, require_scope
from app.web.schemas.base import AnswerSchema, CamelSchema
from app.web.schemas.fields import Timestamp
from app.web.schemas.query_fields import PageQuery, sort_field


class RecordQuery(PageQuery):
    sort = sort_field("createdAt", "name")


class RecordSchema(AnswerSchema):
    id = fields.String()
    name = fields.String()
    active = fields.Boolean()
    created_at = Timestamp()
    updated_at = Timestamp()


def add_endpoints(
    blp: Blueprint,
    path: str,
    records: Records[Any],
    *,
    scope: str,
    create: type[CamelSchema],
    change: type[CamelSchema],
    shown: type[CamelSchema],
) -> None:
    """Add the five endpoints of some records to a blueprint."""
    noun = records.noun
    article = "an" if noun[0] in "aeiou" else "a"
    one = f"{path}/<id:{noun.split()[-1]}_id>"

    def list_records(query: dict[str, Any]) -> Any:
        with current_runtime().db.reading() as session:
            return records.list_page(session, query["page_request"])

    def create_record(body: dict[str, Any]) -> Any:
        created_by = current_principal().key_id
        with current_runtime().db.writing() as session:
            record_id = records.create(session, body, created_by=created_by).id
        return _shown(records, record_id)

    def get_record(**ids: str) -> Any:
        return _shown(records, _only(ids))

    def change_record(changes: dict[str, Any], **ids: str) -> Any:
        with current_runtime().db.writing() as session:
            records.change(session, _only(ids), changes, if_match=if_match())
        return _shown(records, _only(ids))

    def delete_record(**ids: str) -> None:
        with current_runtime().db.writing() as session:
            records.remove(session, _only(ids))

    for method, rule, view, arguments, answer, summary in (
        ("GET", path, list_records, RecordQuery, (200, shown(many=True)), f"List the {noun}s."),
        ("POST", path, create_record, create, (201, shown), f"Create {article} {noun}."),
        ("GET", one, get_record, None, (200, shown), f"Show {article} {noun}."),
        ("PATCH", one, change_record, change, (200, shown), f"Change {article} {noun}."),
        ("DELETE", one, delete_record, None, (204, None), f"Delete {article} {noun}."),
    ):
        name = view.__name__.replace("records", f"{noun}s").replace("record", noun)
        view.__name__, view.__doc__ = name.replace(" ", "_"), summary
        status, schema = answer
        documented: Any = blp.response(
            status, schema, etag=status != 204 and view is not list_records
        )
        decorated = documented(view)
        if arguments is not None:
            location = "query" if arguments is RecordQuery else "json"
            decorated = blp.arguments(arguments, location=location)(decorated)
        blp.route(rule, methods=[method])(require_scope(scope)(decorated))


def _only(ids: dict[str, str]) -> str:
    [record_id] = ids.values()
    return record_id


def _shown(records: Records[Any], record_id: str) -> Any:
    """Return a record, after the commit of a change: what is shown may take long to find."""
    with current_runtime().db.reading() as session:
        return records.show(session, record_id)
