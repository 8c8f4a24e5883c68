"""Names in place of ids: what they stand for, and making what is not there."""

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from app.campaigns import service as campaigns
from app.campaigns.service import CAMPAIGNS
from app.core.errors import InvalidInput
from app.directory import service as directory
from app.directory.service import CALL_CENTERS, EXECUTIVES
from app.engagements import service as engagements
from app.engagements.service import ENGAGEMENTS
from app.imports.external_ids import FORM


class Named(NamedTuple):
    """What a name stands for: the column and the field of its id, and what it is called."""

    column: str
    id_field: str
    noun: str


FIELDS: Mapping[str, Named] = {
    "engagement": Named("engagement_id", "engagementId", "engagement"),
    "campaign": Named("campaign_id", "campaignId", "campaign"),
    "callCenter": Named("call_center_id", "callCenterId", "call centre"),
    "executive": Named("executive_id", "executiveId", "executive"),
}
_FIND: Mapping[str, Callable[[Session, str], Any]] = {
    "engagement": ENGAGEMENTS.find_by_name,
    "campaign": CAMPAIGNS.find_by_name,
    "callCenter": CALL_CENTERS.find_by_name,
    "executive": EXECUTIVES.find_by_name,
}


class Names:
    """Looks names up in one transaction, each once."""

    def __init__(self, session: Session, *, create: bool, engagement_type: str) -> None:
        self._session = session
        self._create = create
        self._engagement_type = engagement_type
        self._known: dict[tuple[str, str], str] = {}

    def ids(self, names: Mapping[str, str]) -> dict[str, str]:
        """Return the ids that these names stand for, by column.

        Raises:
            InvalidInput: there is nothing of this name, and nothing is made.
        """
        found = {}
        for field, name in names.items():
            column, _, noun = FIELDS[field]
            if (field, name) not in self._known:
                row = _FIND[field](self._session, name)
                if row is None and not self._create:
                    raise InvalidInput.field(field, f"There is no {noun} of this name.")
                self._known[field, name] = row.id if row is not None else self._make(field, name)
            found[column] = self._known[field, name]
        return found

    def forget(self) -> None:
        """Look up anew: what was made may have been rolled back."""
        self._known.clear()

    def _make(self, field: str, name: str) -> str:
        session, key, values = self._session, _key(name), {"name": name}
        if field == "engagement":
            made = engagements.create(session, name=name, type=self._engagement_type)
            return str(made["id"])
        if field == "campaign":
            return str(campaigns.upsert(session, key, values)[0]["id"])
        if field == "callCenter":
            return directory.upsert_call_center(session, key, values)[0].id
        return directory.upsert_executive(session, key, values)[0].id


def _key(name: str) -> str:
    """Make an external id of a name, so that two imports at once make one row."""
    key = f"name:{name}"
    if re.fullmatch(FORM, key):
        return key
    return f"name:{hashlib.sha256(name.encode()).hexdigest()[:32]}"
