"""What is done with the demo: its engagements made, its records written, its evaluations counted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.audio_files.models import AudioFile
from app.campaigns.models import Campaign
from app.conversations.models import Conversation
from app.demo import texts
from app.directory.models import CallCenter, Executive
from app.engagements import service as engagements
from app.engagements.service import ENGAGEMENTS
from app.evaluations.enums import ENDED, Status
from app.evaluations.models import Evaluation
from app.imports import applying, preparing
from app.imports.formats.items import Item
from app.imports.notebook import Notebook
from app.imports.options import SKIP, Options
from app.imports.preparing import Check, Prepared
from app.imports.sources import Entry
from app.imports.tally import Tally
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
_PLACES = (CallCenter, Executive, Campaign)
_SOURCES = (Conversation, VoiceCall, AudioFile)
# What is there stays as it is, though its dates would be later ones by now.
_OPTIONS = Options(on_conflict=SKIP)


@dataclass(frozen=True, slots=True)
class Progress:
    """How many evaluations the demo has, and how many of them have ended, and failed."""

    total: int
    ended: int
    failed: int


def make_engagements(session: Session, known_types: Sequence[str]) -> None:
    """Make the engagements of the demo that are not there."""
    type_ = _TYPE if not known_types or _TYPE in known_types else known_types[0]
    for name, description in _ENGAGEMENTS.values():
        if ENGAGEMENTS.find_by_name(session, name) is None:
            engagements.create(session, name=name, type=type_, description=description)


def ids(session: Session) -> dict[str, str]:
    """Map the external ids of what the records refer to, and the keys of engagements, to ids."""
    found: dict[str, str] = {}
    for key, (name, _) in _ENGAGEMENTS.items():
        engagement = ENGAGEMENTS.find_by_name(session, name)
        if engagement is not None:
            found[key] = engagement.id
    for table in (*_PLACES, AudioFile):
        known = select(table.external_id, table.id).where(
            table.external_id.in_(texts.external_ids())
        )
        found |= {row.external_id: row.id for row in session.execute(known)}
    return found


def checked(kind: str, records: Sequence[dict[str, Any]], check: Check) -> list[Prepared]:
    """Validate records as an import does."""
    entries = (Entry(Item(line, kind, each)) for line, each in enumerate(records, start=1))
    with Notebook() as notebook:
        return list(preparing.prepared(entries, _OPTIONS, notebook, check))


def write(session: Session, batch: Sequence[Prepared]) -> Tally:
    """Write the records that are not there, and ask for their evaluations."""
    return applying.apply(session, batch, _OPTIONS)


def progress(session: Session) -> Progress:
    """Count the evaluations of the demo."""
    keys = texts.external_ids()
    sources = [
        source_id
        for table in _SOURCES
        for source_id in session.scalars(select(table.id).where(table.external_id.in_(keys)))
    ]
    statuses = session.scalars(
        select(Evaluation.status).where(Evaluation.source_id.in_(sources), Evaluation.is_current)
    ).all()
    return Progress(
        total=len(statuses),
        ended=sum(each in ENDED for each in statuses),
        failed=sum(each == Status.FAILED for each in statuses),
    )
