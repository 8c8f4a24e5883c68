"""Muted copies: masked words cannot be heard, and the original needs a scope of its own."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import requests
from sqlalchemy import select

from app.audio_files import jobs
from app.audio_files.muting import silences
from app.audio_files.stored_objects import mute_id
from app.core.clock import utc_now
from app.core.runtime import Runtime
from app.people.models import AuditEntry
from app.speech.transcriber import TranscriptionOptions, build_transcriber
from app.transcript import Redaction, Word
from tests.caller import Caller, error_code
from tests.contacts import put_call
from tests.recordings import CARD, reserve, send, upload, waveform_of, work
from tests.talks import call
from tests.visitor import Visitor, add_user


@pytest.fixture
def recording(client: Caller) -> str:
    """Upload and process the call in which a card number is said."""
    audio_file_id = upload(client, CARD.read_bytes(), contentType="audio/ogg")
    assert work(client, audio_file_id, language="en")["status"] == "processed"
    return audio_file_id


def make_copy(runtime: Runtime) -> None:
    [job_id] = jobs.due_waveform_ids(runtime)
    jobs.draw_waveform(runtime, job_id)


def heard_in(sound: bytes, folder: Path) -> str:
    """Transcribe sound with the model that ships."""
    path = folder / "copy.m4a"
    path.write_bytes(sound)
    transcript = build_transcriber(spool_dir=folder).transcribe(
        path, TranscriptionOptions(language="en"), progress=lambda share: None
    )
    return " ".join(segment.text for segment in transcript.segments)


def test_no_masked_digit_is_heard_in_the_copy_that_people_get(
    client: Caller, runtime: Runtime, recording: str, base: str, tmp_path: Path
) -> None:
    path = f"/audio-files/{recording}/download-url"
    assert client.get(path).status_code == 409, "better no sound than the original"
    make_copy(runtime)
    runtime.storage.delete(mute_id(recording))
    assert client.get(path).status_code == 409, "the copy is lost"
    make_copy(runtime)
    link = client.get(path).json()["data"]
    assert (link["muted"], link["contentType"]) == (True, "audio/mp4")
    assert link["fileName"] == "call.muted.m4a"
    sound = requests.get(link["downloadUrl"], timeout=10).content
    assert len(sound) == link["sizeBytes"]
    text = heard_in(sound, tmp_path)
    assert not any(character.isdigit() for character in text), text
    for kept in ("Thank you for your patience", "Goodbye"):
        assert kept in text
    add_user(runtime, "reviewer")
    visitor = Visitor(base)
    visitor.sign_in("reviewer")
    assert visitor.get(f"/recordings/{recording}/sound").content == sound
    peaks = waveform_of(client, recording)
    assert all(peak == 0 for channel in peaks for peak in channel[6 * 20 : 19 * 20])
    assert any(channel[3 * 20] for channel in peaks)


def test_the_original_needs_its_scope_and_leaves_a_trace(
    client: Caller,
    runtime: Runtime,
    recording: str,
    base: str,
    make_caller: Callable[..., Caller],
) -> None:
    path = f"/audio-files/{recording}/download-url?original=true"
    answer = make_caller(base, scopes=["audio:read", "audio:download"]).get(path)
    assert error_code(answer) == "INSUFFICIENT_SCOPE"
    link = make_caller(base, scopes=["audio:download", "audio:original"]).get(path).json()["data"]
    assert requests.get(link["downloadUrl"], timeout=10).content == CARD.read_bytes()
    [key_entry] = originals_heard(runtime)
    assert key_entry.object_id == recording
    assert key_entry.address.startswith("key key_")
    visitors = {}
    for role in ("reviewer", "admin"):
        add_user(runtime, role)
        visitors[role] = Visitor(base)
        visitors[role].sign_in(role)
    address = f"/recordings/{recording}/sound?original=1"
    assert visitors["reviewer"].get(address).status_code == 403
    assert visitors["admin"].get(address).content == CARD.read_bytes()
    assert [entry.object_id for entry in originals_heard(runtime)] == [recording, recording]


def originals_heard(runtime: Runtime) -> list[Any]:
    entries = select(AuditEntry.object_id, AuditEntry.address).order_by(AuditEntry.at)
    with runtime.db.reading() as session:
        return list(session.execute(entries.where(AuditEntry.action == "original_played")))


def test_an_original_with_a_muted_copy_but_no_masked_word_can_be_heard(
    client: Caller, runtime: Runtime, base: str
) -> None:
    audio_file_id = upload(client, CARD.read_bytes(), contentType="audio/ogg")
    turns = [
        {"role": "agent", "text": "What is your card number?", "startMs": 0, "endMs": 3_000},
        {"role": "agent", "text": "Thank you, goodbye.", "startMs": 9_000, "endMs": 9_500},
    ]
    made = put_call(client, turns=turns, recording={"audioFileId": audio_file_id})
    assert client.get(f"/audio-files/{audio_file_id}/download-url").status_code == 409
    make_copy(runtime)
    for role, count in (("reviewer", 0), ("admin", 1)):
        add_user(runtime, role)
        visitor = Visitor(base)
        visitor.sign_in(role)
        page = visitor.get(f"/evaluations/{made['evaluationId']}").text
        assert page.count('aria-label="Original sound"') == count


def test_a_recording_without_a_transcript_is_an_original(
    client: Caller, runtime: Runtime, base: str, make_caller: Callable[..., Caller]
) -> None:
    audio_file_id = upload(client, CARD.read_bytes(), contentType="audio/ogg")
    call_id = put_call(client, turns=[], recording={"audioFileId": audio_file_id})["id"]
    paths = (f"/audio-files/{audio_file_id}/download-url", f"/voice-calls/{call_id}/recording-url")
    key = make_caller(base, scopes=["audio:download", "voice:read"])
    for path in paths:
        refused = key.get(path)
        assert refused.status_code == 409
        assert "needs the scope audio:original" in refused.text
    assert originals_heard(runtime) == []
    for path in paths:
        assert client.get(path).status_code == 200
    heard = originals_heard(runtime)
    assert [entry.object_id for entry in heard] == [audio_file_id] * 2
    assert {entry.address for entry in heard} == {f"key {client.key_id}"}


def test_a_remade_copy_replaces_the_earlier_one_and_has_another_etag(
    client: Caller, runtime: Runtime, recording: str
) -> None:
    make_copy(runtime)

    def link() -> str:
        answer = client.get(f"/audio-files/{recording}/download-url").json()["data"]
        return str(answer["downloadUrl"])

    def fetched() -> requests.Response:
        return requests.get(link(), timeout=10)

    earlier = link()
    first = requests.get(earlier, timeout=10)
    said = {"role": "customer", "text": "I am Ann Smith.", "startMs": 1_000, "endMs": 3_000}
    put_call(client, turns=[said], recording={"audioFileId": recording})
    again = client.get(f"/audio-files/{recording}/download-url")
    assert again.status_code == 409
    assert runtime.storage.size_of(mute_id(recording)) == len(first.content), "kept until replaced"
    make_copy(runtime)
    second = fetched()
    assert second.content != first.content
    assert second.headers["ETag"] != first.headers["ETag"]
    assert fetched().headers["ETag"] == second.headers["ETag"]
    assert requests.get(earlier, timeout=10).status_code == 404, "an earlier copy of other words"


def test_a_deleted_original_leaves_the_muted_copy(
    client: Caller, runtime: Runtime, recording: str, base: str
) -> None:
    assert jobs.delete_originals(runtime, before=utc_now()) == 0, "there is no copy yet"
    make_copy(runtime)
    assert jobs.delete_originals(runtime, before=utc_now()) == 1
    assert runtime.storage.size_of(recording) is None
    assert client.get(f"/audio-files/{recording}/download-url").json()["data"]["muted"]
    assert client.get(f"/audio-files/{recording}/download-url?original=true").status_code == 404
    add_user(runtime, "admin")
    visitor = Visitor(base)
    visitor.sign_in("admin")
    assert visitor.get(f"/recordings/{recording}/sound?original=1").status_code == 404
    assert originals_heard(runtime) == []
    again = client.post(f"/audio-files/{recording}/process", {"force": True, "language": "en-GB"})
    assert again.status_code == 409
    assert "original sound was deleted" in again.text
    shown = client.get(f"/audio-files/{recording}").json()["data"]
    assert shown["originalDeletedAt"] is not None


def test_the_words_of_imported_turns_are_silent_in_the_recording_of_the_call(
    client: Caller, runtime: Runtime, tmp_path: Path
) -> None:
    reserved = reserve(client, CARD.stat().st_size, contentType="audio/ogg")
    audio_file_id = reserved["audioFileId"]
    said = {
        "role": "customer",
        "text": "It is 4539 1488 0343 6467.",
        "startMs": 5194,
        "endMs": 19874,
    }
    turns = [{"role": "agent", "text": "Number?", "startMs": 2414, "endMs": 4534}, said]
    made = put_call(client, turns=turns, recording={"audioFileId": audio_file_id})
    path = f"/voice-calls/{made['id']}/recording-url"
    assert client.get(path).status_code == 404
    assert not jobs.due_waveform_ids(runtime), "there is nothing to mute yet"
    assert send(reserved, CARD.read_bytes()).status_code == 201
    assert client.get(path).status_code == 409
    make_copy(runtime)
    link = client.get(path).json()["data"]
    assert link["redacted"]
    text = heard_in(requests.get(link["recordingUrl"], timeout=10).content, tmp_path)
    assert not any(character.isdigit() for character in text), text
    assert "Goodbye" in text
    assert jobs.delete_originals(runtime, before=utc_now()) == 1
    late = {"role": "agent", "text": "Bye, Ms Smith.", "startMs": 20_000, "endMs": 60_000}
    put_call(client, turns=[*turns, late], recording={"audioFileId": audio_file_id})
    assert client.get(path).status_code == 409, "more is masked now"
    make_copy(runtime)
    link = client.get(path).json()["data"]
    text = heard_in(requests.get(link["recordingUrl"], timeout=10).content, tmp_path)
    assert "number" in text
    assert "Goodbye" not in text


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            (("My", 0, 200), ("card", 200, 400), ("[CARD]", 500, 700), ("[CARD]", 900, 2_000)),
            (350, 2_150),
        ),
        ((("My", 0, 200), ("card", 200, 400), ("4111", 500, 2_000)), (0, 9_150)),
        ((), (0, 9_150)),
    ],
    ids=["masked words", "words that are not those of the text", "no words"],
)
def test_what_is_silent(words: Any, expected: tuple[int, int]) -> None:
    said = call(("c", 0, 9_000, "My card [CARD]"))
    masked = replace(
        said.segments[0],
        words=tuple(Word(text, start, end, None) for text, start, end in words),
        redactions=(Redaction("CARD", 8, 14),),
    )
    assert list(silences(replace(said, segments=(masked,)))) == [expected]


def test_around_a_card_number_what_may_be_misheard_is_silent_as_well() -> None:
    said = call(("c", 0, 9_000, "It is four [CARD]"))
    words = (("It", 0, 200), ("is", 200, 400), ("four", 400, 900), ("[CARD]", 4_000, 6_000))
    masked = replace(
        said.segments[0],
        words=tuple(Word(text, start, end, None) for text, start, end in words),
        redactions=(Redaction("card", 11, 17),),
    )
    assert list(silences(replace(said, segments=(masked,)))) == [(850, 7_150)]


def test_an_answer_that_was_not_understood_at_all_is_silent() -> None:
    said = call(
        ("a", 0, 3_000, "What is your card number?"), ("a", 9_000, 9_500, "Thank you, that is it.")
    )
    assert list(silences(replace(said, redacted=True))) == [(3_000, 9_000)]
    other = call(("a", 0, 3_000, "What is your name?"), ("a", 9_000, 9_500, "Thank you."))
    assert list(silences(replace(other, redacted=True))) == []
