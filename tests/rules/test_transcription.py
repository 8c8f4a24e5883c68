"""Local transcriber, with the real model on real speech."""

import os
import subprocess
import sys
import tempfile
import time
import wave
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from app.speech.decoding.sound import SourceFormat
from app.speech.errors import (
    ModelMissing,
    TranscriptionStopped,
    UnsupportedLanguage,
    UnsupportedMedia,
)
from app.speech.recogniser import is_speech
from app.speech.transcriber import DecodedSound, TranscriptionOptions, build_transcriber
from app.transcript import AudioInfo, Role, Transcript

WHY = "the asr extra is not installed"
speech_model = pytest.importorskip("app.speech.speech_model", reason=WHY)
speech_regions = pytest.importorskip("app.speech.speech_regions", reason=WHY)
decoder = pytest.importorskip("app.speech.decoder", reason=WHY)
local_recogniser = pytest.importorskip("app.speech.local_recogniser", reason=WHY)
np = pytest.importorskip("numpy", reason=WHY)
participants = pytest.importorskip("app.speech.pipeline", reason=WHY).participants
pytest.importorskip(speech_model.PACKAGE, reason="the packaged speech model is not installed")

AUDIO = Path(__file__).parents[1] / "data" / "audio"
SPEECH = AUDIO / "formats" / "jfk.webm"
CALL = AUDIO / "calls" / "fx-call-2.stereo.wav"
SPANISH = AUDIO / "calls" / "spanish.ogg"
LIKE_POLISH = AUDIO / "calls" / "spanish-pin.ogg"
CARD = AUDIO / "calls" / "card-number.stereo.ogg"
SILENCE = AUDIO / "nospeech" / "silence.wav"
NOISE = AUDIO / "nospeech" / "noise.wav"
MUSIC = AUDIO / "nospeech" / "hold-music.wav"
ENGLISH = TranscriptionOptions(language="en-US")


def ignore(share: float) -> None:
    """Discard the progress."""


def recording_of(samples: Any) -> Any:
    """Make a recording of one channel."""
    spool = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
    spool.write(samples.astype(np.int16).tobytes())
    source = SourceFormat(
        "wav",
        "pcm_s16le",
        16_000,
        channels=1,
        layout="mono",
        damaged=False,
        needs_play_copy=False,
    )
    return decoder.Recording(spool, source)


@pytest.fixture(scope="module")
def transcriber() -> Any:
    return build_transcriber(cpu_threads=2)


@pytest.fixture(scope="module")
def spoken(transcriber: Any) -> Transcript:
    return transcriber.transcribe(SPEECH, ENGLISH, progress=ignore)


@pytest.fixture(scope="module")
def call(transcriber: Any) -> Transcript:
    return transcriber.transcribe(CALL, ENGLISH, progress=ignore)


def words_of(transcript: Transcript, role: Role) -> str:
    """Join what one role says, in lower case and without marks."""
    text = " ".join(s.text for s in transcript.segments if s.role is role).lower()
    return "".join(letter for letter in text if letter.isalpha() or letter == " ")


def test_speech_is_transcribed(spoken: Transcript) -> None:
    text = words_of(spoken, Role.UNKNOWN)
    assert "my fellow americans" in text
    assert text.endswith("what your country can do for you ask what you can do for your country")


def test_a_mono_recording_has_one_unknown_speaker(spoken: Transcript) -> None:
    assert spoken.speaker_attribution == "none"
    assert [speaker.role for speaker in spoken.participants] == [Role.UNKNOWN]


def test_the_transcript_names_the_model_and_its_digest(spoken: Transcript) -> None:
    assert (spoken.provider, spoken.model) == ("faster-whisper", "tiny.en")
    assert spoken.model_digest == speech_model.PACKAGED_DIGESTS["model.bin"]


def test_word_times_and_confidences_are_python_numbers(spoken: Transcript) -> None:
    words = [word for segment in spoken.segments for word in segment.words]
    assert words
    assert {type(word.start_ms) for word in words} == {int}
    assert {type(word.confidence) for word in words} == {float}
    assert all(0 <= word.confidence <= 1 for word in words)
    assert type(spoken.confidence) is float


