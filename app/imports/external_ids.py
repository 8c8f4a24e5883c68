"""External ids: the caller's own keys, in the path of an upsert and in a record."""

import re
import unicodedata
from typing import Any

from app.core.errors import InvalidInput

MAX_LENGTH = 200
PATTERN = rf"[^/\x00-\x1f\x7f-\x9f]{{1,{MAX_LENGTH}}}"
MESSAGE = (
    f"externalId must have 1 to {MAX_LENGTH} characters, without slashes and control characters."
)
PATH_PARAMETER: dict[str, Any] = {
    "in": "path",
    "name": "external_id",
    "required": True,
    "description": "Your own key of the record, percent-encoded UTF-8.",
    "schema": {
        "type": "string",
        "minLength": 1,
        "maxLength": MAX_LENGTH,
        "pattern": f"^{PATTERN}$",
    },
}


def normalised_external_id(in_path: str, in_body: str | None = None) -> str:
    """Return the external id of a path, which the body may repeat, in NFC."""
    external_id = unicodedata.normalize("NFC", in_path)
    if len(external_id) > MAX_LENGTH:
        raise InvalidInput.field("externalId", MESSAGE, code="LENGTH", location="path")
    # U+FFFD replaces bytes that are not UTF-8: two different keys would become one.
    if not re.fullmatch(PATTERN, external_id) or "\ufffd" in external_id:
        raise InvalidInput.field("externalId", MESSAGE, location="path")
    if in_body is not None and unicodedata.normalize("NFC", in_body) != external_id:
        raise InvalidInput.field("externalId", "externalId must equal the one in the path.")
    return external_id
