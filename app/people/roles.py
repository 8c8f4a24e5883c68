"""Roles: what each may do. From the viewer on, each has the scopes of the one before and some more."""

from app.api_keys.enums import SCOPES, TEAM_SCOPES
from app.core.principal import TeamScope
from app.core.setting_parsers import PERSON_ROLES

AGENT, VIEWER, REVIEWER, LEAD, ADMIN = PERSON_ROLES
# Roles that may be limited to teams. An agent always is: to one executive.
OF_TEAMS = (REVIEWER, LEAD)

# Scopes that only people have: no API key may manage accounts.
OWN_ACCOUNT, MANAGE_PEOPLE, READ_AUDIT = "account:own", "people:manage", "audit:read"
READ_SYSTEM = "system:read"
REVIEW = "evaluations:review"
# Of agents alone: the pages about their own evaluations.
OWN_RESULTS = "results:own"
# Scopes whose pages ask for the password again some minutes after the sign-in.
CONFIRMED_SCOPES = frozenset({MANAGE_PEOPLE, "keys:manage", "data:erase"})

_NOT_OF_VIEWERS = ("usage:read", "coaching:read")
_VIEWER = (
    OWN_ACCOUNT,
    *(scope for scope in SCOPES if scope.endswith(":read") and scope not in _NOT_OF_VIEWERS),
)
_REVIEWER = (
    *_VIEWER,
    "audio:download",
    REVIEW,
    "audio:write",
    "ingest:write",
    "analytics:export",
    "coaching:read",
    "coaching:write",
)
_LEAD = (*_REVIEWER, "scorecards:manage", "usage:read", "reviews:plan")

ROLES: dict[str, frozenset[str]] = {
    AGENT: frozenset(
        {*_VIEWER, "audio:download", "evaluations:respond", "coaching:read", OWN_RESULTS}
    ),
    VIEWER: frozenset(_VIEWER),
    REVIEWER: frozenset(_REVIEWER),
    LEAD: frozenset(_LEAD),
    ADMIN: frozenset({*_LEAD, *SCOPES, MANAGE_PEOPLE, READ_AUDIT, READ_SYSTEM}),
}


def scopes_of(role: str, teams: TeamScope | None) -> frozenset[str]:
    """Return the scopes of a role, without those that are of no team where it is limited to some."""
    return (
        ROLES[role] if teams is None else ROLES[role] & (TEAM_SCOPES | {OWN_ACCOUNT, OWN_RESULTS})
    )
