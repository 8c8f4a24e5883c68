"""Command `import` with recordings: real files, their metadata, and their way to a score."""

import json
import shutil
import signal
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from flask import Flask

from app.imports.cli import import_
from app.speech.decoder import decode
from tests.caller import Caller
from tests.recordings import CALL, CARD, SILENCE, SPEECH, split_call
from tests.running import CommandRunner
from tests.waiting import wait_until
from tests.walks.service_process import ServiceProcess

Command = Callable[..., Result]


@pytest.fixture
def command(flask_app: Flask) -> Command:
    """Give the command; its result has what it printed on both outputs."""
    runner = CommandRunner()
    return lambda *args: runner.invoke(
        import_, [str(argument) for argument in args], catch_exceptions=False
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder for recordings."""
    made = tmp_path / "calls"
    made.mkdir()
    return made


def recordings(client: Caller) -> list[dict[str, Any]]:
    answer = client.get("/audio-files?sort=createdAt")
    assert answer.status_code == 200
    return list(answer.json()["data"])


def test_a_folder_is_followed_to_the_scores_and_a_second_run_adds_nothing(
    command: Command, client: Caller, folder: Path
) -> None:
    shutil.copy(CALL, folder / "call.wav")
    (folder / "call.wav.json").write_text(
        json.dumps(
            {
                "externalId": "call-1",
                "executive": "Asha",
                "campaign": "Returns",
                "channelMap": {"agent": 0, "customer": 1},
                "recordedAt": "2026-11-21T09:30:00Z",
            }
        )
    )
    shutil.copy(SILENCE, folder / "silence.wav")
    first = command(folder, "--wait", "--evaluate")
    assert first.exit_code == 1
    assert "2 records: 2 created, 0 updated, 0 skipped, 0 failed" in first.stdout
    call, silence = recordings(client)
    assert (call["externalId"], call["status"]) == ("call-1", "processed")
    assert call["recordedAt"] == "2026-11-21T09:30:00.000Z"
    assert call["executiveId"]
    assert call["campaignId"]
    assert f"call.wav: score {call['score']}\n" in first.stdout
    assert silence["externalId"] == f"sha256:{silence['sha256']}"
    assert f"silence.wav: {silence['error']['message']}\n" in first.stderr
    (folder / "silence.wav").rename(folder / "renamed.wav")
    again = command(folder)
    assert "2 records: 0 created, 0 updated, 2 skipped, 0 failed" in again.stdout
    assert len(recordings(client)) == 2


def test_two_sides_of_a_call_become_one_recording(
    command: Command, client: Caller, folder: Path
) -> None:
    split_call(folder, "20261121-11-out.wav", "20261121-11-in.wav")
    unknown = command(folder, "--pairs")
    assert "Which side is the agent's depends on the direction" in unknown.output
    assert recordings(client) == []
    shutil.copy(SILENCE, folder / "20261121-11-in.mp3")
    third = command(folder, "--pairs", "--direction", "inbound")
    assert "0 created, 0 updated, 0 skipped, 3 failed" in third.output
    assert "20261121-11 has 3 files that name a side: a pair is two." in third.output
    (folder / "20261121-11-in.mp3").unlink()
    shutil.copy(SILENCE, folder / "7-agent.wav")
    first = command(folder, "--pairs", "--direction", "inbound", "--wait")
    assert "1 created, 0 updated, 0 skipped, 1 failed" in first.output
    assert "The other half of this pair, 7-customer, is not in the folder." in first.output
    [made] = recordings(client)
    assert (made["fileName"], made["channels"]) == ("20261121-11.wav", 2)
    assert made["channelMap"] == {"agent": 0, "customer": 1}
    transcript = client.get(f"/audio-files/{made['id']}/transcript").json()["data"]
    said = {role: text_of(transcript, role) for role in ("agent", "customer")}
    assert "Please hold" in said["agent"]
    assert "Please" not in said["customer"]
    with wave.open(str(folder / "7-customer.wav"), "wb") as longer:
        longer.setparams((1, 2, 8_000, 0, "NONE", ""))
        longer.writeframes(bytes(16_000 * 60))
    again = command(folder, "--pairs", "--direction", "inbound")
    assert "0 created, 0 updated, 1 skipped, 1 failed" in again.output
    assert "they are not the sides of one call" in again.output


def test_two_sides_are_aligned_by_their_starts(
    command: Command, client: Caller, folder: Path
) -> None:
    split_call(folder, "1-agent.wav", "1-customer.wav")
    for half, start in (("agent", "09:00:02.500"), ("customer", "09:00:00")):
        text = json.dumps({"recordedAt": f"2026-11-21T{start}Z"})
        (folder / f"1-{half}.wav.json").write_text(text)
    shutil.copy(SILENCE, folder / "2-agent.wav")
    shutil.copy(SILENCE, folder / "2-agent.mp3")
    done = command(folder, "--pairs", "--no-evaluate")
    assert "1 created, 0 updated, 0 skipped, 2 failed" in done.output
    assert "The folder has 2 files of this side of 2, and none of the other." in done.output
    [made] = recordings(client)
    assert made["recordedAt"] == "2026-11-21T09:00:00.000Z"
    with decode(CARD, spool_dir=folder) as call:
        seconds = call.sample_count / 16_000 + 2.5
    # 16,000 samples of two channels and two bytes each, after the header of a WAV file.
    assert made["sizeBytes"] == pytest.approx(64_000 * seconds, abs=1_000)


def text_of(transcript: Any, role: str) -> str:
    return " ".join(part["text"] for part in transcript["segments"] if part["role"] == role)


def test_a_table_and_the_name_describe_a_recording(
    command: Command, client: Caller, folder: Path
) -> None:
    (folder / "Asha").mkdir()
    shutil.copy(SPEECH, folder / "Asha" / "20261121T093000.mp3")
    table = folder / "calls.csv"
    table.write_text(
        "Recording;Agent-Channel;Line;label.team\nAsha/20261121T093000.mp3;0;in;night\n"
    )
    arguments = (
        *(folder, "--metadata", table, "--map", "Recording=file", "--timezone", "Asia/Kolkata"),
        *("--name-pattern", "{executive}/{recordedAt}", "--no-evaluate"),
    )
    refused = command(*arguments)
    assert refused.exit_code == 1
    assert "Unknown columns: 'Line'." in refused.stderr
    done = command(*arguments, "--map", "Line=ignore")
    assert done.exit_code == 0, done.output
    (recording,) = recordings(client)
    assert recording["recordedAt"] == "2026-11-21T04:00:00.000Z"
    assert recording["labels"] == {"team": "night"}
    assert recording["channelMap"] == {"agent": 0}
    assert recording["status"] == "uploaded"
    assert recording["executiveId"]


def test_recordings_are_matched_with_the_log_of_their_system(
    command: Command, client: Caller, folder: Path
) -> None:
    shutil.copy(SPEECH, folder / "RE1.mp3")
    shutil.copy(SILENCE, folder / "RE3.wav")
    log = folder.parent / "log.csv"
    log.write_text(
        "sid,call_sid,start_time,direction,duration,status\n"
        'RE1,CA1,"Tue, 24 Aug 2010 09:16:00 +0000",outbound-api,4,completed\n'
        "RE2,CA2,2010-08-25T09:16:00Z,inbound,4,completed\n"
    )
    arguments = (folder, "--metadata", log, "--preset", "twilio", "--no-evaluate")
    done = command(*arguments)
    assert done.exit_code == 0, done.output
    assert "Rows of the metadata without a recording: RE2\n" in done.stderr
    assert "Recordings without a row: RE3.wav\n" in done.stderr
    first = next(row for row in recordings(client) if row["fileName"] == "RE1.mp3")
    assert first["recordedAt"] == "2010-08-24T09:16:00.000Z"
    assert first["direction"] == "outbound"
    shutil.rmtree(folder)
    deep = folder / "org" / "conversation_id=c-7"
    deep.mkdir(parents=True)
    shutil.copy(CALL, deep / "rec.wav")
    log.write_text("Conversation ID,Users,Queue,Direction,ANI\nc-7,Ann Lee,Billing,Inbound,+1\n")
    again = command(folder, "--metadata", log, "--preset", "genesys", "--no-evaluate", "--json")
    document = json.loads(again.stdout)
    assert (document["rowsWithoutRecording"], document["recordingsWithoutRow"]) == ([], [])
    found = next(row for row in recordings(client) if row["fileName"] == "rec.wav")
    assert found["direction"] == "inbound"
    assert found["executiveId"]


FREEPBX = "out-08215550163-3201-20250327-092517-1743042317.12206"
MASTER_CSV = (
    '"","3201","08215550163","from-internal","""Ann"" <3201>","PJSIP/3201-1","PJSIP/t-2","Dial",'
    '"x","2025-03-27 09:25:17","2025-03-27 09:25:20","2025-03-27 09:27:00",103,100,"ANSWERED",'
    '"DOCUMENTATION","1743042317.12206",""\n'
)


