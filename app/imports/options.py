"""Options of an import."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from app.imports.formats.records import ReaderOptions

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

    def as_document(self) -> dict[str, Any]:
        """Return the options as JSON types."""
        return asdict(self)

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Read options that `as_document` wrote."""
        return cls(**document)

    def for_reader(self, external_id: str | None = None) -> ReaderOptions:
        """Return the options of a reader."""
        return ReaderOptions(
            self.roles, self.defaults.get("channel"), external_id, self.columns, self.timezone
        )
