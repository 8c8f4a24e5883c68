"""Local recogniser: loads a Whisper model, and chooses the language of a recording."""

import os
from collections.abc import Callable
from pathlib import Path

from app.ai.speech.errors import ProviderUnavailable, UnsupportedLanguage
from app.ai.speech.local.recognition import recognised
from app.ai.speech.local.speech_model import SpeechModel, find_model, load_model
from app.ai.speech.recogniser import Recognition, Run, Speech, language_code

PROVIDER = "faster-whisper"
ENGLISH = "en"
_CERTAIN_LANGUAGE = 0.5


class LocalRecogniser:
    """Loads its model at the first call, since a loaded model does not survive a fork."""

    def __init__(self, *, model_dir: Path | None = None, cpu_threads: int = 2) -> None:
        self._model_dir = model_dir
        self._cpu_threads = cpu_threads
        self._model: SpeechModel | None = None
        self._model_pid = 0

    def require_available(self) -> None:
        """Do nothing: a model on this machine is always available."""

    def recognise(self, speech: Speech, run: Run, *, on_done: Callable[[int], None]) -> Recognition:
        """Recognise the words of every region as `Recogniser.recognise` specifies."""
        model = self._loaded_model()
        requested = _requested_language(run.options.language, model)
        language, warnings = (requested, ()) if requested else _detect_language(speech, model)
        try:
            utterances = tuple(recognised(speech, model, language, on_done=on_done))
        except RuntimeError as error:
            raise ProviderUnavailable from error
        return Recognition(
            utterances=utterances,
            language=language,
            provider=PROVIDER,
            model=model.name,
            model_digest=model.digest,
            warnings=warnings,
        )

    def _loaded_model(self) -> SpeechModel:
        if self._model is None:
            self._model = load_model(find_model(self._model_dir), cpu_threads=self._cpu_threads)
            self._model_pid = os.getpid()
        if self._model_pid != os.getpid():
            raise ProviderUnavailable("The speech model was loaded before the worker forked.")
        return self._model


def _requested_language(tag: str | None, model: SpeechModel) -> str | None:
    if not tag:
        return None
    code = language_code(tag)
    if code not in model.languages:
        raise UnsupportedLanguage(f"The speech model {model.name} does not support {tag!r}.")
    return code


def _detect_language(speech: Speech, model: SpeechModel) -> tuple[str, tuple[str, ...]]:
    """Detect the language of the longest region, and return it with warnings.

    A model for English only, or a recording without speech, is assumed to be English.
    """
    longest = speech.longest_region
    if longest is None or model.languages == {ENGLISH}:
        return ENGLISH, ("language_assumed",)
    sound = speech.recording.read(longest.channel, longest.start, longest.stop)
    language, probability, _ = model.engine.detect_language(sound)
    return str(language), () if probability >= _CERTAIN_LANGUAGE else ("language_uncertain",)
