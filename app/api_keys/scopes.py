"""Scopes that an API key can have. The last five belong to extensions of the API."""

SCOPES = (
    "evaluations:read",
    "audio:read",
    "audio:download",
    "audio:write",
    "analytics:read",
    "analytics:export",
    "engagements:read",
    "engagements:write",
    "conversations:read",
    "voice:read",
    "campaigns:read",
    "webhooks:manage",
    "keys:manage",
    "usage:read",
    "ingest:write",
    "scorecards:manage",
    "evaluations:review",
    "data:erase",
    "transcripts:raw",
)
MANAGE_KEYS = "keys:manage"


def in_order(scopes: list[str]) -> list[str]:
    """Return scopes in their canonical order; `*` means all of them.

    Raises:
        ValueError: there is no scope, an unknown one, or a repeated one.
    """
    if scopes == ["*"]:
        return list(SCOPES)
    unknown = [scope for scope in scopes if scope not in SCOPES]
    if unknown:
        raise ValueError(f"scopes must be some of {', '.join(SCOPES)}; {unknown[0]!r} is not.")
    if not scopes or len(set(scopes)) != len(scopes):
        raise ValueError("scopes must contain at least one scope, and none twice.")
    return [scope for scope in SCOPES if scope in scopes]
