"""The scopes that a key may hold (spec A7; the last five belong to extensions)."""

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
    """Put scopes into their canonical order; `*` stands for all.

    Raises:
        ValueError: none, an unknown one, or one twice.
    """
    if scopes == ["*"]:
        return list(SCOPES)
    unknown = [scope for scope in scopes if scope not in SCOPES]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not a scope; there are {', '.join(SCOPES)}")
    if not scopes or len(set(scopes)) != len(scopes):
        raise ValueError("Name at least one scope, and each once.")
    return [scope for scope in SCOPES if scope in scopes]
