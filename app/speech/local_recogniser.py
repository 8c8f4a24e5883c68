"""Local recogniser: a Whisper model on this machine recognises the words of speech."""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from faster_whisper import BatchedInferencePipeline

from app.speech.decoder import Sound
from app.speech.decoding.sound import SAMPLE_RATE_HZ
from app.speech.errors import ModelMissing, ProviderUnavailable, UnsupportedLanguage
from app.speech.recogniser import (
    LOOP_RATIO,
    Recognition,
    Run,
    Utterance,
    is_speech,
    language_code,
)
from app.speech.speech_model import (
    FRAMES_PER_S,
    INSTALL_BASE,
    LEAST_FRAMES,
    MARGIN_FRAMES,
    ModelFiles,
    SpeechModel,
    find_base,
    find_model,
    load_model,
)
from app.speech.speech_regions import Region, Speech
from app.transcript import Word

PROVIDER = "faster-whisper"
ENGLISH = "en"
# Whisper base was as sure as this of no prompt and no sentence of another language, and less sure of
# a tenth of the right ones.
_CERTAIN_LANGUAGE = 0.9
# The languages that it was measured on; of others, such as Hindi and Urdu, it confuses some.
_TOLD_APART = frozenset({"de", "en", "es", "fr", "it", "pt", "ru"})
_REGIONS_ASKED = 4
_SAMPLES_ASKED = 30 * SAMPLE_RATE_HZ
# The mean confidence in words: of a model for English 0.88 and more in English prompts, 0.53 and less
# in Spanish ones; of Whisper base 0.65 and more in the right language.
_LEAST_CONFIDENCE = 0.6
# Other languages were written as English with up to 0.69, English sentences with 0.92 and more.
_DOUBTED_CONFIDENCE = 0.75
_LEAST_WORDS = 12
_BEAM_SIZE = 5
# A region begins 250 ms before its speech, and the model tends to put the first word there. On
# composed calls this minimum halved the median error of turn starts (0.19 to 0.11 s).
_LEAD_S = 0.1
# Four regions took a quarter less time than each alone, and eight hardly less.
_BATCH_SIZE = 4
# Shorter regions are filled up to this length anyway.
_SLOT_S = LEAST_FRAMES // FRAMES_PER_S
_SHORT_SAMPLES = (LEAST_FRAMES - MARGIN_FRAMES) * SAMPLE_RATE_HZ // FRAMES_PER_S
# The library, too, doubts a text whose words are less probable than this on the average.
_LEAST_LOG_PROBABILITY = -1.0
_SENTENCE_ENDS = (".", "?", "!")
_LONGEST_JOINED_MS = 15_000
_Piece: TypeAlias = tuple[Region, Sound]


@dataclass(frozen=True, slots=True)
class _Language:
    """Language of a recording; `doubts` are the two between which it was chosen."""

    code: str
    warnings: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


class LocalRecogniser:
    """Loads a model at its first use, since a loaded model does not survive a fork.

    Args:
        model_dir: folder of the only model that is used; None selects the packaged ones.
        models_dir: folder for the multilingual model; None does without it.
        always_base: whether the multilingual model also transcribes English.
    """

    def __init__(
        self,
        *,
        model_dir: Path | None = None,
        models_dir: Path | None = None,
        always_base: bool = False,
        cpu_threads: int = 2,
    ) -> None:
        self._model_dir = model_dir
        self._models_dir = models_dir
        self._always_base = always_base
        self._cpu_threads = cpu_threads
        self._models: dict[str, SpeechModel] = {}
        self._model_pid = 0

    def require_available(self) -> None:
        """Do nothing: a model on this machine is always available."""

    def recognise(self, speech: Speech, run: Run, *, on_done: Callable[[int], None]) -> Recognition:
        """Recognise the words of every region as `Recogniser.recognise` specifies."""
        model = self._loaded_model(self._files_for(run.options.language))
        requested = _requested_language(run.options.language, model)
        knows_others = model.languages != {ENGLISH}
        try:
            if requested and knows_others:
                _require_spoken(requested, speech, model)
            language = _Language(requested) if requested else _find_language(speech, model)
            utterances = tuple(recognised(speech, model, language.code, on_done=on_done))
            if requested and not knows_others and _is_doubted(utterances, _DOUBTED_CONFIDENCE):
                self._require_english(speech)
        except RuntimeError as error:
            raise ProviderUnavailable from error
        if requested is None:
            _require_language(utterances, model, language.doubts)
        return Recognition(
            utterances=utterances,
            language=language.code if requested or utterances else None,
            provider=PROVIDER,
            model=model.name,
            model_digest=model.digest,
            warnings=language.warnings,
        )

    def _files_for(self, language: str | None) -> ModelFiles:
        """Choose the multilingual model unless the recording is known to be in English."""
        is_english = language is not None and language_code(language) == ENGLISH
        if self._model_dir is None and self._models_dir and (self._always_base or not is_english):
            base = find_base(self._models_dir)
            if base is not None:
                return base
            if self._always_base:
                raise ModelMissing(f"The base speech model is missing: {INSTALL_BASE}.")
        return find_model(self._model_dir)

    def _require_english(self, speech: Speech) -> None:
        """Refuse speech that is surely in another language, if a model that knows others is there."""
        base = find_base(self._models_dir) if self._models_dir and not self._model_dir else None
        if base is not None:
            _require_spoken(ENGLISH, speech, self._loaded_model(base))

    def _loaded_model(self, files: ModelFiles) -> SpeechModel:
        if self._models and self._model_pid != os.getpid():
            raise ProviderUnavailable("The speech model was loaded before the worker forked.")
        if files.name not in self._models:
            self._models[files.name] = load_model(files, cpu_threads=self._cpu_threads)
            self._model_pid = os.getpid()
        return self._models[files.name]