def test_words_are_in_order_and_within_the_recording(spoken: Transcript) -> None:
    starts = [word.start_ms for segment in spoken.segments for word in segment.words]
    assert starts == sorted(starts)
    assert spoken.duration_ms is not None
    assert all(0 <= s.start_ms <= s.end_ms <= spoken.duration_ms for s in spoken.segments)


def test_each_channel_is_one_speaker(call: Transcript) -> None:
    assert call.speaker_attribution == "channel"
    assert {(s.channel_index, s.role) for s in call.segments} == {
        (0, Role.AGENT),
        (1, Role.CUSTOMER),
    }
    assert "that pin is invalid for this conference" in words_of(call, Role.AGENT)
    assert "i will say nothing of my" in words_of(call, Role.CUSTOMER)


def test_turns_start_within_a_quarter_of_a_second(call: Transcript) -> None:
    starts = {role: [s.start_ms for s in call.segments if s.role is role] for role in Role}
    for role, second in [(Role.CUSTOMER, 0.6), (Role.AGENT, 10.46), (Role.AGENT, 18.92)]:
        assert min(abs(start - second * 1000) for start in starts[role]) <= 250


def test_segments_are_numbered_by_start_time(call: Transcript) -> None:
    assert [s.id for s in call.segments[:2]] == ["seg_0001", "seg_0002"]
    assert [s.index for s in call.segments] == list(range(len(call.segments)))
    assert [s.start_ms for s in call.segments] == sorted(s.start_ms for s in call.segments)


def test_the_transcript_describes_the_recording(call: Transcript) -> None:
    assert call.audio == AudioInfo("wav", "pcm_mulaw", 8000, 2, 28850)
    assert call.speech_ms is not None
    assert 0 < call.speech_ms < 2 * 28850


@pytest.mark.parametrize("name", ["silence", "noise", "ringback", "hold-music"])
def test_a_recording_without_speech_gives_an_empty_transcript(transcriber: Any, name: str) -> None:
    transcript = transcriber.transcribe(
        AUDIO / "nospeech" / f"{name}.wav", ENGLISH, progress=ignore
    )
    assert transcript.segments == ()
    assert transcript.warnings == ("no_speech",)
    assert transcript.confidence is None


@pytest.mark.parametrize(
    ("no_speech", "log_probability", "expected"),
    [(0.51, -0.29, True), (0.51, None, False), (0.58, -1.79, False), (0.64, -0.08, False)],
    ids=["sure words", "unknown", "unsure words", "too much like silence"],
)
def test_sure_words_are_speech_though_the_model_hears_little(
    no_speech: float, log_probability: float | None, expected: bool
) -> None:
    assert is_speech(no_speech, 1.3, log_probability) is expected


def test_progress_never_decreases_and_ends_at_one(transcriber: Any) -> None:
    shares: list[float] = []
    sounds: list[DecodedSound] = []
    transcriber.transcribe(
        SILENCE, TranscriptionOptions(), progress=shares.append, on_decoded=sounds.append
    )
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert [sound.info.duration_ms for sound in sounds] == [10_000]


def test_the_caller_sets_the_roles_of_the_channels() -> None:
    speakers = participants([0, 1, 2], {0: Role.CUSTOMER, 1: Role.BOT})
    assert [s.role for s in speakers] == [Role.CUSTOMER, Role.BOT, Role.UNKNOWN]
    assert [s.kind for s in speakers] == ["human", "bot", "human"]
    assert len({s.id for s in speakers}) == 3


def test_transcription_stops_on_request(transcriber: Any) -> None:
    shares: list[float] = []
    with pytest.raises(TranscriptionStopped):
        transcriber.transcribe(
            CALL, ENGLISH, progress=shares.append, should_stop=lambda: len(shares) > 2
        )
    assert max(shares) < 0.2


def test_an_assumed_language_gives_a_warning(transcriber: Any) -> None:
    transcript = transcriber.transcribe(SILENCE, TranscriptionOptions(), progress=ignore)
    assert "language_assumed" in transcript.warnings


@pytest.mark.parametrize("language", ["es", "pt-BR", "xx", "english"])
def test_an_unsupported_language_is_refused(transcriber: Any, language: str) -> None:
    with pytest.raises(UnsupportedLanguage) as failure:
        transcriber.transcribe(SILENCE, TranscriptionOptions(language=language), progress=ignore)
    assert failure.value.code == "unsupported_language"
    assert "./run speech install base" in failure.value.message


