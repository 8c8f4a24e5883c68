"""Access to a transcription server, and a trial of it."""

import io
import wave
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass

import orjson

from app.core.outgoing_http.model_server import (
    Endpoint,
    EndpointMemory,
    ModelError,
    Reason,
    RequestBody,
)
from app.core.outgoing_http.reply import BodyLimit, HttpClient, Reply
from app.speech.decoding.sound import SAMPLE_BYTES, SAMPLE_RATE_HZ

GRANULARITIES = "timestamp_granularities"
# Ten minutes of speech with its words take less than 1 MB.
ANSWER_BODY = BodyLimit(16 * 1024 * 1024, within_s=None)


@dataclass(frozen=True, slots=True)
class ServerAccess:
    """Access to a transcription server: its endpoint, and the time limit of a request."""

    endpoint: Endpoint
    memory: EndpointMemory
    open_client: Callable[[], HttpClient]
    timeout_s: float

    def post(
        self, client: HttpClient, wav: bytes, *, granularities: Sequence[str], language: str | None
    ) -> Reply:
        """Have a WAV file transcribed, and return the answer; raise `ModelError` without one."""
        # As OpenAI names its models that tell speakers apart; they know no other form of it.
        form = (
            [("response_format", "diarized_json"), ("chunking_strategy", "auto")]
            if "diarize" in self.endpoint.model
            else [
                ("response_format", "verbose_json"),
                *((f"{GRANULARITIES}[]", name) for name in granularities),
            ]
        )
        fields = [
            ("model", self.endpoint.model),
            *form,
            *([("language", language)] if language else []),
        ]
        body = RequestBody.form(fields, wav=wav)
        return self.endpoint.post(client, "/audio/transcriptions", body, timeout_s=self.timeout_s)

    def try_out(self) -> None:
        """Have a second of silence transcribed.

        Raises:
            ModelError: the server did not answer with a transcription that has segments.
        """
        with closing(self.open_client()) as client:
            silence = wav_of(bytes(SAMPLE_RATE_HZ * SAMPLE_BYTES))
            reply = self.post(client, silence, granularities=["segment"], language=None)
        try:
            has_segments = isinstance(orjson.loads(reply.body)["segments"], list)
        except (ValueError, KeyError, TypeError):
            has_segments = False
        if not has_segments:
            raise ModelError(Reason.INVALID_OUTPUT, "The answer has no segments with times.")


def wav_of(samples: bytes) -> bytes:
    """Return a WAV file of one channel with these samples of 16 bits."""
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(SAMPLE_BYTES)
        writer.setframerate(SAMPLE_RATE_HZ)
        writer.writeframes(samples)
    return file.getvalue()
