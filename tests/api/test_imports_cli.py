"""Command `import`: files, folders and standard input, with the same result as the API."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from flask import Flask
from sqlalchemy import func, select

from app.conversations.models import Conversation
from app.core.runtime import Runtime
from app.engagements.models import Engagement
from app.evaluations.models import Evaluation
from app.imports import jobs
from app.imports.cli import import_
from app.voice_calls.models import VoiceCall
from tests.caller import Caller
from tests.running import CommandRunner, running_runtime

VTT = "WEBVTT\n\n00:01.000 --> 00:02.500\n<v Alice>Hello\n\n00:03.000 --> 00:04.000\n<v Bob>Hi\n"
Command = Callable[..., Result]


def line(external_id: str, **fields: Any) -> str:
    messages = [
        {"role": "customer", "text": "Hello, where is my parcel? I am waiting for a week now."},
        {"role": "agent", "text": "I am sorry to hear that. It arrives tomorrow."},
        {"role": "customer", "text": "Thank you, goodbye."},
    ]
    return json.dumps({"externalId": external_id, "messages": messages, **fields})


@pytest.fixture
def command(flask_app: Flask) -> Command:
    """Give the command; its result has what it printed on both outputs."""
    runner = CommandRunner()
    return lambda *args, **options: runner.invoke(
        import_, [str(each) for each in args], catch_exceptions=False, **options
    )


def printed_json(result: Result) -> dict[str, Any]:
    assert result.stdout.count("\n") == 1
    return dict(json.loads(result.stdout))


def rows(runtime: Runtime, table: Any) -> int:
    with runtime.db.reading() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def test_runs_of_the_command_are_listed(command: Command, client: Caller, tmp_path: Path) -> None:
    file = tmp_path / "chats.jsonl"
    file.write_text(line("a") + "\n{")
    command(file, "--dry-run")
    assert client.get("/imports").json()["data"] == []
    command(file)
    [listed] = client.get("/imports").json()["data"]
    assert (listed["status"], listed["counts"]["received"]) == ("completed_with_errors", 2)
    assert client.post(f"/imports/{listed['id']}").status_code == 409


def test_the_exit_code_says_that_an_evaluation_failed(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "chats.jsonl"
    short = {"externalId": "b", "messages": [{"role": "customer", "text": "Hi"}]}
    file.write_text(line("a"))
    assert command(file, "--wait").exit_code == 0
    file.write_text(json.dumps(short))
    failed = command(file, "--wait")
    assert "evaluations ended: 1 failed" in failed.stdout
    assert "1 failed: The conversation is too short for a score: " in failed.stderr
    assert failed.exit_code == 1


def test_the_conversation_of_the_first_hour_has_a_score(command: Command, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "first-hour.md").read_text()
    file = tmp_path / "chats.jsonl"
    file.write_text(page.split("```json\n")[1].split("```")[0])
    assert "evaluations ended: 1 completed" in command(file, "--wait").stdout


def test_a_file_is_imported_and_reported(
    command: Command, runtime: Runtime, tmp_path: Path
) -> None:
    file = tmp_path / "chats.jsonl"
    file.write_text("\n".join([line("a"), "{", line("b"), line("a")]))
    result = command(file, "--json", "--engagement", "Audit", "--campaign", "Spring")
    assert result.exit_code == 1
    assert printed_json(result) == {
        "status": "completed_with_errors",
        "dryRun": False,
        "counts": {
            "received": 4,
            "created": 2,
            "updated": 0,
            "skipped": 0,
            "failed": 2,
            "evaluationsQueued": 2,
        },
        "rowsWithoutRecording": [],
        "recordingsWithoutRow": [],
        "errors": [
            {
                "file": "chats.jsonl",
                "line": 2,
                "externalId": None,
                "code": "MALFORMED",
                "message": "The line is not JSON: Expecting property name enclosed in double "
                "quotes at byte 1.",
            },
            {
                "file": "chats.jsonl",
                "line": 4,
                "externalId": "a",
                "code": "DUPLICATE",
                "message": "This externalId occurs more than once in this import; the first "
                "record is used.",
            },
        ],
    }
    assert rows(runtime, Engagement) == 1
    assert rows(runtime, Conversation) == 2


def test_a_second_run_changes_nothing(command: Command, runtime: Runtime, tmp_path: Path) -> None:
    file = tmp_path / "chats.jsonl"
    file.write_text("\n".join([line("a"), line("b")]))
    first = command(file, "--engagement", "Audit")
    assert first.exit_code == 0
    assert "2 records: 2 created, 0 updated, 0 skipped, 0 failed" in first.stdout
    again = command(file, "--engagement", "Audit", "--json")
    assert printed_json(again)["counts"]["skipped"] == 2
    assert printed_json(again)["counts"]["evaluationsQueued"] == 0
    assert rows(runtime, Evaluation) == 2
    assert rows(runtime, Engagement) == 1


def test_a_dry_run_writes_nothing(command: Command, runtime: Runtime, tmp_path: Path) -> None:
    file = tmp_path / "chats.jsonl"
    file.write_text(line("a", engagement="Audit"))
    tried = printed_json(command(file, "--dry-run", "--json"))
    assert tried["dryRun"] is True
    assert tried["counts"]["created"] == 1
    assert rows(runtime, Conversation) == 0
    assert rows(runtime, Engagement) == 0


def test_a_folder_is_read_file_by_file(command: Command, runtime: Runtime, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    (folder / "week 1").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / "a.jsonl").write_text(line("a"))
    (folder / "b.csv").write_text("conversation_id;role;text\nb;agent;Hi\n")
    (folder / "week 1" / "call.vtt").write_text(VTT)
    (folder / ".git" / "x.jsonl").write_text("nonsense")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    result = command(folder, "--json", "--role", "Alice=agent", "--role", "bob=customer")
    assert printed_json(result)["counts"]["created"] == 3
    with runtime.db.reading() as session:
        [call] = session.scalars(select(VoiceCall))
        assert call.external_id == "week 1:call"
        assert call.status == "completed"


def test_a_file_of_unknown_format_is_named_and_stops_no_other(
    command: Command, runtime: Runtime, tmp_path: Path
) -> None:
    (tmp_path / "a.jsonl").write_text(line("a"))
    (tmp_path / "notes.txt").write_text("Dear diary\n")
    (tmp_path / "empty.json").touch()
    (tmp_path / "z.jsonl").write_text(line("z"))
    result = command(tmp_path)
    assert result.exit_code == 1
    assert "4 records: 2 created, 0 updated, 0 skipped, 2 failed" in result.stdout
    assert "notes.txt: UNKNOWN_FORMAT: The format of notes.txt is unknown" in result.stderr
    assert "empty.json: UNKNOWN_FORMAT" in result.stderr
    assert rows(runtime, Conversation) == 2
    failed = printed_json(command(tmp_path, "--json"))
    assert failed["counts"]["skipped"] == 2
    assert [error["file"] for error in failed["errors"]] == ["empty.json", "notes.txt"]


def test_many_bad_lines_hide_no_file_that_could_not_be_read(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "a.jsonl").write_text('{"externalId": "a\n' * 120)
    (tmp_path / "notes.txt").write_text("Dear diary\n")
    (tmp_path / "silent.wav").touch()
    result = command(tmp_path)
    first, second, third, *_ = result.stderr.splitlines()
    assert first.startswith("notes.txt: UNKNOWN_FORMAT: ")
    assert second == "silent.wav: MALFORMED: The file is empty."
    assert third.endswith("The line is not JSON: Unterminated string starting at byte 15.")
    assert result.stderr.endswith("and 22 more errors\n")


def test_standard_input_is_read_and_its_format_detected(command: Command, runtime: Runtime) -> None:
    result = command("-", "--json", input="\ufeff" + line("a") + "\r\n")
    assert printed_json(result)["counts"]["created"] == 1
    named = command("-", "--format", "vtt", "--channel", "chat", "--json", input=VTT)
    assert named.exit_code == 1
    assert [error["code"] for error in printed_json(named)["errors"]] == ["UNKNOWN_ROLE"]
    assert rows(runtime, Conversation) == 1


def test_wait_ends_when_everything_is_evaluated(
    command: Command, runtime: Runtime, tmp_path: Path
) -> None:
    file = tmp_path / "chats.jsonl"
    file.write_text("\n".join(line(f"c{n}") for n in range(5)))
    result = command(file, "--wait", "--json")
    assert result.exit_code == 0
    with runtime.db.reading() as session:
        assert set(session.scalars(select(Evaluation.status))) <= {"completed", "failed"}
        assert rows(runtime, Evaluation) == 5


def test_wait_tells_how_the_evaluations_ended(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "chats.jsonl"
    short = json.dumps({"externalId": "b", "messages": [{"role": "customer", "text": "Hello?"}]})
    file.write_text(line("a") + "\n" + short)
    printed = command(file, "--wait").stdout.splitlines()
    assert printed[1] == "evaluations queued: 2"
    assert printed[2].startswith("evaluations ended: ")
    assert "1 completed" in printed[2]
    assert "1 failed" in printed[2]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["/nowhere/x.jsonl"], 2, "'/nowhere/x.jsonl' does not exist"),
        (["FILE"], 1, "give it with --format"),
        (["FILE", "--role", "Alice"], 2, "NAME=ROLE"),
        (["FILE", "--role", "Alice=boss"], 2, "NAME=ROLE"),
        (["FILE", "--format", "xml"], 2, "xml"),
        (["FILE", "--language", "english!", "--format", "native"], 2, "language"),
        (["FILE", "--scorecard", "sc_1", "--format", "native"], 1, "scorecard"),
        (["FILE", "--format", "native", "--engagement", "ENG"], 1, "engagement"),
        ([], 2, "Missing argument"),
    ],
)
def test_an_impossible_request_ends_with_a_message(
    command: Command, tmp_path: Path, arguments: list[str], code: int, message: str
) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("Dear diary\n")
    swapped = {"FILE": str(file), "ENG": "eng_01k9zq2m5rt9w3x7b1f6e8nvha"}
    result = command(*(swapped.get(argument, argument) for argument in arguments))
    assert result.exit_code == code
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_command_and_api_have_the_same_result(
    client: Caller, command: Command, runtime: Runtime, tmp_path: Path
) -> None:
    files = {
        "native": line("x", language="en", tags=["late"], csat={"score": 4}),
        "csv": "conversation_id,role,text,sent_at\nx,customer,Hi,2026-01-02T03:04:05Z\n",
        "openai": json.dumps({"id": "x", "messages": [{"role": "user", "content": "Hi"}]}),
    }
    for name, content in files.items():
        file = tmp_path / name
        file.write_text(content.replace('"x"', '"by file"').replace("x,", "by file,"))
        assert command(file, "--format", name, "--no-evaluate").exit_code == 0
        other = content.replace('"x"', '"by api"').replace("x,", "by api,")
        body = {"format": name, "content": other, "evaluate": False}
        jobs.run_import(running_runtime(), client.post("/imports", body).json()["data"]["id"])
        data = client.get("/conversations").json()["data"]
        assert len(data) == 2
        own = {"id", "externalId", "conversationAt", "createdAt", "updatedAt"}
        first, second = ({k: v for k, v in row.items() if k not in own} for row in data)
        assert first == second
        said = [
            [
                (message["role"], message["text"], message["sentAt"], message["internal"])
                for message in client.get(f"/conversations/{row['id']}/messages").json()["data"]
            ]
            for row in data
        ]
        assert said[0] == said[1]


def test_columns_are_asked_for_on_the_terminal_and_kept(
    flask_app: Flask, client: Caller, tmp_path: Path
) -> None:
    table = tmp_path / "desk.csv"
    table.write_text(
        "Case,Who,Body,When,Mood\n"
        "k-1,Kunde,Where is my parcel?,2026-07-01 09:30,bad\n"
        "k-1,Rep,I will look at it.,2026-07-01 10:30,bad\n"
    )
    fields = ["externalId", "role", "text", "sentAt"]
    wrong = [*fields, "ignore", "Europe/Madrid", "customer", "agent", "n"]
    right = [*fields, "label", "Nowhere", "Europe/London", "customer", "agent", "y", "Our desk"]
    asked = CommandRunner().invoke(
        import_, [str(table), "--interactive", "--no-evaluate"], input="\n".join([*wrong, *right])
    )
    assert asked.exit_code == 0, asked.output
    assert "customer: Where is my parcel?" in asked.output
    assert "IANA name" in asked.output
    (stored,) = client.get("/conversations").json()["data"]
    assert stored["startedAt"] == "2026-07-01T08:30:00.000Z"
    assert stored["labels"] == {"Mood": "bad"}
    again = CommandRunner().invoke(import_, [str(table), "--preset", "Our desk", "--no-evaluate"])
    assert "1 record: 0 created, 0 updated, 1 skipped" in again.output
    unanswered = CommandRunner().invoke(
        import_, [str(table), "--interactive"], input="externalId\n"
    )
    assert unanswered.exit_code == 1
    assert "Aborted" in unanswered.output
    assert CommandRunner().invoke(import_, [str(tmp_path), "--interactive"]).exit_code == 2
