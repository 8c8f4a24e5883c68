"""Roles: each has the scopes of the one before and some more."""

from app.api_keys.enums import SCOPES

VIEWER, REVIEWER, LEAD, ADMIN = "viewer", "reviewer", "lead", "admin"

# Scopes that only people have: no API key may manage accounts.
OWN_ACCOUNT, MANAGE_PEOPLE, READ_AUDIT = "account:own", "people:manage", "audit:read"
READ_SYSTEM = "system:read"
# Scopes whose pages ask for the password again some minutes after the sign-in.
CONFIRMED_SCOPES = frozenset({MANAGE_PEOPLE, "keys:manage", "data:erase"})

_VIEWER = (
    OWN_ACCOUNT,
    *(scope for scope in SCOPES if scope.endswith(":read") and scope != "usage:read"),
)
_REVIEWER = (
    *_VIEWER,
    "audio:download",
    "evaluations:review",
    "audio:write",
    "ingest:write",
    "analytics:export",
)
_LEAD = (*_REVIEWER, "scorecards:manage", "usage:read")

# From the least to the most allowed.
ROLES: dict[str, frozenset[str]] = {
    VIEWER: frozenset(_VIEWER),
    REVIEWER: frozenset(_REVIEWER),
    LEAD: frozenset(_LEAD),
    ADMIN: frozenset({*_LEAD, *SCOPES, MANAGE_PEOPLE, READ_AUDIT, READ_SYSTEM}),
}
