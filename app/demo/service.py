"""Database side of the demo: engagements, records and the progress of evaluations."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from sqlalchemy import CompoundSelect, select, union_all, update
from sqlalchemy.orm import Session

from app.audio_files.models import AudioFile
from app.campaigns.models import Campaign
from app.conversations.models import Conversation
from app.demo import sample_data
from app.directory.models import CallCenter, Executive
from app.engagements import service as engagements
from app.engagements.service import ENGAGEMENTS
from app.evaluations.enums import ENDED, Status
from app.evaluations.models import Evaluation
from app.imports.formats.records import NativeRecord
from app.imports.loading.disk_set import DiskSet
from app.imports.loading.documents import Entry
from app.imports.loading.import_counts import ImportCounts
from app.imports.loading.load import load_batch
from app.imports.loading.normalise import NormalisedRecord, Validate, normalised
from app.imports.options import SKIP, ImportOptions
from app.voice_calls.models import VoiceCall

_TYPE = "quality"
_ENGAGEMENTS: Mapping[str, tuple[str, str]] = {
    "engagement:care": (
        "Riverside Home: customer care (demo)",
        "Sample chats and calls of a shop that does not exist.",
    ),
    "engagement:bot": (
        "Riverside Home: delivery bot (demo)",
        "Sample calls of a voice bot, of a shop that does not exist.",
    ),
}
_REFERENCED = (CallCenter, Executive, Campaign)
_SOURCES = (Conversation, VoiceCall, AudioFile)
# Records of an earlier load stay as they are, although their dates would be later now.
_OPTIONS = ImportOptions(on_conflict=SKIP)


@dataclass(frozen=True, slots=True)
class DemoProgress:
    """Number of evaluations of the demo: all, those that have ended, those that failed."""

    total: int
    ended: int
    failed: int


def make_engagements(session: Session, known_types: Sequence[str]) -> None:
    """Make the engagements of the demo that do not exist."""
    type_ = _TYPE if not known_types or _TYPE in known_types else known_types[0]
    for name, description in _ENGAGEMENTS.values():
        if ENGAGEMENTS.find_by_name(session, name) is None:
            engagements.create(session, name=name, type=type_, description=description)


def ids_by_reference(session: Session) -> dict[str, str]:
    """Return the ids of everything that records refer to, by external id or engagement key."""
    ids: dict[str, str] = {}
    for key, (name, _) in _ENGAGEMENTS.items():
        engagement = ENGAGEMENTS.find_by_name(session, name)
        if engagement is not None:
            ids[key] = engagement.id
    for table in (*_REFERENCED, AudioFile):
        known = select(table.external_id, table.id).where(
            table.external_id.in_(sample_data.external_ids())
        )
        ids |= {row.external_id: row.id for row in session.execute(known)}
    return ids


def validated(
    kind: str, records: Sequence[dict[str, Any]], validate: Validate
) -> list[NormalisedRecord]:
    """Validate records as an import does."""
    entries = (
        Entry(NativeRecord(line, kind, record)) for line, record in enumerate(records, start=1)
    )
    with closing(DiskSet()) as seen_keys:
        return list(normalised(entries, _OPTIONS, seen_keys, validate))


def write(session: Session, batch: Sequence[NormalisedRecord]) -> ImportCounts:
    """Write the records that do not exist, and request their evaluations."""
    counts = load_batch(session, batch, _OPTIONS)
    date_back(session)
    return counts


def date_back(session: Session) -> None:
    """Date first evaluations that are queued at the start of their contacts, as if judged then.

    All contacts are loaded at once; dated today, they would be one point in every trend.
    """
    session.execute(
        update(Evaluation)
        .where(
            Evaluation.source_id.in_(_source_ids()),
            Evaluation.status == Status.QUEUED,
            Evaluation.revision == 1,
            Evaluation.started_at.is_not(None),
        )
        .values(created_at=Evaluation.started_at)
    )


def progress(session: Session) -> DemoProgress:
    """Count the current evaluations of the demo."""
    statuses = session.scalars(
        select(Evaluation.status).where(
            Evaluation.source_id.in_(_source_ids()), Evaluation.is_current
        )
    ).all()
    return DemoProgress(
        total=len(statuses),
        ended=sum(status in ENDED for status in statuses),
        failed=sum(status == Status.FAILED for status in statuses),
    )


def _source_ids() -> CompoundSelect[tuple[str]]:
    keys = sample_data.external_ids()
    return union_all(*(select(table.id).where(table.external_id.in_(keys)) for table in _SOURCES))
