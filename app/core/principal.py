"""Principal of a request: the API key, or the person in the dashboard, that it acts for, and its teams."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime

import orjson

# The scope for sound in which masked words are heard.
ORIGINAL_SOUND = "audio:original"
# In the order of the fields of `TeamScope`.
TEAM_LISTS = ("executive_ids", "call_center_ids", "campaign_ids")


@dataclass(frozen=True, slots=True)
class TeamScope:
    """The teams that a caller may see: conversations that fit each list which is not empty.

    `caller_id` is the caller, whose own things are shown as well. An agent sees only what the rules
    of the scorecards have released, and usually not who reviewed.
    """

    executive_ids: tuple[str, ...] = ()
    call_center_ids: tuple[str, ...] = ()
    campaign_ids: tuple[str, ...] = ()
    caller_id: str = field(default="", compare=False)
    released_only: bool = False
    hides_reviewers: bool = False

    @classmethod
    def of(
        cls, lists: Mapping[str, Sequence[str]], caller_id: str = "", **limits: bool
    ) -> "TeamScope | None":
        """Return the teams that these lists name; None where all are empty."""
        executives, centers, campaigns = (tuple(sorted(set(lists[name]))) for name in TEAM_LISTS)
        teams = cls(executives, centers, campaigns, caller_id, **limits)
        return teams if teams.lists() else None

    @classmethod
    def from_text(cls, text: str | None, caller_id: str = "") -> "TeamScope | None":
        """Return the teams that `as_text` has stored, for this caller."""
        if text is None:
            return None
        return cls.of({**dict.fromkeys(TEAM_LISTS, ()), **orjson.loads(text)}, caller_id)

    def as_text(self) -> str:
        """Return the form that is stored with work which is done later."""
        return orjson.dumps(self.lists()).decode()

    def lists(self) -> dict[str, tuple[str, ...]]:
        """Return the lists that are not empty, by name."""
        return {name: getattr(self, name) for name in TEAM_LISTS if getattr(self, name)}

    def columns(self) -> dict[str, tuple[str, ...]]:
        return {name.removesuffix("s"): ids for name, ids in self.lists().items()}

    def narrowed(self, allowed: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
        """Return the values that are allowed in each column by these filters and the teams."""
        narrowed = dict(allowed)
        for column, ids in self.columns().items():
            # An empty list would be no filter; no id is empty.
            narrowed[column] = [key for key in allowed.get(column, ids) if key in ids] or [""]
        return narrowed

    def meets(self, other: "TeamScope | None") -> bool:
        """Return whether a conversation can be of both."""
        theirs = other.lists() if other else {}
        return all(set(ids) & set(theirs.get(name, ids)) for name, ids in self.lists().items())

    def contains(self, other: "TeamScope | None") -> bool:
        """Return whether others with this scope see nothing that this scope does not show."""
        if other is None:
            return False
        return all(
            set(getattr(other, name)) and set(getattr(other, name)) <= set(ids)
            for name, ids in self.lists().items()
        )


@dataclass(frozen=True, slots=True)
class Principal:
    """The rights of an API key; a signed-in person has those of a key with the scopes of the role.

    `teams` is None for those who see all.
    """

    key_id: str
    name: str
    scopes: frozenset[str]
    ip_allowlist: tuple[str, ...]
    expires_at: datetime | None
    signature_policy: str
    require_nonce: bool
    teams: TeamScope | None = None


_teams: ContextVar[TeamScope | None] = ContextVar("teams", default=None)


def current_teams() -> TeamScope | None:
    """Return the teams to which reads are limited now; None if they are not."""
    return _teams.get()


def limit_to(teams: TeamScope | None) -> None:
    """Limit the reads of this thread from now on, until the next call; None lifts the limit."""
    _teams.set(teams)


@contextmanager
def limited_to(teams: TeamScope | None) -> Iterator[None]:
    """Limit the reads inside; with None, they are not limited."""
    token = _teams.set(teams)
    try:
        yield
    finally:
        _teams.reset(token)
