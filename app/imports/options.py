"""Options of an import."""

from collections.abc import Mapping
from dataclasses import dataclass, field

UPDATE, SKIP = "update", "skip"
ON_CONFLICT = (UPDATE, SKIP)


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Options of an import over the API or by the command.

    Args:
        defaults: values for records without one: `engagementId`, `campaignId`, `callCenterId`,
            `executiveId`, `channel`, `language`, or the names `engagement`, `campaign`,
            `callCenter`, `executive`.
        roles: maps speakers' names and words of the source to roles of the API.
        on_conflict: whether an existing record is updated or skipped.
        create_missing: whether named rows that do not exist are created.
        engagement_type: the type of created engagements.
        columns: maps columns of CSV to fields.
        timezone: IANA name of the time zone of times without an offset.
    """

    defaults: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    evaluate: bool = True
    scorecard_id: str | None = None
    on_conflict: str = UPDATE
    create_missing: bool = False
    dry_run: bool = False
    engagement_type: str = "imported"
    columns: Mapping[str, str] = field(default_factory=dict)
    timezone: str | None = None
