"""Demo: loads engagements, records and recordings that do not exist yet, and counts their evaluations."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sqlalchemy import CompoundSelect, select, union_all
from sqlalchemy.orm import Session

from app.audio_files import uploads
from app.audio_files.enums import AudioStatus
from app.audio_files.links import RecordingLinks
from app.audio_files.models import AudioFile
from app.audio_files.schemas import UploadCreate
from app.audio_files.uploads import AudioObjects
from app.campaigns.models import Campaign
from app.conversations.models import Conversation
from app.core.clock import utc_now
from app.core.errors import Conflict
from app.core.runtime import Runtime
from app.core.storage.objects import ObjectExists
from app.demo import messages, people, sample_data, stories, week
from app.directory.models import CallCenter, Executive
from app.engagements import service as engagements
from app.engagements.models import Engagement
from app.evaluations.enums import ENDED, Status
from app.evaluations.models import Evaluation
from app.imports.formats.records import Kind, NativeRecord
from app.imports.loading.input import SKIP, ImportOptions
from app.imports.loading.load import RecordOutcome, load_batch
from app.imports.loading.normalise import DiskSet, NormalisedRecord, Validate, normalised
from app.imports.schemas.records import validator
from app.voice_calls.models import VoiceCall

_PLACES = """\
Look at these paths below /api/v1:
  /evaluations?sort=score                     all evaluations, the lowest score first
  /evaluations/{id}/results                   one evaluation: criteria, evidence, moments, coaching
  /analytics/summary                          figures of the whole call centre
  /analytics/executives?minEvaluations=1      figures of each agent, and of the bot
  /conversations, /voice-calls, /audio-files  the conversations themselves
