"""Access to unmasked texts: its scope and its log entry."""

import logging

from app.web.principal import check_scope, current_principal

logger = logging.getLogger(__name__)

SCOPE = "transcripts:raw"


def check_raw(object_id: str, *, redacted: bool) -> None:
    """Refuse unmasked texts without the scope, and log the access, never a text."""
    if redacted:
        return
    check_scope(SCOPE)
    logger.info("unmasked texts of %s were shown to key %s", object_id, current_principal().key_id)
