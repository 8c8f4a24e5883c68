"""Assembly of a transcript: the utterances of all channels in one order, with their speakers."""

from collections.abc import Iterable, Mapping, Sequence

from app.ai.speech.recogniser import Utterance
from app.ai.transcript import Participant, Role, Segment

MONO_PARTICIPANT_ID = "speaker_1"


def participants(
    channels: Sequence[int], channel_roles: Mapping[int, Role]
) -> tuple[Participant, ...]:
    """Return one participant for each channel; the role is unknown if there is only one channel."""
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
    utterances: Iterable[Utterance], speakers: Iterable[Participant], language: str | None
) -> tuple[Segment, ...]:
    """Merge the channels by start time, and number the segments from seg_0001."""
    speaker_of = {speaker.channel_index: speaker for speaker in speakers}
    in_order = sorted(
        utterances, key=lambda utterance: (utterance.start_ms, utterance.channel, utterance.end_ms)
    )
    return tuple(
        Segment(
            id=f"seg_{index + 1:04d}",
            index=index,
            participant_id=speaker_of[utterance.channel].id,
            role=speaker_of[utterance.channel].role,
            text=utterance.text,
            start_ms=utterance.start_ms,
            end_ms=utterance.end_ms,
            language=language,
            confidence=utterance.confidence,
            channel_index=utterance.channel,
            words=utterance.words,
        )
        for index, utterance in enumerate(in_order)
    )


def overall_confidence(utterances: Sequence[Utterance]) -> float | None:
    """Return the mean confidence weighted by duration, or None where there is none."""
    measured = [
        (utterance.confidence, max(1, utterance.end_ms - utterance.start_ms))
        for utterance in utterances
        if utterance.confidence is not None
    ]
    if not measured:
        return None
    weighted = sum(confidence * ms for confidence, ms in measured)
    return round(weighted / sum(ms for _, ms in measured), 4)
