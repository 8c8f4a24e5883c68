"""Blueprint base class: scopes, envelopes, idempotency and documentation of all endpoints."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from typing import Any

import flask_smorest
from flask import Flask, Response, jsonify, request
from flask.json.provider import JSONProvider
from flask_smorest.utils import resolve_schema_instance, unpack_tuple_response
from marshmallow import Schema
from orjson import dumps, loads
from werkzeug.routing import BaseConverter

from app.core.database.paging import Page
from app.core.database.rows import etag_of
from app.core.ids import SUFFIX
from app.web import envelope
from app.web.idempotency import answer_once
from app.web.parser import StrictParser
from app.web.principal import check_scope, has_scope
from app.web.schemas.dump import dump

SHAPE_A, SHAPE_B, BARE = "a", "b", "bare"
BASES = ("/api/v1", "/v1")


class IdConverter(BaseConverter):
    """Path variable with the format of an id; any other text matches no route."""

    regex = f"[a-z]{{2,5}}_{SUFFIX}"


class OrjsonProvider(JSONProvider):
    """JSON with orjson: compact, UTF-8, never NaN."""

    def dumps(self, obj: Any, **_: Any) -> str:
        """Return the value as JSON."""
        return dumps(obj).decode()

    def loads(self, s: str | bytes, **_: Any) -> Any:
        return loads(s)


class Blueprint(flask_smorest.Blueprint):
    """Endpoints of a package: each needs a scope and answers in an envelope; POST is idempotent.

    `scope` is the one of the endpoints without a `@require_scope` of their own.
    """

    ARGUMENTS_PARSER = StrictParser()

    def __init__(self, *names: Any, scope: str | None = None, **options: Any) -> None:
        super().__init__(*names, **options)
        self._scope = scope

    def add_url_rule(
        self,
        rule: str,
        endpoint: str | None = None,
        view_func: Callable[..., Any] | None = None,
        provide_automatic_options: bool | None = None,
        **options: Any,
    ) -> None:
        """Register an endpoint with its scope; an endpoint without one fails at start."""
        if view_func is None or not has_scope(view_func, self._scope):
            raise TypeError(f"{self.name}: {rule} has no scope; add @require_scope")
        guarded = _guard(view_func, idempotent="POST" in options.get("methods", ()))
        super().add_url_rule(rule, endpoint, guarded, provide_automatic_options, **options)

    def arguments(self, schema: Any, **options: Any) -> Callable[[Any], Any]:
        """Parse with one instance of the schema; webargs would build a class for each request."""
        instance = resolve_schema_instance(schema)
        parse: Callable[[Any], Any] = super().arguments(instance, **options)
        return parse

    def response(
        self,
        status_code: int,
        schema: Any = None,
        *,
        shape: str = SHAPE_A,
        etag: bool = False,
        **documentation: Any,
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Serialise what the view returns and wrap it in its envelope.

        A view returns a row, a mapping, a `Page` of them where the schema is `many`, or a pair of
        one of these and a status. `etag` adds the strong ETag of a row with `id` and `version`.
        """
        instance = resolve_schema_instance(schema) if schema is not None else None
        document = super().response(status_code, _documented(instance, shape), **documentation)

        def decorator(view: Callable[..., Any]) -> Callable[..., Any]:
            @wraps(view)
            def answer(*args: Any, **kwargs: Any) -> Response:
                raw, status, headers = unpack_tuple_response(view(*args, **kwargs))
                if isinstance(raw, Response):
                    return raw
                response = _render(raw, instance, shape)
                response.status_code = status or status_code
                response.headers.update(headers or {})
                return _with_etag(response, raw) if etag else response

            documented: Callable[..., Any] = document(answer)
            documented.has_etag = etag  # type: ignore[attr-defined]
            return documented

        return decorator


def if_match() -> str | None:
    return request.headers.get("If-Match")


def is_under_a_base(path: str) -> bool:
    return any(path == base or path.startswith(f"{base}/") for base in BASES)


def register(app: Flask, blueprints: Sequence[Blueprint]) -> None:
    app.url_map.converters["id"] = IdConverter
    first, *others = BASES
    for blueprint in blueprints:
        prefix = blueprint.url_prefix or ""
        app.register_blueprint(blueprint, url_prefix=first + prefix)
        for base in others:
            name = f"{blueprint.name}@{base.strip('/')}"
            app.register_blueprint(blueprint, url_prefix=base + prefix, name=name)


def _guard(view: Callable[..., Any], *, idempotent: bool) -> Callable[..., Any]:
    scope: str = view.required_scope  # type: ignore[attr-defined]

    @wraps(view)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        check_scope(scope)
        return answer_once(view, *args, **kwargs) if idempotent else view(*args, **kwargs)

    return guarded


def _render(raw: Any, schema: Schema | None, shape: str) -> Response:
    if schema is None:
        return Response(status=204)
    page = raw if isinstance(raw, Page) else None
    data = dump(schema, page.items if page is not None else raw)
    if shape == BARE:
        return jsonify(data)
    if shape == SHAPE_B and page is not None:
        return jsonify(envelope.shape_b(data, page))
    return jsonify(envelope.shape_a(data, page))


def _with_etag(response: Response, raw: Any) -> Response:
    row_id, version = (
        (raw["id"], raw["version"]) if isinstance(raw, Mapping) else (raw.id, raw.version)
    )
    response.headers["ETag"] = etag_of(row_id, version)
    if "If-None-Match" in request.headers and request.method in ("GET", "HEAD"):
        response.make_conditional(request.environ)
    return response


def _documented(schema: Schema | None, shape: str) -> Schema | None:
    if schema is None or shape == BARE:
        return schema
    return _document(type(schema), schema.many, shape)


@cache
def _document(schema: type[Schema], many: bool, shape: str) -> Schema:
    wrap = envelope.documented_shape_b if shape == SHAPE_B else envelope.documented_shape_a
    return wrap(schema(many=many))
