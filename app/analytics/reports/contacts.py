"""Contacts without an evaluation, which count in the totals at the time they arrived."""

from typing import Any

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from app.analytics.engine.selection import Selection
from app.audio_files.enums import AudioStatus
from app.audio_files.models import AudioFile
from app.conversations.models import Conversation
from app.evaluations.enums import Channel
from app.voice_calls.enums import CallStatus
from app.voice_calls.models import VoiceCall

# Unanswered calls and uploads that were never completed are not contacts.
_KINDS: dict[str, tuple[Channel, Any, tuple[ColumnElement[bool], ...]]] = {
    "conversations": (Channel.CHAT, Conversation, (Conversation.evaluation_id.is_(None),)),
    "voice_calls": (
        Channel.VOICE_BOT,
        VoiceCall,
        (VoiceCall.evaluation_id.is_(None), VoiceCall.status == CallStatus.COMPLETED),
    ),
    "audio_files": (Channel.VOICE, AudioFile, (AudioFile.status == AudioStatus.UPLOADED,)),
}


def unevaluated(session: Session, selection: Selection) -> dict[str, int]:
    """Count the selected contacts without an evaluation; with a scorecard filter there are none."""
    return {
        name: 0 if _is_excluded(selection, channel) else _count(session, selection, table, where)
        for name, (channel, table, where) in _KINDS.items()
    }


def _is_excluded(selection: Selection, channel: Channel) -> bool:
    if selection.scorecard_id is not None:
        return True
    return bool(selection.channel) and channel not in selection.channel


def _count(
    session: Session, selection: Selection, table: Any, where: tuple[ColumnElement[bool], ...]
) -> int:
    statement = select(func.count()).where(
        table.created_at >= selection.period.start,
        table.created_at < selection.period.end,
        *where,
        *(getattr(table, name) == key for name, key in selection.ids().items()),
    )
    return session.scalar(statement) or 0
