"""Remote recogniser: an OpenAI-compatible server transcribes the speech of each channel."""

import logging
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial

from app.core.outgoing_http.model_server import OPEN_S, ModelError, Reason
from app.core.outgoing_http.reply import HttpClient
from app.core.process.stopping import backoff_s, pause, wait_for
from app.speech.errors import (
    ProviderUnavailable,
    ServerAway,
    TextWithoutTimes,
    TranscriptionError,
)
from app.speech.joined_speech import (
    AnsweredTranscription,
    JoinedSpeech,
    joined,
    placed,
    read_answer,
)
from app.speech.recogniser import Recognition, Run, Utterance, language_code
from app.speech.server_access import GRANULARITIES, ServerAccess
from app.speech.speech_regions import Speech

logger = logging.getLogger(__name__)

PROVIDER = "openai_compatible"
_MAX_RETRIES = 4
# A longer wait is left to the queue, so that the worker can do something else meanwhile.
_MOST_PATIENCE_S = 30.0
_LONGEST_WAIT_S = 900
# A server refuses the recording with these; other statuses have other causes.
_ABOUT_THE_RECORDING = frozenset({400, 413, 415, 422})


class RemoteRecogniser:
    """Sends only speech, and requests the times of words; without them, those of segments count."""

    def __init__(self, access: ServerAccess) -> None:
        self._access = access
        self._granularities: tuple[str, ...] = ("word", "segment")

    def require_available(self) -> None:
        """Raise `ServerAway` shortly after the server has failed several times in a row."""
        if self._access.memory.is_open():
            raise ServerAway(retry_after_s=round(OPEN_S))

    def recognise(self, speech: Speech, run: Run, *, on_done: Callable[[int], None]) -> Recognition:
        """Recognise the words of every region as `Recogniser.recognise` specifies."""
        requested = language_code(run.options.language) if run.options.language else None
        utterances: list[Utterance] = []
        parts = 0
        samples_of_language: dict[str | None, int] = {requested: 0}
        done = 0
        with closing(self._access.open_client()) as client:
            for part in joined(speech):
                on_done(done)
                answer = self._answer(client, part, requested, run)
                utterances += placed(answer, part)
                parts += 1
                samples = sum(region.length for region in part.regions)
                language = requested or answer.language
                samples_of_language[language] = samples_of_language.get(language, 0) + samples
                done += samples
        if parts > len(speech.regions):
            # Each request names the voices again.
            utterances = [replace(utterance, speaker=None) for utterance in utterances]
        return Recognition(
            utterances=tuple(utterances),
            language=max(samples_of_language, key=lambda code: samples_of_language[code]),
            provider=PROVIDER,
            model=self._access.endpoint.model,
        )

    def _answer(
        self, client: HttpClient, part: JoinedSpeech, language: str | None, run: Run
    ) -> AnsweredTranscription:
        """Ask until there is an answer, with growing pauses."""
        wav = part.wav()
        failures: list[ModelError] = []
        while True:
            try:
                return self._attempt(client, wav, language, run)
            except ModelError as error:
                logger.warning("the transcription server: %s", error.message)
                logger.debug("the transcription server's message: %s", error.detail)
                if self._asks_for_less(error):
                    continue
                wait_s = backoff_s(len(failures), at_least_s=error.retry_after_s)
                # The failure that opened the circuit says more than the open circuit.
                if error.reason is not Reason.CIRCUIT_OPEN or not failures:
                    failures.append(error)
                if not _is_worth_a_retry(error, len(failures), wait_s):
                    raise _failure(failures[-1]) from error
            pause(wait_s, run.should_stop)

    def _attempt(
        self, client: HttpClient, wav: bytes, language: str | None, run: Run
    ) -> AnsweredTranscription:
        access = self._access
        if not access.memory.may_call(access.timeout_s):
            message = (
                "The transcription server failed too often; requests resume within 30 seconds."
            )
            raise ModelError(Reason.CIRCUIT_OPEN, message, retry_after_s=OPEN_S, connected=False)
        call = partial(
            access.post, client, wav, granularities=self._granularities, language=language
        )
        try:
            reply = wait_for(call, run.should_stop, client.close)
        except ModelError as error:
            if error.status in _ABOUT_THE_RECORDING:
                access.memory.succeeded()
            else:
                access.memory.failed()
            raise
        access.memory.succeeded()
        return _usable(reply.body)

    def _asks_for_less(self, error: ModelError) -> bool:
        """Ask without words from now on, if the server refuses them by name."""
        refused = error.status in _ABOUT_THE_RECORDING and GRANULARITIES in error.detail
        if refused and self._granularities:
            self._granularities = self._granularities[1:]
            return True
        return False


def _usable(body: bytes) -> AnsweredTranscription:
    answer = read_answer(body)
    if not answer.has_times:
        raise TextWithoutTimes
    return answer


def _is_worth_a_retry(error: ModelError, failures: int, wait_s: float) -> bool:
    is_quick = error.retryable and error.reason is not Reason.TIMEOUT
    return is_quick and failures <= _MAX_RETRIES and wait_s <= _MOST_PATIENCE_S


def _failure(error: ModelError) -> Exception:
    """Return the error of the transcription: the recording is refused, the server fails or is away."""
    if error.status in _ABOUT_THE_RECORDING:
        return TranscriptionError(
            f"The transcription server refused the recording with the status {error.status}."
        )
    may_be_the_recording = error.status is None or error.status in (408, 409) or error.status >= 500
    if error.connected and may_be_the_recording and error.status != 503:
        return ProviderUnavailable(error.message)
    wait_s = min(_LONGEST_WAIT_S, max(OPEN_S, error.retry_after_s))
    return ServerAway(error.message, retry_after_s=round(wait_s))
