"""Documents of webhooks: JSON objects, or the fields of a form."""

from urllib.parse import parse_qsl

from app.core.errors import MalformedRequest
from app.core.json_documents import load_object
from app.intake.vendor import Document, Vendor


def document_of(vendor: Vendor, body: bytes) -> Document:
    """Parse a body as its vendor sends it.

    Raises:
        MalformedRequest: it has another form.
    """
    if not vendor.is_form:
        return load_object(body)
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=200))
    except ValueError as error:
        raise MalformedRequest("The body must be a form.") from error
