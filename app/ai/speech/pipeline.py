"""Steps of every transcription: decode, find the speech, recognise its words, assemble."""

from collections.abc import Callable
from pathlib import Path

from app.ai.speech import transcript_assembly
from app.ai.speech.channels import distinct_channels
from app.ai.speech.decoder import decode
from app.ai.speech.decoding.limits import DecodingLimits
from app.ai.speech.recogniser import Recogniser, Run, Speech
from app.ai.speech.recording import Recording
from app.ai.speech.speech_regions import Region, find_regions
from app.ai.speech.transcriber import DecodedSound, TranscriptionOptions
from app.ai.speech.waveform import decoded_sound
from app.ai.transcript import Transcript
from app.core.process.stopping import never_stop

# Progress when the file is decoded, and when its speech is found.
_DECODED, _SEARCHED = 0.05, 0.10


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
        speakers = transcript_assembly.participants(channels, run.options.channel_roles)
        no_speech = () if utterances else ("no_speech",)
        run.progress(1.0)
        return Transcript(
            segments=transcript_assembly.segments(utterances, speakers, recognition.language),
            participants=speakers,
            duration_ms=recording.duration_ms,
            language=recognition.language,
            confidence=transcript_assembly.overall_confidence(utterances),
            provider=recognition.provider,
            model=recognition.model,
            model_digest=recognition.model_digest,
            speaker_attribution="channel" if len(channels) > 1 else "none",
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