def test_a_dry_run_shows_what_the_names_of_a_telephone_system_say(
    command: Command, client: Caller, folder: Path
) -> None:
    shutil.copy(SPEECH, folder / f"{FREEPBX}.mp3")
    shutil.copy(SILENCE, folder / "q-400-0160555-20250328-101112-1743150000.7.wav")
    arguments = (
        *(folder, "--name-pattern", "freepbx", "--agent", "3201=Ann Lee", "--no-evaluate"),
        *("--timezone", "Europe/Berlin", "--direction-of", "q=outbound"),
    )
    tried = command(*arguments, "--dry-run")
    assert tried.exit_code == 0, tried.output
    head, first, second = (line.split() for line in tried.stdout.splitlines()[-3:])
    assert head == ["file", "externalId", "recordedAt", "direction", "executive", "number"]
    assert first[2:] == ["2025-03-27T09:25:17+01:00", "outbound", "Ann", "Lee", "08215550163"]
    assert second[1:] == ["1743150000.7", "2025-03-28T10:11:12+01:00", "outbound", "-", "0160555"]
    assert recordings(client) == []
    assert command(*arguments).exit_code == 0
    call = recordings(client)[0]
    assert (call["externalId"], call["direction"]) == ("1743042317.12206", "outbound")
    assert call["recordedAt"] == "2025-03-27T08:25:17.000Z"
    assert "08215550163" not in json.dumps(call["labels"])
    assert command(folder, "--direction-of", "in=north").exit_code == 2