def test_speech_of_another_language_is_never_written_as_english(transcriber: Any) -> None:
    with pytest.raises(UnsupportedLanguage) as failure:
        transcriber.transcribe(SPANISH, TranscriptionOptions(), progress=ignore)
    assert "./run speech install base" in failure.value.message
    # Whoever declares English knows better, as on a bad line.
    assert transcriber.transcribe(SPANISH, ENGLISH, progress=ignore).model == "tiny.en"


def backwards(source: Path, folder: Path) -> Path:
    """Reverse a recording: the sounds of speech in no language."""
    target = folder / "backwards.wav"
    with decoder.decode(source) as recording, wave.open(str(target), "wb") as file:
        file.setparams((1, 2, 16_000, 0, "NONE", ""))
        samples = recording.read(0, 0, recording.sample_count)[::-1]
        file.writeframes((samples * 32_767).astype(np.int16).tobytes())
    return target


def test_the_base_model_finds_the_language_and_leaves_english_to_the_other(tmp_path: Path) -> None:
    if speech_model.find_base(tmp_path) is None:
        pytest.skip("the base model is not installed: ./run speech install base")
    transcriber = build_transcriber(models_dir=tmp_path)
    found = transcriber.transcribe(SPANISH, TranscriptionOptions(), progress=ignore)
    assert (found.model, found.language) == ("base", "es")
    assert "bloqueada" in found.segments[0].text
    assert found.warnings == ()
    doubtful = transcriber.transcribe(LIKE_POLISH, TranscriptionOptions(), progress=ignore)
    assert (doubtful.language, doubtful.warnings) == ("es", ("language_uncertain",))
    assert doubtful.segments[0].text.startswith("clave de entrada")
    with pytest.raises(UnsupportedLanguage, match="language of this recording is not sure"):
        transcriber.transcribe(
            backwards(SPANISH, tmp_path), TranscriptionOptions(), progress=ignore
        )
    music = transcriber.transcribe(MUSIC, TranscriptionOptions(), progress=ignore)
    assert (music.language, music.segments) == (None, ())
    assert transcriber.transcribe(SPEECH, ENGLISH, progress=ignore).model == "tiny.en"
    for recording, declared, spoken in ((SPANISH, "en", "es"), (SPEECH, "de", "en")):
        with pytest.raises(UnsupportedLanguage, match=f"sounds like the language {spoken}"):
            transcriber.transcribe(
                recording, TranscriptionOptions(language=declared), progress=ignore
            )
    always = build_transcriber(models_dir=tmp_path, always_base=True)
    call = always.transcribe(CARD, ENGLISH, progress=ignore)
    said = "".join(segment.text for segment in call.segments if segment.role == Role.CUSTOMER)
    assert (call.model, sum(map(str.isdigit, said))) == ("base", 16)
    (tmp_path / "base" / "vocabulary.txt").write_text("changed")
    with pytest.raises(ModelMissing, match=r"vocabulary\.txt"):
        build_transcriber(models_dir=tmp_path).transcribe(
            SPANISH, TranscriptionOptions(), progress=ignore
        )


def test_what_a_killed_process_has_joined_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, package in enumerate(("part_one", "part_two"), 1):
        data = tmp_path / "site" / package / "data"
        data.mkdir(parents=True)
        (data.parent / "__init__.py").touch()
        for name in (f"model.bin.part{number}", "config.json", "tokenizer.json", "vocabulary.txt"):
            (data / name).write_text(package)
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.setattr(speech_model, "BASE_PACKAGES", ("part_one", "part_two"))
    models = tmp_path / "models"
    left, running = models / ".base-killed", models / ".base-running"
    for folder in (left, running):
        folder.mkdir(parents=True)
    two_hours_ago = time.time() - 7200
    os.utime(left, (two_hours_ago, two_hours_ago))
    joined = speech_model.find_base(models)
    assert (joined.directory / "model.bin").read_text() == "part_onepart_two"
    assert sorted(path.name for path in models.iterdir()) == [".base-running", "base"]


def test_the_declared_content_type_is_checked(transcriber: Any) -> None:
    options = TranscriptionOptions(content_type="audio/mpeg")
    with pytest.raises(UnsupportedMedia):
        transcriber.transcribe(SILENCE, options, progress=ignore)


