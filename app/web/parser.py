"""Parsing of request arguments: strict JSON bodies, and query parameters given once."""

from typing import Any, NoReturn

from flask import Request
from marshmallow import Schema, ValidationError
from webargs.flaskparser import FlaskParser

from app.core.errors import InvalidInput, UnsupportedMediaType
from app.core.json_loader import load_object
from app.web.schemas.messages import FORMAT, REQUIRED, Message, details_of

MAX_JSON_BYTES = 1024 * 1024


class StrictParser(FlaskParser):
    """What flask-smorest calls for `@blp.arguments`; raises our own errors."""

    # None: the schema decides what an unknown field is, in queries too.
    DEFAULT_UNKNOWN_BY_LOCATION: dict[str, str | None] = {"json": None, "query": None}  # noqa: RUF012

    def load_json(self, req: Request, schema: Schema) -> Any:
        """Parse the body, which must be announced as JSON; no body is an empty object."""
        body = req.get_data()
        if not body:
            return {}
        if req.mimetype != "application/json" or req.headers.get("Content-Encoding"):
            raise UnsupportedMediaType()
        if req.mimetype_params.get("charset", "utf-8").lower() != "utf-8":
            raise UnsupportedMediaType("Send the body as UTF-8.")
        return load_object(body)

    def load_querystring(self, req: Request, schema: Schema) -> Any:
        """Take each parameter once; a repeated one is ambiguous and refused."""
        found: dict[str, str] = {}
        for name, values in req.args.lists():
            if len(values) > 1:
                message = Message(FORMAT, "This parameter may be given only once.")
                raise InvalidInput(details=details_of({"query": {name: [message]}}))
            found[name] = values[0]
        for name, value in found.items():
            if "\x00" in value or "\ufffd" in value:
                message = Message(FORMAT, "This parameter must be UTF-8 without NUL.")
                raise InvalidInput(details=details_of({"query": {name: [message]}}))
        return found

    def handle_error(
        self,
        error: ValidationError,
        req: Request,
        schema: Schema,
        *,
        error_status_code: int | None,
        error_headers: Any,
    ) -> NoReturn:
        """Report every finding with its location, field and code."""
        details = details_of(error.messages_dict)
        missing = bool(details) and all(each["code"] == REQUIRED for each in details)
        message = "Required fields are missing; details names each." if missing else None
        raise InvalidInput(message, details=details)