docs/first-hour.md has scripts that call the API."""
_PEOPLE = """\
The people of the demo, who sign in to the dashboard, and their password: {file}
Their week is there once the chats are judged."""
_TYPE = "quality"
_LOOK_EVERY_S = 2
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
_TEXTS = (Conversation, VoiceCall)
_SOURCES = (*_TEXTS, AudioFile)
_BEFORE_RECORDINGS = (Kind.CALL_CENTER, Kind.EXECUTIVE, Kind.CAMPAIGN, Kind.CONVERSATION)
_NOUNS = {
    Kind.CALL_CENTER: "call centres",
    Kind.EXECUTIVE: "executives",
    Kind.CAMPAIGN: "campaigns",
    Kind.CONVERSATION: "chats",
    Kind.VOICE_CALL: "voice bot calls",
    sample_data.RECORDINGS: "recordings",
}
# Records of an earlier load stay as they are, although their dates would be later now.
_OPTIONS = ImportOptions(on_conflict=SKIP)
_Source: TypeAlias = Callable[[str], list[dict[str, Any]]]


@dataclass(slots=True)
class LoadReport:
    """The number of new records by kind, and messages about refused records."""

    new: dict[str, int] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        """Number of new records."""
        return sum(self.new.values())

    @property
    def summary(self) -> str:
        """The numbers of new records by kind, as a sentence."""
        parts = [f"{number} {noun}" for noun, number in self.new.items() if number]
        if not parts:
            return "The demo was loaded before: nothing was changed."
        return f"The demo is loaded: {', '.join(parts)}."


@dataclass(frozen=True, slots=True)
class DemoProgress:
    """Number of evaluations of the demo: all, those that have ended, those that failed."""

    total: int
    ended: int
    failed: int


def load(runtime: Runtime, *, small: bool = False) -> LoadReport:
    """Load the records that are not there, and request their evaluation.

    A second call changes nothing; after a crash it continues.

    Args:
        small: load only what is written by hand, a few conversations of one shop.
    """
    report = LoadReport()
    sources = (sample_data.records,) if small else (sample_data.records, stories.records)
    clients = _ENGAGEMENTS if small else {**_ENGAGEMENTS, **stories.written()["engagements"]}
    with runtime.db.writing() as session:
        _make_engagements(session, clients, runtime.settings.engagement_types)
        messages.set_up(session, runtime.keyring)
    for kind in _BEFORE_RECORDINGS:
        _load(runtime, kind, sources, report)
    recordings = _resolved(runtime, sample_data.records(sample_data.RECORDINGS))
    report.new[_NOUNS[sample_data.RECORDINGS]] = sum(_store(runtime, one) for one in recordings)
    _load(runtime, Kind.VOICE_CALL, sources, report)
    people.create(runtime)
    with runtime.db.writing() as session:
        week.plan_reviews(session)
    return report


def places_to_look(runtime: Runtime) -> str:
    """Return where the demo is to be seen, and as whom."""
    file = people.file_of(runtime)
    return f"{_PLACES}\n{_PEOPLE.format(file=file)}" if file.exists() else _PLACES


def play_week(runtime: Runtime) -> bool:
    """Let the people of the demo work once its chats and bot calls are judged; return whether they are."""
    with runtime.db.reading() as session:
        judged = progress(session, _TEXTS)
    if judged.ended < judged.total:
        return False
    week.play(runtime)
    return True


def progress(session: Session, sources: Sequence[Any] = _SOURCES) -> DemoProgress:
    statuses = session.scalars(
        select(Evaluation.status).where(
            Evaluation.source_id.in_(_source_ids(sources)), Evaluation.is_current
        )
    ).all()
    return DemoProgress(
        total=len(statuses),
        ended=sum(status in ENDED for status in statuses),
        failed=sum(status == Status.FAILED for status in statuses),
    )


def follow(runtime: Runtime, say: Callable[[str], None]) -> None:
    """Say after each quarter of the chats and bot calls how many are judged, until all are."""
    for quarter in (1, 2, 3, 4):
        while True:
            with runtime.db.reading() as session:
                counts = progress(session, _TEXTS)
            if 4 * counts.ended >= quarter * counts.total:
                break
            time.sleep(_LOOK_EVERY_S)
        say(f"Judged {counts.ended} of {counts.total} chats and bot calls of the demo.")


def _load(runtime: Runtime, kind: Kind, sources: Sequence[_Source], report: LoadReport) -> None:
    records = [record for source in sources for record in source(kind)]
    batch = _validated(kind, _resolved(runtime, records), validator(runtime, _OPTIONS))
    with runtime.db.writing() as session:
        counts = load_batch(session, batch, _OPTIONS)
    report.new[_NOUNS[kind]] = counts.by_outcome[RecordOutcome.CREATED]
    report.refused += [f"{error['external_id']}: {error['message']}" for error in counts.errors]


def _resolved(runtime: Runtime, records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    midnight = utc_now().replace(hour=0, minute=0, second=0, microsecond=0)
    with runtime.db.reading() as session:
        ids = _ids_by_reference(session)
    return [sample_data.resolved(record, midnight, ids) for record in records]


def _make_engagements(
    session: Session, clients: Mapping[str, Sequence[str]], known_types: Sequence[str]
) -> None:
    type_ = _TYPE if not known_types or _TYPE in known_types else known_types[0]
    for name, description in clients.values():
        if _engagement_id(session, name) is None:
            engagements.create(session, name=name, type=type_, description=description)


def _engagement_id(session: Session, name: str) -> str | None:
    """Return the id of an engagement of the demo, the oldest if several have its name."""
    named = select(Engagement.id).where(Engagement.name == name)
    return session.scalar(named.order_by(Engagement.id).limit(1))


def _ids_by_reference(session: Session) -> dict[str, str]:
    """Return the ids of everything that records refer to, by external id or engagement key."""
    ids: dict[str, str] = {}
    clients = {**_ENGAGEMENTS, **stories.written()["engagements"]}
    for key, (name, _) in clients.items():
        if (engagement_id := _engagement_id(session, name)) is not None:
            ids[key] = engagement_id
    for table in (*_REFERENCED, AudioFile):
        known = select(table.external_id, table.id).where(table.external_id.in_(_external_ids()))
        ids |= {row.external_id: row.id for row in session.execute(known)}
    return ids


def _validated(
    kind: str, records: Sequence[dict[str, Any]], validate: Validate
) -> list[NormalisedRecord]:
    """Validate records as an import does."""
    entries = (
        (NativeRecord(line, kind, record), None) for line, record in enumerate(records, start=1)
    )
    with closing(DiskSet()) as seen_keys:
        return list(normalised(entries, seen_keys, validate))


def _store(runtime: Runtime, record: Mapping[str, Any]) -> bool:
    """Store a recording and queue its processing; return whether it was not there before.

    A recording that an earlier call stored in part is completed.
    """
    data = (sample_data.folder() / record["fileName"]).read_bytes()
    audio_file_id = _pending_id(runtime, record, len(data))
    if audio_file_id is None:
        return False
    try:
        with (sample_data.folder() / record["fileName"]).open("rb") as source:
            stored = runtime.storage.write(audio_file_id, source, size_bytes=len(data))
    except ObjectExists:
        AudioObjects(runtime).reconcile(audio_file_id)
    else:
        with runtime.db.writing() as session:
            redact = runtime.settings.redaction
            uploads.mark_uploaded(session, audio_file_id, stored, redact=redact)
    return True


def _pending_id(runtime: Runtime, record: Mapping[str, Any], size_bytes: int) -> str | None:
    """Return the id of the row that waits for its bytes, made if needed; None if they are there."""
    fields = UploadCreate().load({**record, "sizeBytes": size_bytes})
    links = RecordingLinks.of(runtime, "")
    known = select(AudioFile.id, AudioFile.status).where(
        AudioFile.external_id == record["externalId"]
    )
    with runtime.db.writing() as session:
        row = session.execute(known).first()
        if row is not None and row.status != AudioStatus.EXPIRED:
            return str(row.id) if row.status == AudioStatus.PENDING_UPLOAD else None
        try:
            reserved = uploads.reserve(session, runtime, links=links, **fields)
        except Conflict:
            return None
        return str(reserved["audio_file_id"])


def _source_ids(sources: Sequence[Any]) -> CompoundSelect[tuple[str]]:
    keys = _external_ids()
    return union_all(*(select(table.id).where(table.external_id.in_(keys)) for table in sources))


def _external_ids() -> tuple[str, ...]:
    return (*sample_data.external_ids(), *stories.external_ids())
