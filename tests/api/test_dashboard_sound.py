"""Sound for the player: limited ranges, roles, the audit trail, and waveforms on first view."""

from typing import Any

from sqlalchemy import select

from app.audio_files import jobs as drawing
from app.core.runtime import Runtime
from app.people.models import AuditEntry
from app.privacy import jobs as erasures
from app.privacy import service
from tests.caller import Caller
from tests.recordings import SPEECH, upload
from tests.visitor import Visitor

MIB = 1 << 20


def played(runtime: Runtime) -> list[str | None]:
    with runtime.db.reading() as session:
        found = select(AuditEntry.object_id).where(AuditEntry.action == "original_played")
        return list(session.scalars(found))


def test_an_answer_has_at_most_a_mebibyte(client: Caller, runtime: Runtime, visit: Any) -> None:
    body = b"RIFF" + bytes(range(256)) * 12_000
    recording = upload(client, body)
    path = f"/recordings/{recording}/sound?original=1"
    reviewer = visit("admin")
    first = reviewer.get(path, {"Range": "bytes=0-"})
    assert first.status_code == 206
    assert first.content == body[:MIB]
    assert first.headers["Content-Range"] == f"bytes 0-{MIB - 1}/{len(body)}"
    assert first.headers["Content-Type"] == "audio/wav"
    assert first.headers["Cache-Control"] == "private, no-store"
    assert first.headers["Accept-Ranges"] == "bytes"
    rest = reviewer.get(path, {"Range": f"bytes={2 * MIB}-"})
    assert rest.content == body[2 * MIB : 3 * MIB]
    tail = reviewer.get(path, {"Range": "bytes=-100"})
    assert tail.content == body[-100:]
    assert reviewer.get(path, {"Range": f"bytes={len(body)}-"}).status_code == 416
    assert reviewer.get(path).status_code == 422
    assert played(runtime) == [recording], "one entry for a person and a day"


def test_a_small_recording_is_sent_whole(client: Caller, visit: Any) -> None:
    recording = upload(client, SPEECH.read_bytes(), contentType="audio/mpeg")
    answer = visit("admin").get(f"/recordings/{recording}/sound?original=1")
    assert (answer.status_code, answer.content) == (200, SPEECH.read_bytes())


def test_sound_needs_a_session_and_more_than_the_role_of_a_viewer(
    client: Caller, runtime: Runtime, base: str, visit: Any
) -> None:
    recording = upload(client, SPEECH.read_bytes(), contentType="audio/mpeg")
    assert visit("viewer").get(f"/recordings/{recording}/sound").status_code == 403
    assert Visitor(base).get(f"/recordings/{recording}/sound").status_code == 303
    assert played(runtime) == []


def test_an_erased_recording_is_neither_heard_nor_drawn(
    client: Caller, runtime: Runtime, visit: Any
) -> None:
    recording = upload(client, SPEECH.read_bytes(), contentType="audio/mpeg")
    with runtime.db.writing() as session:
        service.erase_recordings(session, [recording])
    reviewer = visit("reviewer")
    for part in ("sound", "wave"):
        assert reviewer.get(f"/recordings/{recording}/{part}").status_code == 404
    erasures.purge_bytes(runtime)
    assert reviewer.get(f"/recordings/{recording}/sound").status_code == 404
    assert played(runtime) == []


def test_an_older_recording_is_drawn_on_first_view(
    client: Caller, runtime: Runtime, visit: Any
) -> None:
    recording = upload(client, SPEECH.read_bytes(), contentType="audio/mpeg")
    viewer = visit("viewer")
    first = viewer.get(f"/recordings/{recording}/wave")
    assert (first.status_code, first.content) == (202, b"")
    [job_id] = drawing.due_waveform_ids(runtime)
    drawing.draw_waveform(runtime, job_id)
    wave = viewer.get(f"/recordings/{recording}/wave")
    assert wave.status_code == 200
    assert wave.content.startswith(b"CQW1\x01\x14")
    broken = upload(client, b"RIFF not a recording")
    assert viewer.get(f"/recordings/{broken}/wave").status_code == 202
    drawing.draw_waveform(runtime, drawing.due_waveform_ids(runtime)[0])
    assert viewer.get(f"/recordings/{broken}/wave").status_code == 404
