"""Transcription by a server that answers well, badly or not at all; real sockets."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from app.audio_files import jobs
from app.core.process.stopping import Stopped
from app.operations.commands import doctor
from app.speech.errors import ProviderUnavailable, ServerAway, TranscriptionError
from app.speech.server_access import ANSWER_BODY
from app.speech.transcriber import TranscriptionOptions, build_transcriber
from app.speech.transcribers import server_of, transcriber_of
from app.transcript import Role, Transcript
from tests import receiver as answers
from tests.caller import Caller
from tests.recordings import CALL, SILENCE, SPEECH, ask, progress, show, upload
from tests.running import running_runtime
from tests.transcription_server import (
    PATH,
    TWO_WORDS,
    TranscriptionServer,
    document_answer,
    heard,
    refusing_words,
    server_settings,
    word,
)

pytestmark = pytest.mark.long

pytest.importorskip("faster_whisper", reason="the asr extra is not installed")

ENGLISH = TranscriptionOptions(language="en-GB")
# The customer of the call speaks first, from 0.4 to 11.7 s; the agent from 10.3 s on.
CUSTOMER_FROM_MS, AGENT_FROM_MS = 400, 10_300


@pytest.fixture
def server() -> Iterator[TranscriptionServer]:
    server = TranscriptionServer()
    yield server
    server.close()


Transcribe = Callable[..., Transcript]


@pytest.fixture
def transcribe(server: TranscriptionServer, tmp_path: Path) -> Transcribe:
    def transcribe(
        path: Path = CALL,
        options: TranscriptionOptions = ENGLISH,
        should_stop: Callable[[], bool] = lambda: False,
        **changes: Any,
    ) -> Transcript:
        settings = server_settings(server, tmp_path, **changes)
        transcriber = transcriber_of(settings, spool_dir=tmp_path)
        return transcriber.transcribe(
            path, options, progress=lambda share: None, should_stop=should_stop
        )

    return transcribe


def test_each_channel_is_sent_once_without_its_silence(
    server: TranscriptionServer, transcribe: Transcribe
) -> None:
    transcript = transcribe()
    agent, customer = server.forms
    assert agent.fields == {
        "model": ["whisper-test"],
        "response_format": ["verbose_json"],
        "timestamp_granularities[]": ["word", "segment"],
        "language": ["en"],
    }
    assert (agent.channels, agent.rate_hz) == (1, 16_000)
    assert transcript.duration_ms is not None
    assert transcript.speech_ms is not None
    pauses_s = 5 * 0.5
    assert agent.seconds + customer.seconds == pytest.approx(
        transcript.speech_ms / 1000 + pauses_s, abs=0.1
    )
    [request, _] = server.received(PATH)
    assert request.headers["authorization"] == "Bearer sk-test-1234567890"


def test_words_and_times_are_those_of_the_recording(transcribe: Transcribe) -> None:
    transcript = transcribe()
    customer, agent = transcript.segments
    assert [customer.role, agent.role] == [Role.CUSTOMER, Role.AGENT]
    for segment, speech_from_ms in ((customer, CUSTOMER_FROM_MS), (agent, AGENT_FROM_MS)):
        assert segment.text == "Good morning."
        assert segment.start_ms == pytest.approx(speech_from_ms + 500, abs=150)
        assert [each.text for each in segment.words] == ["Good", "morning."]
        assert [each.confidence for each in segment.words] == [0.9, 0.9]
        assert segment.words[-1].end_ms == segment.end_ms
    assert (transcript.provider, transcript.model) == ("openai_compatible", "whisper-test")
    assert (transcript.language, transcript.speaker_attribution) == ("en", "channel")
    assert transcript.confidence == pytest.approx(0.8187, abs=0.001)


def test_segments_without_words_keep_their_times(
    server: TranscriptionServer, transcribe: Transcribe
) -> None:
    server.answer_with(refusing_words)
    transcript = transcribe()
    assert [form.fields["timestamp_granularities[]"] for form in server.forms] == [
        ["word", "segment"],
        ["segment"],
        ["segment"],
    ]
    assert [segment.words for segment in transcript.segments] == [(), ()]
    assert transcript.segments[0].start_ms == pytest.approx(CUSTOMER_FROM_MS + 500, abs=150)


@pytest.mark.parametrize(
    ("said", "declared", "sent", "found"),
    [
        ("hi", None, None, "hi"),
        ("hindi", None, None, None),
        ("hi", "en-GB", ["en"], "en"),
    ],
)
def test_a_declared_language_is_sent_and_another_is_the_servers(
    server: TranscriptionServer,
    transcribe: Transcribe,
    said: str,
    declared: str | None,
    sent: list[str] | None,
    found: str | None,
) -> None:
    server.answer_with(heard(*TWO_WORDS, language=said))
    transcript = transcribe(options=TranscriptionOptions(language=declared))
    assert server.forms[0].fields.get("language") == sent
    assert transcript.language == found


def test_what_is_not_speech_by_the_servers_figures_is_left_out(
    server: TranscriptionServer, transcribe: Transcribe
) -> None:
    server.answer_with(heard(*TWO_WORDS, no_speech_prob=0.9), heard(*TWO_WORDS))
    assert [segment.role for segment in transcribe().segments] == [Role.CUSTOMER]


def test_voices_that_the_server_tells_apart_have_roles_once_somebody_names_them(
    server: TranscriptionServer, transcribe: Transcribe
) -> None:
    texts = (("SPEAKER_01", "Good morning.", 0.5, 1.5), ("SPEAKER_00", "Hello.", 2.0, 2.5))
    rows = [
        {"speaker": name, "text": text, "start": start, "end": end}
        for name, text, start, end in texts
    ]
    server.answer_with(document_answer({"text": "Good morning. Hello.", "segments": rows}))
    found = transcribe(SPEECH)
    assert found.speaker_attribution == "diarized"
    assert [segment.participant_id for segment in found.segments] == ["voice_0", "voice_1"]
    assert {segment.role for segment in found.segments} == {Role.UNKNOWN}
    roles = TranscriptionOptions(language="en", voice_roles={0: Role.CUSTOMER, 1: Role.AGENT})
    named = transcribe(SPEECH, roles)
    assert [segment.role for segment in named.segments] == [Role.CUSTOMER, Role.AGENT]
    assert server.forms[-1].fields["response_format"] == ["verbose_json"]
    transcribe(SPEECH, transcriber_model="gpt-4o-transcribe-diarize")
    assert server.forms[-1].fields["response_format"] == ["diarized_json"]


def test_silence_is_not_sent(server: TranscriptionServer, transcribe: Transcribe) -> None:
    transcript = transcribe(SILENCE)
    assert transcript.segments == ()
    assert "no_speech" in transcript.warnings
    assert server.requests == []


def test_a_text_without_times_is_refused(
    server: TranscriptionServer, transcribe: Transcribe
) -> None:
    server.answer_with(document_answer({"text": "Good morning."}))
    with pytest.raises(TranscriptionError, match="without times") as failure:
        transcribe()
    assert (failure.value.code, failure.value.retryable) == ("provider_rejected", False)


@pytest.mark.parametrize("code", [429, 503, 500, 408])
def test_a_short_outage_is_waited_for(
    server: TranscriptionServer, transcribe: Transcribe, code: int
) -> None:
    server.answer_with(answers.status(code, b"busy", "Retry-After: 1"), heard(*TWO_WORDS))
    began_at = time.monotonic()
    assert len(transcribe().segments) == 2
    assert time.monotonic() - began_at >= 1
    assert len(server.forms) == 3


def test_a_long_outage_is_left_to_the_queue(
    server: TranscriptionServer, transcribe: Transcribe
) -> None:
    server.answer_with(answers.status(429, b"busy", "Retry-After: 120"))
    with pytest.raises(ServerAway) as failure:
        transcribe()
    assert failure.value.retry_after_s == 120
    server.answer_with(answers.status(503, b"busy", "Retry-After: 999999999"))
    with pytest.raises(ServerAway) as failure:
        transcribe()
    assert failure.value.retry_after_s == 900


@pytest.mark.parametrize("code", [301, 307, 401, 403, 404])
def test_a_wrong_address_or_key_is_not_a_fault_of_the_recording(
    server: TranscriptionServer, transcribe: Transcribe, code: int
) -> None:
    server.answer_with(answers.status(code, b"no", f"Location: {server.url('/elsewhere')}"))
    with pytest.raises(ServerAway, match=f"status {code}"):
        transcribe()
    assert {request.path for request in server.requests} == {PATH}


def test_a_refused_recording_fails_for_good(
    server: TranscriptionServer, transcribe: Transcribe
) -> None:
    server.answer_with(answers.status(422, b'{"error": "not this sound: sk-test-1234567890"}'))
    with pytest.raises(TranscriptionError, match="status 422") as failure:
        transcribe()
    assert not failure.value.retryable
    assert "sk-test" not in failure.value.message
    assert len(server.forms) == 1


@pytest.mark.parametrize("code", [301, 303, 307])
def test_a_redirect_takes_neither_the_key_nor_the_sound_elsewhere(
    server: TranscriptionServer, transcribe: Transcribe, code: int
) -> None:
    elsewhere = server.url("/elsewhere")
    server.answer_with(answers.status(code, b"", f"Location: {elsewhere}"))
    with pytest.raises(ServerAway, match=f"status {code}"):
        transcribe()
    assert server.received("/elsewhere") == []


def test_nobody_at_the_address_is_not_a_fault_of_the_recording(
    server: TranscriptionServer, transcribe: Transcribe
) -> None:
    server.close()
    with pytest.raises(ServerAway, match="refused"):
        transcribe()


@pytest.mark.parametrize("answer", [answers.hang, answers.trickle_body])
def test_a_slow_answer_counts_as_a_failure(
    server: TranscriptionServer, transcribe: Transcribe, answer: answers.Answer
) -> None:
    server.answer_with(answer)
    with pytest.raises(ProviderUnavailable):
        transcribe(transcriber_timeout_s=1.0)
    assert len(server.requests) <= 1


@pytest.mark.parametrize(
    "document",
    [
        [],
        {"segments": []},
        {"text": 7},
        {"text": "x", "segments": {"start": 0}},
        {"text": "x", "segments": [{"text": "x"}]},
        {"text": "x", "segments": [{"text": "x", "start": "0", "end": 1}]},
        {"text": "x", "segments": [{"text": "x", "start": float("nan"), "end": 1}]},
        {"text": "x", "words": [{"word": None, "start": 0, "end": 1}]},
        {"text": "x", "segments": [{"text": "x", "start": 0, "end": 1, "avg_logprob": "high"}]},
        {"text": "x", "segments": [{"text": "x", "start": 0, "end": 1, "words": [3]}]},
    ],
)
def test_an_answer_of_another_form_counts_as_a_failure(
    server: TranscriptionServer, transcribe: Transcribe, document: Any
) -> None:
    server.answer_with(document_answer(document))
    with pytest.raises(ProviderUnavailable, match="not a transcription"):
        transcribe()


def test_an_answer_that_does_not_end_is_bounded(
    server: TranscriptionServer, transcribe: Transcribe
) -> None:
    server.answer_with(answers.endless_body)
    with pytest.raises(ProviderUnavailable, match="does not end"):
        transcribe()
    assert ANSWER_BODY.max_bytes <= 16 * 1024 * 1024


def test_times_outside_of_the_sound_stay_within_the_recording(
    server: TranscriptionServer, transcribe: Transcribe
) -> None:
    server.answer_with(heard(word("Far", -5.0, 1.0), word("away.", 900.0, 1e12)))
    transcript = transcribe()
    assert transcript.duration_ms is not None
    for segment in transcript.segments:
        for each in segment.words:
            assert 0 <= each.start_ms <= each.end_ms <= transcript.duration_ms


def test_certificates_are_checked(tmp_path: Path) -> None:
    secure = TranscriptionServer(tls=True)

    def transcribe(**changes: Any) -> Transcript:
        access = server_of(server_settings(secure, tmp_path, **changes))
        transcriber = build_transcriber(server=access, spool_dir=tmp_path)
        return transcriber.transcribe(CALL, ENGLISH, progress=lambda share: None)

    with pytest.raises(ServerAway, match="certificate"):
        transcribe()
    assert secure.requests == []
    bundle = answers.write_ca_bundle(tmp_path)
    assert len(transcribe(transcriber_ca_bundle=bundle).segments) == 2
    secure.close()


def test_a_stop_does_not_wait_for_the_server(
    server: TranscriptionServer, transcribe: Transcribe
) -> None:
    server.answer_with(answers.hang)
    began_at = time.monotonic()
    with pytest.raises(Stopped):
        transcribe(should_stop=lambda: bool(server.requests))
    assert time.monotonic() - began_at < 60


def test_a_server_that_keeps_failing_is_left_alone_before_anything_is_decoded(
    server: TranscriptionServer, transcribe: Transcribe, tmp_path: Path
) -> None:
    memory = server_of(server_settings(server, tmp_path)).memory
    for _ in range(5):
        memory.failed()
    with pytest.raises(ServerAway) as failure:
        transcribe(tmp_path / "never opened.wav")
    assert failure.value.retry_after_s == 30
    assert server.requests == []


def test_the_local_model_takes_over(server: TranscriptionServer, transcribe: Transcribe) -> None:
    server.answer_with(answers.status(401))
    transcript = transcribe(transcriber_fallback="local")
    assert (transcript.provider, transcript.model) == ("faster-whisper", "tiny.en")
    assert "fallback_model" in transcript.warnings
    assert "that pin is invalid" in " ".join(each.text.lower() for each in transcript.segments)


def test_a_language_that_the_local_model_lacks_waits_for_the_server(
    server: TranscriptionServer, transcribe: Transcribe
) -> None:
    server.answer_with(answers.status(401))
    with pytest.raises(ServerAway):
        transcribe(options=TranscriptionOptions(language="ga"), transcriber_fallback="local")


def test_a_recording_waits_for_the_server_and_names_the_model(
    server: TranscriptionServer, serve: Callable[..., str], make_caller: Callable[..., Caller]
) -> None:
    client = make_caller(serve(**server.settings()))
    server.answer_with(answers.status(503, b"away", "Retry-After: 60"))
    audio_file_id = upload(client, CALL.read_bytes())
    jobs.process_audio(running_runtime(), ask(client, audio_file_id))
    status = progress(client, audio_file_id)
    assert (status["status"], status["attempts"]) == ("queued", 0)
    server.answer_with(heard(*TWO_WORDS))
    other = upload(client, CALL.read_bytes())
    jobs.process_audio(running_runtime(), ask(client, other))
    transcript = client.get(f"/audio-files/{other}/transcript").json()["data"]
    assert (transcript["provider"], transcript["model"]) == ("openai_compatible", "whisper-test")
    assert progress(client, audio_file_id)["status"] == "queued"
    assert show(client, other)["status"] != "queued"


def test_doctor_tries_the_server(server: TranscriptionServer, data_dir: Path) -> None:
    variables = {
        "CQE_DATA_DIR": str(data_dir),
        "CQE_REDIS_URL": "none",
        "CQE_TRANSCRIBER": "openai",
        "CQE_TRANSCRIBER_URL": server.url("/v1"),
        "CQE_TRANSCRIBER_MODEL": "whisper-test",
    }

    def line() -> str:
        told = CliRunner(env=variables).invoke(doctor)
        return next(each for each in told.stdout.splitlines() if "transcriber" in each)

    assert line().startswith("ok ")
    server.answer_with(answers.status(404, b'{"error": {"message": "no such model"}}'))
    assert "status 404. (no such model)" in line()
    server.answer_with(document_answer({"text": ""}))
    assert line().startswith("fail")
