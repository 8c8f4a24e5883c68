"""Access to original texts: the scope it needs, and its log entry."""

import logging

from app.web.principal import check_scope, current_principal

logger = logging.getLogger(__name__)

SCOPE = "transcripts:raw"


def check_raw(object_id: str, *, redacted: bool) -> None:
    """Refuse raw texts to a key without the scope; log who asks for those of what, never a text."""
    if redacted:
        return
    check_scope(SCOPE)
    logger.info("raw texts of %s are shown to the key %s", object_id, current_principal().key_id)