def _require_language(
    utterances: Sequence[Utterance], model: SpeechModel, doubts: Sequence[str]
) -> None:
    """Refuse speech in a language that was not found, which a model writes as improbable words."""
    if not _is_doubted(utterances, _LEAST_CONFIDENCE, least_words=1 if doubts else _LEAST_WORDS):
        return
    if model.languages == {ENGLISH}:
        raise UnsupportedLanguage(
            "This does not sound like English, which is all that the speech model knows:"
            f" {INSTALL_BASE}. If it is English on a bad line, give its language as en."
        )
    found = f": it may be {' or '.join(doubts)}" if doubts else ""
    raise UnsupportedLanguage(
        f"The language of this recording is not sure{found}. Its words were hardly understood: give its"
        " language, or use a transcription server."
    )


def _require_spoken(declared: str, speech: Speech, model: SpeechModel) -> None:
    """Refuse speech that is surely in another language than the declared one.

    A model may well write a confident translation of it.
    """
    if declared not in _TOLD_APART or not speech.longest_regions(1):
        return
    likeliest, _, is_certain = _likeliest_languages(speech, model)
    if is_certain and likeliest in _TOLD_APART - {declared}:
        raise UnsupportedLanguage(
            f"This recording sounds like the language {likeliest}, not like {declared}, which was given"
            " as its language: correct it, or leave it out."
        )


def _is_doubted(
    utterances: Sequence[Utterance], confidence: float, *, least_words: int = _LEAST_WORDS
) -> bool:
    """Return whether the model is less sure of its words, if they are enough to tell."""
    sure = [word.confidence or 0.0 for utterance in utterances for word in utterance.words]
    return len(sure) >= least_words and _mean(sure) < confidence


def _requested_language(tag: str | None, model: SpeechModel) -> str | None:
    if not tag:
        return None
    code = language_code(tag)
    if code not in model.languages:
        install = f"{INSTALL_BASE}, or " * (model.languages == {ENGLISH})
        raise UnsupportedLanguage(
            f"The speech model {model.name} does not know {tag!r}: {install}use a transcription"
            " server."
        )
    return code


def _find_language(speech: Speech, model: SpeechModel) -> _Language:
    """Find the language of the longest regions together.

    Of two between which it is in doubt, it is the one in which the model is surer of its words. A model
    for English only, or a recording without speech, is assumed to be English.
    """
    if not speech.longest_regions(1) or model.languages == {ENGLISH}:
        return _Language(ENGLISH, ("language_assumed",))
    found, other, is_certain = _likeliest_languages(speech, model)
    if is_certain:
        return _Language(found)
    (longest,) = _longest_sounds(speech, count=1)
    surer = max(found, other, key=partial(_sureness, model, longest))
    return _Language(surer, ("language_uncertain",), (found, other))


def _likeliest_languages(speech: Speech, model: SpeechModel) -> tuple[str, str, bool]:
    """Return the two likeliest languages of the longest regions, and whether the first is certain.

    The model hears them as one sound: in short ones it is less sure.
    """
    sounds = _longest_sounds(speech, _REGIONS_ASKED)
    samples = _SAMPLES_ASKED // len(sounds)
    joined = np.concatenate([sound[:samples] for sound in sounds])
    _, _, probabilities = model.engine.detect_language(joined)
    (found, probability), (other, _) = probabilities[:2]
    return found, other, probability >= _CERTAIN_LANGUAGE


def _longest_sounds(speech: Speech, count: int) -> list[Sound]:
    return [
        speech.recording.read(region.channel, region.start, region.stop)
        for region in speech.longest_regions(count)
    ]


def _sureness(model: SpeechModel, sound: Sound, language: str) -> float:
    """Return the mean log probability of what the model writes in a language."""
    segments, _ = model.engine.transcribe(sound, temperature=0.0, **_options(language))
    return _mean([segment.avg_logprob for segment in segments])


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else -math.inf


