"""An OpenAI-compatible transcription server for tests: it answers what its script says."""

import io
import json
import wave
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from typing import Any

from app.core.settings import Settings
from tests.receiver import Answer, Received, Receiver, Visit, status

PATH = "/v1/audio/transcriptions"


@dataclass
class Form:
    """A form that came in: its fields, each with its values, and its file as sound."""

    fields: dict[str, list[str]] = field(default_factory=dict)
    seconds: float = 0.0
    channels: int = 0
    rate_hz: int = 0


class TranscriptionServer(Receiver):
    """Hears two words in each file, half a second after its start, unless it is told otherwise."""

    def __init__(self, *, tls: bool = False) -> None:
        super().__init__(tls=tls)
        self.answer_with(heard(*TWO_WORDS))

    def answer_with(self, *answers: Answer) -> None:
        """Set the answers; the last one is repeated."""
        self.script(PATH, *answers)

    @property
    def forms(self) -> list[Form]:
        """Return the requests that came."""
        return [form_of(request) for request in self.received(PATH)]

    def settings(self, **changes: Any) -> dict[str, Any]:
        """Settings of a service that has its recordings transcribed by this server."""
        return {
            "transcriber": "openai",
            "transcriber_url": self.url("/v1"),
            "transcriber_model": "whisper-test",
            "transcriber_key": "sk-test-1234567890",
            **changes,
        }


def server_settings(server: TranscriptionServer, folder: Any, **changes: Any) -> Settings:
    """Settings for a transcriber without a service around it."""
    return Settings(**server.settings(data_dir=folder, **changes))


def word(text: str, start: float, end: float, probability: float | None = 0.9) -> dict[str, Any]:
    """Return a word of an answer."""
    return {"word": text, "start": start, "end": end, "probability": probability}


TWO_WORDS = (word("Good", 0.5, 0.8), word("morning.", 0.8, 1.2))


def heard(
    *words: dict[str, Any], language: str = "en", with_words: bool = True, **members: Any
) -> Answer:
    """Answer with one segment of these words.

    Args:
        members: of the segment.
    """
    text = " ".join(each["word"] for each in words)
    segment = {
        "id": 0,
        "start": words[0]["start"],
        "end": words[-1]["end"],
        "text": f" {text}",
        "avg_logprob": -0.2,
        "no_speech_prob": 0.01,
        "compression_ratio": 1.1,
        **members,
    }
    document = {"task": "transcribe", "language": language, "text": text, "segments": [segment]}
    return document_answer({**document, "words": list(words)} if with_words else document)


def document_answer(document: Any) -> Answer:
    """Answer with a JSON document."""
    return status(200, json.dumps(document).encode(), "Content-Type: application/json")


def refusing_words(visit: Visit) -> bool:
    """Refuse the granularity of words by name, and answer without it."""
    if "word" in form_of(visit.request).fields.get("timestamp_granularities[]", []):
        message = "timestamp_granularities[] must be segment"
        return status(400, json.dumps({"error": {"message": message}}).encode())(visit)
    return heard(*TWO_WORDS, with_words=False)(visit)


def form_of(request: Received) -> Form:
    """Read a form with a WAV file."""
    head = f"Content-Type: {request.headers['content-type']}\r\n\r\n".encode()
    message = message_from_bytes(head + request.body, policy=policy.HTTP)
    form = Form()
    for part in message.iter_parts():
        content: Any = part.get_payload(decode=True)
        name = str(part.get_param("name", header="content-disposition"))
        if name == "file":
            with wave.open(io.BytesIO(content)) as sound:
                form.seconds = sound.getnframes() / sound.getframerate()
                form.channels, form.rate_hz = sound.getnchannels(), sound.getframerate()
        else:
            form.fields.setdefault(name, []).append(content.decode())
    return form
