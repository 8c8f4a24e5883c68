"""Steps of every transcription: decode, find the speech, recognise its words, assemble a transcript."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from app.core.process.stopping import never_stop
from app.speech.decoder import Recording, decode, decoded_sound
from app.speech.decoding.sound import SAMPLE_RATE_HZ, DecodingLimits
from app.speech.recogniser import Recogniser, Run, Utterance
from app.speech.speech_regions import Region, Speech, find_regions
from app.speech.transcriber import DecodedSound, TranscriptionOptions
from app.transcript import Participant, Role, Segment, Transcript

# Progress when the file is decoded, and when its speech is found.
_DECODED, _SEARCHED = 0.05, 0.10
_MONO_PARTICIPANT_ID = "speaker_1"
_MOST_VOICES = 20
_WINDOW_SAMPLES = 30 * SAMPLE_RATE_HZ
_SAME_CORRELATION = 0.98
_SAME_LEVEL_RATIO = 2.0


class SpeechTranscriber:
    """Transcribes each channel on its own: only its speech reaches the recogniser."""

    def __init__(
        self, recogniser: Recogniser, *, spool_dir: Path | None = None, min_free_bytes: int = 0
    ) -> None:
        self._recogniser = recogniser
        self._spool_dir = spool_dir
        self._min_free_bytes = min_free_bytes

    def transcribe(
        self,
        path: Path,
        options: TranscriptionOptions,
        *,
        progress: Callable[[float], None],
        on_decoded: Callable[[DecodedSound], None] | None = None,
        should_stop: Callable[[], bool] = never_stop,
    ) -> Transcript:
        """Transcribe a file as `Transcriber.transcribe` specifies."""
        run = Run(options, progress, should_stop)
        run.advance(0.0)
        self._recogniser.require_available()
        recording = decode(
            path,
            content_type=options.content_type,
            limits=DecodingLimits(
                duration_s=options.max_duration_s, min_free_bytes=self._min_free_bytes
            ),
            spool_dir=self._spool_dir,
            should_stop=should_stop,
        )
        with recording:
            if on_decoded is not None:
                on_decoded(decoded_sound(recording))
            run.advance(_DECODED)
            return self._transcribe(recording, run)

    def _transcribe(self, recording: Recording, run: Run) -> Transcript:
        channels = distinct_channels(recording)
        regions = {channel: _find_speech(recording, channels, channel, run) for channel in channels}
        speech = Speech(recording, regions)

        def on_done(samples: int) -> None:
            run.advance(_SEARCHED + (1 - _SEARCHED) * samples / speech.samples)

        recognition = self._recogniser.recognise(speech, run, on_done=on_done)
        utterances = recognition.utterances
        voices = _voices(channels, utterances)
        speakers = (
            _diarized(voices, run.options.voice_roles)
            if voices
            else participants(channels, run.options.channel_roles)
        )
        attribution = "channel" if len(channels) > 1 else "diarized" if voices else "none"
        no_speech = () if utterances else ("no_speech",)
        run.progress(1.0)
        return Transcript(
            segments=_segments(utterances, speakers, voices, recognition.language),
            participants=speakers,
            duration_ms=recording.duration_ms,
            language=recognition.language,
            confidence=_overall_confidence(utterances),
            provider=recognition.provider,
            model=recognition.model,
            model_digest=recognition.model_digest,
            speaker_attribution=attribution,
            warnings=(*recording.warnings, *recognition.warnings, *no_speech),
            audio=recording.info,
            speech_ms=speech.ms,
        )


def _find_speech(recording: Recording, channels: list[int], channel: int, run: Run) -> list[Region]:
    before = channels.index(channel) * recording.sample_count
    all_samples = max(1, len(channels) * recording.sample_count)

    def on_searched(samples: int) -> None:
        share = (before + samples) / all_samples
        run.advance(_DECODED + (_SEARCHED - _DECODED) * share)

    return list(find_regions(recording, channel, on_searched=on_searched))


def participants(
    channels: Sequence[int], channel_roles: Mapping[int, Role]
) -> tuple[Participant, ...]:
    """Return one participant for each channel; the role is unknown if there is only one channel."""
    if len(channels) == 1:
        return (Participant(id=_MONO_PARTICIPANT_ID, role=Role.UNKNOWN, channel_index=channels[0]),)
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


def _voices(channels: Sequence[int], utterances: Sequence[Utterance]) -> list[str]:
    """Return the voices of a single channel in the order in which they begin.

    None unless every utterance has one; so many that they can't be people of a call are none, too.
    """
    if len(channels) > 1:
        return []
    in_order = sorted(utterances, key=lambda utterance: utterance.start_ms)
    names = [utterance.speaker for utterance in in_order]
    voices = [name for name in dict.fromkeys(names) if name is not None]
    return voices if None not in names and 1 < len(voices) <= _MOST_VOICES else []


def _diarized(voices: Sequence[str], roles: Mapping[int, Role]) -> tuple[Participant, ...]:
    return tuple(
        Participant(id=f"voice_{number}", role=roles.get(number, Role.UNKNOWN))
        for number, _ in enumerate(voices)
    )


def _segments(
    utterances: Iterable[Utterance],
    speakers: Sequence[Participant],
    voices: Sequence[str],
    language: str | None,
) -> tuple[Segment, ...]:
    """Merge the channels by start time, and number the segments from seg_0001."""
    by_channel = {speaker.channel_index: speaker for speaker in speakers}
    by_voice = dict(zip(voices, speakers, strict=False))

    def speaker_of(utterance: Utterance) -> Participant:
        return by_voice.get(utterance.speaker or "") or by_channel[utterance.channel]

    in_order = sorted(
        utterances, key=lambda utterance: (utterance.start_ms, utterance.channel, utterance.end_ms)
    )
    return tuple(
        Segment(
            id=f"seg_{index + 1:04d}",
            index=index,
            participant_id=speaker_of(utterance).id,
            role=speaker_of(utterance).role,
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


def _overall_confidence(utterances: Sequence[Utterance]) -> float | None:
    """Return the mean confidence weighted by duration, or None."""
    measured = [
        (utterance.confidence, max(1, utterance.end_ms - utterance.start_ms))
        for utterance in utterances
        if utterance.confidence is not None
    ]
    if not measured:
        return None
    weighted = sum(confidence * ms for confidence, ms in measured)
    return round(weighted / sum(ms for _, ms in measured), 4)


def distinct_channels(recording: Recording) -> list[int]:
    """Return the channels that do not repeat an earlier one; dual mono has one such channel."""
    distinct: list[int] = []
    for channel in range(recording.channels):
        if not any(_same(recording, earlier, channel) for earlier in distinct):
            distinct.append(channel)
    return distinct


def _same(recording: Recording, first: int, second: int) -> bool:
    """Compare waveform and loudness: an echo has the same waveform, but is fainter."""
    cross = first_power = second_power = 0.0
    for start in range(0, recording.sample_count, _WINDOW_SAMPLES):
        a = recording.read(first, start, start + _WINDOW_SAMPLES)
        b = recording.read(second, start, start + _WINDOW_SAMPLES)
        cross += float(np.dot(a, b))
        first_power += float(np.dot(a, a))
        second_power += float(np.dot(b, b))
    if not first_power or not second_power:
        return False
    ratio = math.sqrt(first_power / second_power)
    alike = abs(cross) >= _SAME_CORRELATION * math.sqrt(first_power * second_power)
    return alike and 1 / _SAME_LEVEL_RATIO <= ratio <= _SAME_LEVEL_RATIO
