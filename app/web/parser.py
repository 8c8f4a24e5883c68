"""Parsing of request arguments: strict JSON bodies, and query parameters given once."""

from typing import Any, NoReturn
from urllib.parse import parse_qs

from flask import Request
from marshmallow import Schema, ValidationError
from webargs.flaskparser import FlaskParser

from app.core.errors import InvalidInput, LengthRequired, PayloadTooLarge, UnsupportedMediaType
from app.core.json_documents import load_object
from app.web.schemas.base import FORMAT, REQUIRED, CodedMessage, details_of

MAX_JSON_BYTES = 1024 * 1024
# A larger body takes so long that a process serves one of them at a time.
LARGE_BODY_BYTES = 64 * 1024
NDJSON = "application/x-ndjson"


def check_length(request: Request) -> None:
    """Refuse a body that is too large, or of unknown length, before it is read."""
    if request.content_length is None:
        if "Transfer-Encoding" in request.headers:
            raise LengthRequired()
    elif request.content_length > MAX_JSON_BYTES:
        raise PayloadTooLarge("The body must be at most 1 MiB.")


class StrictParser(FlaskParser):
    """Parser behind `@blp.arguments`; raises the errors of the API."""

    # None: the schema decides about unknown fields, also in queries.
    DEFAULT_UNKNOWN_BY_LOCATION: dict[str, str | None] = {"json": None, "query": None}  # noqa: RUF012

    def load_json(self, req: Request, schema: Schema) -> Any:
        """Parse a body of type JSON; a missing body is an empty object.

        Where the schema says so, a body of JSON lines becomes the value of one field.
        """
        body = req.get_data()
        if not body:
            return {}
        field_of_lines = getattr(schema, "field_of_lines", None)
        is_lines = field_of_lines is not None and req.mimetype == NDJSON
        is_supported = is_lines or req.mimetype == "application/json"
        if not is_supported or req.headers.get("Content-Encoding"):
            raise UnsupportedMediaType()
        if req.mimetype_params.get("charset", "utf-8").lower() != "utf-8":
            raise UnsupportedMediaType("Send the body as UTF-8.")
        return {field_of_lines: _text_of(body)} if is_lines else load_object(body)

    def load_querystring(self, req: Request, schema: Schema) -> Any:
        """Read the query; refuses a parameter that is given twice."""
        parameters: dict[str, str] = {}
        # Flask's `args` keep an escaped byte that is not UTF-8 as the text `%FF`.
        query = parse_qs(req.query_string.decode(errors="replace"), keep_blank_values=True)
        for name, values in query.items():
            if len(values) > 1:
                message = CodedMessage(FORMAT, "This parameter may be given only once.")
                raise InvalidInput(details=details_of({"query": {name: [message]}}))
            parameters[name] = values[0]
        for name, value in parameters.items():
            if "\x00" in value or "\ufffd" in value:
                message = CodedMessage(FORMAT, "This parameter must be UTF-8 without NUL.")
                raise InvalidInput(details=details_of({"query": {name: [message]}}))
        return parameters

    def handle_error(
        self,
        error: ValidationError,
        req: Request,
        schema: Schema,
        *,
        error_status_code: int | None,
        error_headers: Any,
    ) -> NoReturn:
        """Raise `InvalidInput` with location, field and code of each problem."""
        details = details_of(error.messages_dict)
        missing = bool(details) and all(detail["code"] == REQUIRED for detail in details)
        message = "Required fields are missing; details names each." if missing else None
        raise InvalidInput(message, details=details)


def _text_of(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput("The body must be UTF-8.") from error
