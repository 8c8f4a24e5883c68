"""Transcribes with a Whisper model on this machine: each channel, one stretch of speech at a time."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from app.ai.speech import assembly
from app.ai.speech.channels import distinct_channels
from app.ai.speech.decoder import decode
from app.ai.speech.decoding.limits import DecodingLimits
from app.ai.speech.decoding.output import SAMPLE_RATE_HZ
from app.ai.speech.errors import ProviderUnavailable, Stopped, UnsupportedLanguage
from app.ai.speech.heard import Heard, hear
from app.ai.speech.model import SpeechModel, find_model, load_model
from app.ai.speech.recording import Recording
from app.ai.speech.regions import Region, find_regions, levelled, speech_gain
from app.ai.speech.transcriber import TranscribeOptions
from app.ai.transcript import AudioInfo, Transcript
from app.core.process.stopping import never_stop

PROVIDER = "faster-whisper"
ENGLISH = "en"
# How far progress stands when the sound is decoded, and when the speech in it is found.
_DECODED, _SEARCHED = 0.05, 0.10
_SURE_OF_LANGUAGE = 0.5

_Regions: TypeAlias = Mapping[int, list[Region]]


@dataclass(frozen=True, slots=True)
class _Call:
    """What the steps of one transcription share."""

    options: TranscribeOptions
    progress: Callable[[float], None]
    should_stop: Callable[[], bool]

    def advance(self, share: float) -> None:
        """Report progress, or end here when the caller has asked for it."""
        if self.should_stop():
            raise Stopped
        self.progress(min(1.0, share))


class WhisperTranscriber:
    """The local transcriber; the model is loaded by the first call, since it does not survive a fork."""

    def __init__(
        self,
        *,
        model_dir: Path | None = None,
        cpu_threads: int = 2,
        spool_dir: Path | None = None,
    ) -> None:
        self._model_dir = model_dir
        self._cpu_threads = cpu_threads
        self._spool_dir = spool_dir
        self._model: SpeechModel | None = None
        self._model_pid = 0

    def transcribe(
        self,
        path: Path,
        options: TranscribeOptions,
        *,
        progress: Callable[[float], None],
        on_decoded: Callable[[AudioInfo], None] | None = None,
        should_stop: Callable[[], bool] = never_stop,
    ) -> Transcript:
        """Transcribe a file as `Transcriber.transcribe` promises."""
        call = _Call(options, progress, should_stop)
        call.advance(0.0)
        recording = decode(
            path,
            content_type=options.content_type,
            limits=DecodingLimits(duration_s=options.max_duration_s),
            spool_dir=self._spool_dir,
            should_stop=should_stop,
        )
        with recording:
            if on_decoded is not None:
                on_decoded(recording.info)
            call.advance(_DECODED)
            return _transcribed(recording, self._loaded(), call)

    def _loaded(self) -> SpeechModel:
        if self._model is None:
            self._model = load_model(find_model(self._model_dir), cpu_threads=self._cpu_threads)
            self._model_pid = os.getpid()
        if self._model_pid != os.getpid():
            raise ProviderUnavailable("The speech model was loaded before the worker forked.")
        return self._model


def _transcribed(recording: Recording, model: SpeechModel, call: _Call) -> Transcript:
    asked = _asked_language(call.options.language, model)
    channels = distinct_channels(recording)
    regions = {channel: _searched(recording, channels, channel, call) for channel in channels}
    found, doubt = (asked, ()) if asked else _spoken_language(recording, model, regions)
    heard = list(_heard(recording, model, regions, found, call))
    speakers = assembly.participants(channels, call.options.channel_roles)
    call.progress(1.0)
    return Transcript(
        segments=assembly.segments(heard, speakers, found),
        participants=speakers,
        duration_ms=recording.duration_ms,
        language=found,
        confidence=assembly.overall_confidence(heard),
        provider=PROVIDER,
        model=model.name,
        model_digest=model.digest,
        speaker_attribution="channel" if len(channels) > 1 else "none",
        warnings=(*recording.warnings, *doubt, *(() if heard else ("no_speech",))),
        audio=recording.info,
        speech_ms=sum(r.length for rs in regions.values() for r in rs) * 1000 // SAMPLE_RATE_HZ,
    )


def _asked_language(tag: str | None, model: SpeechModel) -> str | None:
    """Reduce a tag such as en-GB to the code the model knows; None asks the model to decide."""
    if not tag:
        return None
    code = tag.replace("_", "-").partition("-")[0].lower()
    if code not in model.languages:
        raise UnsupportedLanguage(f"The speech model {model.name} does not know {tag!r}.")
    return code


def _searched(recording: Recording, channels: list[int], channel: int, call: _Call) -> list[Region]:
    before = channels.index(channel) * recording.sample_count
    everything = max(1, len(channels) * recording.sample_count)

    def done(samples: int) -> None:
        share = (before + samples) / everything
        call.advance(_DECODED + (_SEARCHED - _DECODED) * share)

    return list(find_regions(recording, channel, done=done))


def _spoken_language(
    recording: Recording, model: SpeechModel, regions: _Regions
) -> tuple[str, tuple[str, ...]]:
    """Let the model name the language of the longest stretch; an English one can only assume it."""
    longest = max((r for rs in regions.values() for r in rs), key=lambda r: r.length, default=None)
    if longest is None or model.languages == {ENGLISH}:
        return ENGLISH, ("language_assumed",)
    sound = recording.read(longest.channel, longest.start, longest.stop)
    language, probability, _ = model.engine.detect_language(sound)
    return str(language), () if probability >= _SURE_OF_LANGUAGE else ("language_uncertain",)


def _heard(
    recording: Recording, model: SpeechModel, regions: _Regions, language: str, call: _Call
) -> Iterator[Heard]:
    total = sum(region.length for found in regions.values() for region in found)
    done = 0
    for channel, found in regions.items():
        gain = speech_gain(recording, found)
        for region in found:
            call.advance(_SEARCHED + (1 - _SEARCHED) * done / total)
            sound = levelled(recording.read(channel, region.start, region.stop), gain)
            yield from hear(
                model,
                sound,
                region,
                language=language,
                word_timestamps=call.options.word_timestamps,
            )
            done += region.length
