"""Row versions: the strong ETag of a row, and the check of If-Match."""

from typing import Protocol

from app.core.errors import PreconditionFailed


class Versioned(Protocol):
    """A row that counts its changes."""

    id: str
    version: int


def etag_of(row_id: str, version: int) -> str:
    """Return the strong ETag of one version of a row, quotes included."""
    return f'"{row_id}.{version}"'


def require_match(row: Versioned, if_match: str | None) -> None:
    """Raise when the caller's If-Match names another version; `*` and no header match any.

    Raises:
        PreconditionFailed: the row has changed since the caller read it.
    """
    if if_match is None or if_match.strip() == "*":
        return
    if etag_of(row.id, row.version) not in (tag.strip() for tag in if_match.split(",")):
        raise PreconditionFailed()