@pytest.mark.parametrize(
    ("preset", "name", "log"),
    [
        ("asterisk", f"{FREEPBX}.mp3", MASTER_CSV),
        (
            "asterisk",
            "anything.mp3",
            "calldate,src,dst,uniqueid,recordingfile\n"
            "2025-03-27 09:25:17,3201,08215550163,1743042317.12206,anything.mp3\n"
            "2025-03-27 09:25:18,3999,3201,1743042317.12206,anything.mp3\n",
        ),
        (
            "3cx",
            "[Ann]_3201-08215550163_20250327092601(7).mp3",
            '"Call Time","From","To","Direction","Status"\n'
            '"2025-03-27 09:25:17","Ann Lee (3201)","+498215550163","Outbound","Answered"\n',
        ),
        (
            "twilio",
            f"RE{'0a' * 16}.mp3",
            json.dumps(
                {
                    "page": 0,
                    "calls": [
                        {
                            "sid": f"RE{'0a' * 16}",
                            "from": "3201",
                            "to": "+498215550163",
                            "direction": "outbound-api",
                            "start_time": "Thu, 27 Mar 2025 08:25:17 +0000",
                            "subresource_uris": {"recordings": "/x.json"},
                        }
                    ],
                }
            ),
        ),
    ],
)
def test_records_of_calls_are_joined_to_recordings(
    command: Command, client: Caller, folder: Path, preset: str, name: str, log: str
) -> None:
    shutil.copy(SPEECH, folder / name)
    shutil.copy(SILENCE, folder / "other.wav")
    table = folder.parent / ("calls.json" if log.startswith("{") else "calls.csv")
    table.write_text(log)
    arguments: tuple[object, ...] = (
        *(folder / name, "--metadata", table, "--preset", preset, "--no-evaluate"),
        *("--timezone", "Europe/Berlin", "--agent", "3201=Ann Lee"),
    )
    if not name.startswith("anything"):
        system = {"asterisk": "freepbx"}.get(preset, preset)
        arguments = (*arguments, "--name-pattern", system)
    done = command(*arguments)
    assert done.exit_code == 0, done.output
    assert "without a" not in done.stderr
    (call,) = recordings(client)
    assert call["recordedAt"] == "2025-03-27T08:25:17.000Z"
    assert call["executiveId"]
    assert call["direction"] == "outbound"


def test_a_recording_gets_no_row_of_another_one(
    command: Command, client: Caller, folder: Path
) -> None:
    """Neither by the day that a folder is named after, nor by a name that several paths end with."""
    for sound, name in ((SILENCE, "12/a.wav"), (SPEECH, "x/audio.mp3")):
        (folder / name).parent.mkdir()
        shutil.copy(sound, folder / name)
    table = folder.parent / "calls.csv"
    table.write_text("file,externalId,executive\n/p/1/audio.mp3,12,Ann\n/p/2/audio.mp3,13,Bo\n")
    done = command(folder, "--metadata", table, "--no-evaluate")
    assert "Recordings without a row: 12/a.wav, x/audio.mp3\n" in done.stderr
    assert [row["executiveId"] for row in recordings(client)] == [None, None]


def test_a_call_is_joined_by_its_start_only_where_one_fits(
    command: Command, client: Caller, folder: Path
) -> None:
    shutil.copy(SPEECH, folder / "[x]_3201-08215550163_20250327092601(7).mp3")
    table = folder.parent / "calls.csv"
    row = '"2025-03-27 09:25:{}","3201","08215550163","Outbound"\n'
    table.write_text(f'"Call Time","From","To","Direction"\n{row.format(10)}{row.format(40)}')
    done = command(
        *(folder, "--metadata", table, "--preset", "3cx", "--no-evaluate", "--name-pattern"),
        *("3cx", "--timezone", "Europe/Berlin"),
    )
    assert "Rows of the metadata without a recording: line 2, line 3\n" in done.stderr
    assert "Recordings without a row: [x]" in done.stderr
    assert recordings(client)[0]["recordedAt"] == "2025-03-27T08:26:01.000Z"


