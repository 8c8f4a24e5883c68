"""Local transcriber: a Whisper model transcribes each channel, one speech region at a time."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from app.ai.speech import transcript_assembly
from app.ai.speech.channels import distinct_channels
from app.ai.speech.decoder import decode
from app.ai.speech.decoding.limits import DecodingLimits
from app.ai.speech.decoding.output import SAMPLE_RATE_HZ
from app.ai.speech.errors import ProviderUnavailable, TranscriptionStopped, UnsupportedLanguage
from app.ai.speech.recognition import Utterance, recognise
from app.ai.speech.recording import Recording
from app.ai.speech.speech_model import SpeechModel, find_model, load_model
from app.ai.speech.speech_regions import Region, amplify, find_regions, speech_gain
from app.ai.speech.transcriber import DecodedSound, TranscriptionOptions
from app.ai.speech.waveform import decoded_sound
from app.ai.transcript import Transcript
from app.core.process.stopping import never_stop

PROVIDER = "faster-whisper"
ENGLISH = "en"
# Progress when the file is decoded, and when its speech is found.
_DECODED, _SEARCHED = 0.05, 0.10
_CERTAIN_LANGUAGE = 0.5

_Regions: TypeAlias = Mapping[int, list[Region]]


@dataclass(frozen=True, slots=True)
class _Run:
    """State that the steps of one transcription share."""

    options: TranscriptionOptions
    progress: Callable[[float], None]
    should_stop: Callable[[], bool]

    def advance(self, share: float) -> None:
        """Report progress, or raise `TranscriptionStopped` if the caller asks to stop."""
        if self.should_stop():
            raise TranscriptionStopped
        self.progress(min(1.0, share))


class WhisperTranscriber:
    """Loads its model at the first call, since a loaded model does not survive a fork."""

    def __init__(
        self,
        *,
        model_dir: Path | None = None,
        cpu_threads: int = 2,
        spool_dir: Path | None = None,
        min_free_bytes: int = 0,
    ) -> None:
        self._model_dir = model_dir
        self._cpu_threads = cpu_threads
        self._spool_dir = spool_dir
        self._min_free_bytes = min_free_bytes
        self._model: SpeechModel | None = None
        self._model_pid = 0

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
        run = _Run(options, progress, should_stop)
        run.advance(0.0)
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
            return _transcribe(recording, self._loaded_model(), run)

    def _loaded_model(self) -> SpeechModel:
        if self._model is None:
            self._model = load_model(find_model(self._model_dir), cpu_threads=self._cpu_threads)
            self._model_pid = os.getpid()
        if self._model_pid != os.getpid():
            raise ProviderUnavailable("The speech model was loaded before the worker forked.")
        return self._model


def _transcribe(recording: Recording, model: SpeechModel, run: _Run) -> Transcript:
    requested = _requested_language(run.options.language, model)
    channels = distinct_channels(recording)
    regions = {channel: _find_speech(recording, channels, channel, run) for channel in channels}
    language, language_warnings = (
        (requested, ()) if requested else _detect_language(recording, model, regions)
    )
    utterances = list(_recognise_all(recording, model, regions, language, run))
    speakers = transcript_assembly.participants(channels, run.options.channel_roles)
    no_speech = () if utterances else ("no_speech",)
    run.progress(1.0)
    return Transcript(
        segments=transcript_assembly.segments(utterances, speakers, language),
        participants=speakers,
        duration_ms=recording.duration_ms,
        language=language,
        confidence=transcript_assembly.overall_confidence(utterances),
        provider=PROVIDER,
        model=model.name,
        model_digest=model.digest,
        speaker_attribution="channel" if len(channels) > 1 else "none",
        warnings=(*recording.warnings, *language_warnings, *no_speech),
        audio=recording.info,
        speech_ms=_total_samples(regions) * 1000 // SAMPLE_RATE_HZ,
    )


def _requested_language(tag: str | None, model: SpeechModel) -> str | None:
    """Reduce a tag such as en-GB to the code that the model uses."""
    if not tag:
        return None
    code = tag.replace("_", "-").partition("-")[0].lower()
    if code not in model.languages:
        raise UnsupportedLanguage(f"The speech model {model.name} does not support {tag!r}.")
    return code


def _find_speech(
    recording: Recording, channels: list[int], channel: int, run: _Run
) -> list[Region]:
    before = channels.index(channel) * recording.sample_count
    everything = max(1, len(channels) * recording.sample_count)

    def on_searched(samples: int) -> None:
        share = (before + samples) / everything
        run.advance(_DECODED + (_SEARCHED - _DECODED) * share)

    return list(find_regions(recording, channel, on_searched=on_searched))


def _detect_language(
    recording: Recording, model: SpeechModel, regions: _Regions
) -> tuple[str, tuple[str, ...]]:
    """Detect the language of the longest region, and return it with warnings.

    A model for English only, or a recording without speech, is assumed to be English.
    """
    longest = max(
        (region for found in regions.values() for region in found),
        key=lambda region: region.length,
        default=None,
    )
    if longest is None or model.languages == {ENGLISH}:
        return ENGLISH, ("language_assumed",)
    sound = recording.read(longest.channel, longest.start, longest.stop)
    language, probability, _ = model.engine.detect_language(sound)
    return str(language), () if probability >= _CERTAIN_LANGUAGE else ("language_uncertain",)


def _recognise_all(
    recording: Recording, model: SpeechModel, regions: _Regions, language: str, run: _Run
) -> Iterator[Utterance]:
    total = _total_samples(regions)
    done = 0
    for channel, found in regions.items():
        gain = speech_gain(recording, found)
        for region in found:
            run.advance(_SEARCHED + (1 - _SEARCHED) * done / total)
            sound = amplify(recording.read(channel, region.start, region.stop), gain)
            yield from recognise(
                model,
                sound,
                region,
                language=language,
                word_timestamps=run.options.word_timestamps,
            )
            done += region.length


def _total_samples(regions: _Regions) -> int:
    return sum(region.length for found in regions.values() for region in found)
