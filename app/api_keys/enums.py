"""Enumerations of API keys: their signature policies and scopes."""

from app.core.enums import LabelledEnum


class SignaturePolicy(LabelledEnum):
    """Endpoints that a key may call with Bearer alone (docs/authentication.md)."""

    DEFAULT = "default", "Accepted for engagements and usage"
    REQUIRED = "required", "Never: every request is signed"
    OPTIONAL = "optional", "Accepted everywhere but for keys"


# In the order in which forms and documents list them.
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
    "reviews:plan",
    "data:erase",
    "transcripts:raw",
    "audio:original",
    "evaluations:respond",
    "coaching:read",
    "coaching:write",
)

# Scopes of those who are limited to teams: what the others read or change belongs to no team.
TEAM_SCOPES = frozenset(SCOPES) - {
    "audio:write",
    "engagements:write",
    "webhooks:manage",
    "usage:read",
    "ingest:write",
    "scorecards:manage",
    "data:erase",
}