def test_a_log_without_calls_is_refused(command: Command, folder: Path) -> None:
    shutil.copy(SPEECH, folder / "call.mp3")
    table = folder.parent / "calls.json"
    for content, says in (
        ("{", "is not JSON"),
        ("7", "one list"),
        ('[{"sid": "x"}]', "No column is file"),
    ):
        table.write_text(content)
        done = command(folder, "--metadata", table, "--no-evaluate")
        assert done.exit_code == 1
        assert says in done.stderr


@pytest.mark.parametrize(("row", "cells"), [("call.mp3,Returns, summer,Alice", 4), ("call.mp3", 1)])
def test_a_row_with_other_cells_than_columns_is_refused(
    command: Command, folder: Path, row: str, cells: int
) -> None:
    shutil.copy(SPEECH, folder / "call.mp3")
    table = folder / "calls.csv"
    table.write_text(f"file,campaign,executive\n{row}\n")
    done = command(folder, "--metadata", table, "--no-evaluate")
    assert done.exit_code == 1
    assert f"calls.csv, line 2: The row has {cells} cells, but the first line has 3." in done.stderr


@pytest.mark.parametrize(
    ("sidecar", "message"),
    [
        ("{", "call.json is not JSON"),
        ('{"recordedAt": "yesterday"}', "recordedAt: This must be a time"),
        ('{"sizeBytes": 1}', "The file itself says sizeBytes"),
    ],
)
def test_a_failed_file_says_why_and_stops_no_other(
    command: Command, client: Caller, folder: Path, sidecar: str, message: str
) -> None:
    shutil.copy(SILENCE, folder / "call.wav")
    (folder / "call.json").write_text(sidecar)
    shutil.copy(SPEECH, folder / "speech.mp3")
    (folder / "nothing.wav").write_bytes(b"")
    done = command(folder, "--no-evaluate")
    assert done.exit_code == 1
    assert "3 records: 1 created, 0 updated, 0 skipped, 2 failed" in done.stdout
    assert f"call.wav: {'MALFORMED' if sidecar == '{' else 'VALIDATION_ERROR'}" in (done.stderr)
    assert message in done.stderr
    assert "The file is empty." in done.stderr
    assert [recording["fileName"] for recording in recordings(client)] == ["speech.mp3"]


def test_another_recording_of_the_same_key_is_refused(
    command: Command, client: Caller, folder: Path
) -> None:
    for source, name in ((SPEECH, "a.mp3"), (SILENCE, "b.wav")):
        shutil.copy(source, folder / name)
        (folder / f"{name}.json").write_text('{"externalId": "one"}')
    done = command(folder, "--no-evaluate")
    assert "Another recording has the externalId one" in done.stderr
    assert len(recordings(client)) == 1


def test_an_import_that_was_cut_off_continues(
    command: Command, client: Caller, folder: Path
) -> None:
    """The row is made before the file is stored, so a killed import leaves a row that waits."""
    body = SPEECH.read_bytes()
    reserved = client.post(
        "/audio-files/upload-url",
        {
            "fileName": "speech.mp3",
            "contentType": "audio/mpeg",
            "sizeBytes": len(body),
            "externalId": "one",
        },
    ).json()["data"]
    shutil.copy(SPEECH, folder / "speech.mp3")
    (folder / "speech.json").write_text('{"externalId": "one"}')
    assert "1 created" in command(folder, "--no-evaluate").stdout
    (recording,) = recordings(client)
    assert recording["id"] == reserved["audioFileId"]
    assert recording["status"] == "uploaded"


def test_a_watched_folder_takes_what_arrives(base: str, data_dir: Path, folder: Path) -> None:
    watch = ("import", str(folder), "--watch", "--no-evaluate")
    command = ServiceProcess(data_dir, *watch, CQE_REDIS_URL="none")

    def expect(line: str) -> None:
        wait_until(lambda: f"{line}\n" in command.text)

    try:
        # A file that exists and cannot be read.
        (folder / "broken.jsonl").symlink_to("/proc/self/mem")
        expect("broken.jsonl: 1 record: 0 created, 0 updated, 0 skipped, 1 failed")
        shutil.copy(SPEECH, folder / "first.mp3")
        expect("first.mp3: 1 record: 1 created, 0 updated, 0 skipped, 0 failed")
        shutil.copy(SPEECH, folder / "copy.mp3")
        expect("copy.mp3: 1 record: 0 created, 0 updated, 1 skipped, 0 failed")
        assert command.stop(signal.SIGINT) == 0
        assert "broken.jsonl: MALFORMED: The file could not be read" in command.text
    finally:
        command.end()
