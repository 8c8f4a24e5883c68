"""Options of an import."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from app.imports.formats.items import Reading

UPDATE, SKIP = "update", "skip"
ON_CONFLICT = (UPDATE, SKIP)


@dataclass(frozen=True, slots=True)
class Options:
    """How records are taken; the same whichever way they come in.

    Args:
        defaults: for records that say nothing of it: `engagementId`, `campaignId`,
            `callCenterId`, `executiveId`, `channel`, `language`, or the names `engagement`,
            `campaign`, `callCenter`, `executive`.
        roles: names of speakers and foreign words, each with one of our roles.
        on_conflict: whether a record that is there is brought to the new values or left.
        create_missing: whether names of what is not there make it.
        engagement_type: the type of engagements that are made so.
    """

    defaults: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    evaluate: bool = True
    scorecard_id: str | None = None
    on_conflict: str = UPDATE
    create_missing: bool = False
    dry_run: bool = False
    engagement_type: str = "imported"

    def document(self) -> dict[str, Any]:
        """Shape these for JSON."""
        return {**asdict(self), "defaults": dict(self.defaults), "roles": dict(self.roles)}

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        """Read what `document` wrote."""
        return cls(**document)

    def reading(self, external_id: str | None = None) -> Reading:
        """Return what a reader has to know."""
        return Reading(self.roles, self.defaults.get("channel"), external_id)