def recognised(
    speech: Speech, model: SpeechModel, language: str, *, on_done: Callable[[int], None]
) -> Iterator[Utterance]:
    """Yield the utterances of all regions: short ones are recognised together, long ones alone."""
    short: list[_Piece] = []
    done = 0
    for channel in speech.regions:
        for piece in speech.amplified(channel):
            on_done(done)
            region, sound = piece
            if region.length > _SHORT_SAMPLES:
                yield from _recognised_alone(model, region, sound, language)
            else:
                short.append(piece)
            if len(short) == _BATCH_SIZE:
                yield from _recognised_together(model, short, language)
                short.clear()
            done += region.length
    yield from _recognised_together(model, short, language)


def _recognised_alone(
    model: SpeechModel, region: Region, sound: Sound, language: str
) -> Iterator[Utterance]:
    segments, _ = model.engine.transcribe(
        sound, condition_on_previous_text=False, **_options(language)
    )
    yield from _joined(_placed(segment, region) for segment in segments)


def _recognised_together(
    model: SpeechModel, pieces: Sequence[_Piece], language: str
) -> Iterator[Utterance]:
    """Recognise regions that the model would fill up to the same length anyway.

    A doubtful text is recognised once more alone: the library then tries other temperatures.
    """
    if not pieces:
        return
    slots = np.zeros((len(pieces), _SLOT_S * SAMPLE_RATE_HZ), np.float32)
    for slot, (_, sound) in zip(slots, pieces, strict=True):
        slot[: len(sound)] = sound
    starts_s = [index * _SLOT_S for index in range(len(pieces))]
    segments, _ = BatchedInferencePipeline(model.engine).transcribe(
        slots.reshape(-1),
        clip_timestamps=[
            {"start": start_s, "end": start_s + region.length / SAMPLE_RATE_HZ}
            for start_s, (region, _) in zip(starts_s, pieces, strict=True)
        ],
        without_timestamps=False,
        batch_size=_BATCH_SIZE,
        **_options(language),
    )
    all_segments = list(segments)
    for start_s, (region, sound) in zip(starts_s, pieces, strict=True):
        own = [segment for segment in all_segments if segment.seek == start_s * FRAMES_PER_S]
        if any(_is_doubtful(segment) for segment in own):
            yield from _recognised_alone(model, region, sound, language)
        else:
            yield from _joined(_placed(segment, region, offset_s=start_s) for segment in own)


def _options(language: str) -> dict[str, Any]:
    return {
        "language": language,
        "beam_size": _BEAM_SIZE,
        "vad_filter": False,
        "word_timestamps": True,
    }


def _is_doubtful(segment: Any) -> bool:
    return bool(
        segment.compression_ratio > LOOP_RATIO or segment.avg_logprob < _LEAST_LOG_PROBABILITY
    )


def _joined(utterances: Iterable[Utterance | None]) -> Iterator[Utterance]:
    """Join what the model has cut in the middle of a sentence; leave out what is not speech."""
    last: Utterance | None = None
    for utterance in utterances:
        if utterance is None:
            continue
        if last is None:
            last = utterance
        elif last.text.endswith(_SENTENCE_ENDS) or (
            utterance.end_ms - last.start_ms > _LONGEST_JOINED_MS
        ):
            yield last
            last = utterance
        else:
            last = _join(last, utterance)
    if last is not None:
        yield last


def _join(first: Utterance, second: Utterance) -> Utterance:
    return replace(
        second,
        start_ms=first.start_ms,
        text=f"{first.text} {second.text}",
        confidence=min(first.confidence or 0.0, second.confidence or 0.0),
        words=first.words + second.words,
    )


def _placed(segment: Any, region: Region, *, offset_s: float = 0.0) -> Utterance | None:
    """Convert a segment of the library: times in the recording, plain Python numbers.

    Return None if it is not speech.
    """
    text = segment.text.strip()
    if not text or not is_speech(
        segment.no_speech_prob, segment.compression_ratio, segment.avg_logprob
    ):
        return None
    earliest_s = _LEAD_S if region.start else 0.0

    def clock_ms(seconds: float) -> int:
        inside = min(max(earliest_s, float(seconds) - offset_s), region.length / SAMPLE_RATE_HZ)
        return round((region.start / SAMPLE_RATE_HZ + inside) * 1000)

    start_ms = clock_ms(segment.start)
    words = tuple(
        Word(
            text=word.word.strip(),
            start_ms=clock_ms(word.start),
            end_ms=max(clock_ms(word.start), clock_ms(word.end)),
            confidence=round(float(word.probability), 4),
        )
        for word in segment.words or ()
    )
    return Utterance(
        channel=region.channel,
        start_ms=start_ms,
        end_ms=max(start_ms, clock_ms(segment.end)),
        text=text,
        confidence=round(min(1.0, math.exp(float(segment.avg_logprob))), 4),
        words=words,
    )
