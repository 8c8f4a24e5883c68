"""The caller's own keys: what they may look like, in a path and in a body."""

import re
import unicodedata
from typing import Any

from app.core.errors import InvalidInput

MOST = 200
FORM = rf"[^/\x00-\x1f\x7f-\x9f]{{1,{MOST}}}"
HINT = f"This must have 1 to {MOST} characters, none of them a slash or a control character."
PATH_PARAMETER: dict[str, Any] = {
    "in": "path",
    "name": "external_id",
    "required": True,
    "description": "Your own key of the record, percent-encoded UTF-8.",
    "schema": {"type": "string", "minLength": 1, "maxLength": MOST, "pattern": f"^{FORM}$"},
}


def agreed(in_path: str, in_body: str | None) -> str:
    """Return the key that a path names and a body may repeat, in NFC.

    Raises:
        InvalidInput: it is not acceptable, or the body names another one.
    """
    external_id = unicodedata.normalize("NFC", in_path)
    if len(external_id) > MOST:
        raise InvalidInput.field("externalId", HINT, code="LENGTH", location="path")
    # U+FFFD stands for bytes that are not UTF-8: two keys would become one.
    if not re.fullmatch(FORM, external_id) or "\ufffd" in external_id:
        raise InvalidInput.field("externalId", HINT, location="path")
    if in_body is not None and unicodedata.normalize("NFC", in_body) != external_id:
        raise InvalidInput.field("externalId", "The path names another externalId.")
    return external_id
