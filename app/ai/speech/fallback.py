"""Recogniser that turns to another one where the first cannot be used."""

import logging
from collections.abc import Callable
from dataclasses import replace

from app.ai.speech.errors import ModelMissing, ProviderUnavailable, ServerAway, UnsupportedLanguage
from app.ai.speech.recogniser import Recogniser, Recognition, Run, Speech

logger = logging.getLogger(__name__)


class FallbackRecogniser:
    """Has a recording recognised by the second recogniser if the first is away or fails.

    What the first refuses because of the recording stays refused.
    """

    def __init__(self, first: Recogniser, second: Recogniser) -> None:
        self._first = first
        self._second = second

    def require_available(self) -> None:
        """Raise what the second recogniser raises."""
        self._second.require_available()

    def recognise(self, speech: Speech, run: Run, *, on_done: Callable[[int], None]) -> Recognition:
        """Recognise the words of every region as `Recogniser.recognise` specifies."""
        try:
            return self._first.recognise(speech, run, on_done=on_done)
        except (ServerAway, ProviderUnavailable) as error:
            logger.warning("the local model transcribes instead: %s", error)
            try:
                recognition = self._second.recognise(speech, run, on_done=on_done)
            except (UnsupportedLanguage, ModelMissing) as unusable:
                raise error from unusable
        return replace(recognition, warnings=(*recognition.warnings, "fallback_model"))
