"""Puts what was heard on each channel together: one conversation, in the order of its starts."""

from collections.abc import Iterable, Mapping, Sequence

from app.ai.speech.heard import Heard
from app.ai.transcript import Participant, Role, Segment

MONO_PARTICIPANT_ID = "speaker_1"


def participants(
    channels: Sequence[int], channel_roles: Mapping[int, Role]
) -> tuple[Participant, ...]:
    """Make a participant of each channel, or one unknown participant of a single channel."""
    if len(channels) == 1:
        return (Participant(id=MONO_PARTICIPANT_ID, role=Role.UNKNOWN, channel_index=channels[0]),)
    return tuple(
        Participant(
            id=f"channel_{channel}",
            role=role,
            kind="bot" if role is Role.BOT else "human",
            channel_index=channel,
        )
        for channel in channels
        for role in (channel_roles.get(channel, Role.UNKNOWN),)
    )


def segments(
    heard: Iterable[Heard], speakers: Iterable[Participant], language: str
) -> tuple[Segment, ...]:
    """Merge the channels by start, and number the segments from seg_0001."""
    speaker_of = {speaker.channel_index: speaker for speaker in speakers}
    in_order = sorted(heard, key=lambda piece: (piece.start_ms, piece.channel, piece.end_ms))
    return tuple(
        Segment(
            id=f"seg_{index + 1:04d}",
            index=index,
            participant_id=speaker_of[piece.channel].id,
            role=speaker_of[piece.channel].role,
            text=piece.text,
            start_ms=piece.start_ms,
            end_ms=piece.end_ms,
            language=language,
            confidence=piece.confidence,
            channel_index=piece.channel,
            words=piece.words,
        )
        for index, piece in enumerate(in_order)
    )


def overall_confidence(heard: Sequence[Heard]) -> float | None:
    """Average the confidence by spoken time; None where nothing was heard."""
    lengths = [max(1, piece.end_ms - piece.start_ms) for piece in heard]
    if not heard:
        return None
    weighted = sum(piece.confidence * ms for piece, ms in zip(heard, lengths, strict=True))
    return round(weighted / sum(lengths), 4)