def test_a_modified_model_is_refused(tmp_path: Path) -> None:
    genuine = speech_model.find_model(None).directory
    for name in speech_model.PACKAGED_DIGESTS:
        (tmp_path / name).symlink_to(genuine / name)
    (tmp_path / "vocabulary.txt").unlink()
    (tmp_path / "vocabulary.txt").write_bytes((genuine / "vocabulary.txt").read_bytes() + b"\n")
    changed = speech_model.ModelFiles(tmp_path, "tiny.en", speech_model.PACKAGED_DIGESTS)
    with pytest.raises(ModelMissing, match=r"vocabulary\.txt"):
        speech_model.load_model(changed, cpu_threads=1)


def test_a_missing_model_is_reported(tmp_path: Path) -> None:
    transcriber = build_transcriber(model_dir=tmp_path / "absent")
    with pytest.raises(ModelMissing) as failure:
        transcriber.transcribe(SILENCE, ENGLISH, progress=ignore)
    assert failure.value.code == "model_missing"
    assert "model.bin" in failure.value.message
    assert str(tmp_path) not in failure.value.message


def test_a_damaged_model_is_reported(tmp_path: Path) -> None:
    for name in speech_model.PACKAGED_DIGESTS:
        (tmp_path / name).write_bytes(b"{}")
    transcriber = build_transcriber(model_dir=tmp_path)
    with pytest.raises(ModelMissing, match="damaged"):
        transcriber.transcribe(SILENCE, ENGLISH, progress=ignore)


def test_the_factory_imports_no_speech_library() -> None:
    look = (
        "import sys, app.speech.transcriber; print({'av', 'numpy', 'ctranslate2'} & {*sys.modules})"
    )
    seen = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert seen.stdout.strip() == "set()"


def test_speech_across_a_window_boundary_is_found_once() -> None:
    with decoder.decode(CALL) as short:
        once = [(r.start, r.stop) for r in speech_regions.find_regions(short, 1)]
        samples = short.read(1, 0, short.sample_count) * 32768
    with recording_of(np.tile(samples, 6)) as long:
        regions = list(speech_regions.find_regions(long, 0))
        assert len(regions) == 6 * len(once)
        assert all(a.stop <= b.start for a, b in pairwise(regions))


def test_gain_brings_faint_and_loud_speech_to_one_level() -> None:
    for level, gain in [(0.01, 10.0), (0.4, 0.25), (0.0001, 30.0)]:
        with recording_of(np.full(16_000, round(level * 32768))) as recording:
            region = speech_regions.Region(0, 0, 16_000)
            assert speech_regions.speech_gain(recording, [region]) == pytest.approx(gain, rel=0.02)


@pytest.fixture(scope="module")
def model() -> Any:
    return speech_model.load_model(speech_model.find_model(None), cpu_threads=2)


def test_noise_that_is_recognised_together_with_speech_gives_no_words(model: Any) -> None:
    with decoder.decode(NOISE) as noise, decoder.decode(CALL) as call:
        samples = [noise.read(0, 0, 80_000), call.read(0, 164_000, 214_000), np.zeros(80_000)]
    with recording_of(np.concatenate(samples) * 32768) as recording:
        regions = [
            speech_regions.Region(0, 0, 80_000),
            speech_regions.Region(0, 80_000, 130_000),
            speech_regions.Region(0, 130_000, 210_000),
        ]
        utterances = list(
            local_recogniser.recognised(
                speech_regions.Speech(recording, {0: regions}),
                model,
                "en",
                on_done=lambda samples: None,
            )
        )
    assert (
        "is invalid for this conference"
        in " ".join(utterance.text for utterance in utterances).lower()
    )
    assert all(5_000 <= utterance.start_ms < 8_125 for utterance in utterances)


def test_little_padding_is_encoded(model: Any) -> None:
    spectrogram = np.zeros((80, 3000), np.float32)
    assert model.engine.encode(spectrogram).shape == [1, 500, 384]
    spectrogram[:, 1500] = 1
    assert model.engine.encode(spectrogram).shape == [1, 800, 384]
    spectrogram[:, 2999] = 1
    assert model.engine.encode(spectrogram).shape == [1, 1500, 384]
