"""Loading of the demo, in the order in which records refer to each other."""

from dataclasses import dataclass, field

from app.core.clock import utc_now
from app.core.runtime import Runtime
from app.demo import recordings, sample_data, service
from app.imports.formats.records import Kind
from app.imports.loading.import_counts import RecordOutcome

_BEFORE_RECORDINGS = (Kind.CALL_CENTER, Kind.EXECUTIVE, Kind.CAMPAIGN, Kind.CONVERSATION)
_NOUNS = {
    Kind.CALL_CENTER: "call centres",
    Kind.EXECUTIVE: "executives",
    Kind.CAMPAIGN: "campaigns",
    Kind.CONVERSATION: "chats",
    Kind.VOICE_CALL: "voice bot calls",
    sample_data.RECORDINGS: "recordings",
}


@dataclass(slots=True)
class LoadReport:
    """The number of new records by kind, and messages about refused records."""

    new: dict[str, int] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        """Number of new records."""
        return sum(self.new.values())


def load(runtime: Runtime) -> LoadReport:
    """Load the records that are not there, and request their evaluation.

    A second call changes nothing; after a crash it continues.
    """
    report = LoadReport()
    with runtime.db.writing() as session:
        service.make_engagements(session, runtime.settings.engagement_types)
    for kind in _BEFORE_RECORDINGS:
        _load(runtime, kind, report)
    stored = [
        recordings.store(runtime, record) for record in _resolved(runtime, sample_data.RECORDINGS)
    ]
    report.new[_NOUNS[sample_data.RECORDINGS]] = sum(stored)
    _load(runtime, Kind.VOICE_CALL, report)
    return report


def _load(runtime: Runtime, kind: Kind, report: LoadReport) -> None:
    batch = service.validated(kind, _resolved(runtime, kind), runtime.hooks.check_import_record)
    with runtime.db.writing() as session:
        counts = service.write(session, batch)
    report.new[_NOUNS[kind]] = counts.by_outcome[RecordOutcome.CREATED]
    report.refused += [f"{error['external_id']}: {error['message']}" for error in counts.errors]


def _resolved(runtime: Runtime, kind: str) -> list[dict[str, object]]:
    midnight = utc_now().replace(hour=0, minute=0, second=0, microsecond=0)
    with runtime.db.reading() as session:
        ids = service.ids_by_reference(session)
    return [sample_data.resolved(record, midnight, ids) for record in sample_data.records(kind)]
