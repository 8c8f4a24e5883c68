"""Command `exports create`: the same rows as over HTTP, in a file."""

import csv
from pathlib import Path

import click

from app.analytics.cli import exports
from tests.caller import Caller
from tests.contacts import get, judge, put_call, put_chat
from tests.running import CommandRunner


def run(group: click.Command, *arguments: str, code: int = 0) -> str:
    result = CommandRunner().invoke(group, arguments)
    assert result.exit_code == code, result.output
    return str(result.output)


def test_an_export_is_written_into_a_file(client: Caller, tmp_path: Path) -> None:
    judged = put_chat(client, "chat-1")["evaluationId"]
    judge()
    put_call(client, "call-1")
    file = tmp_path / "mine.csv"
    chosen = ("--columns", "evaluation_id,score", "--filter", "status=completed")
    assert run(exports, "create", "evaluations", str(file), *chosen) == f"{file}: 1 rows\n"
    [row] = csv.DictReader(file.read_text().splitlines())
    score = get(client, f"/evaluations/{judged}")["score"]
    assert row == {"evaluation_id": judged, "score": str(score)}
    assert [each.name for each in tmp_path.iterdir() if "mine" in each.name] == ["mine.csv"]
    refused = run(exports, "create", "evaluations", str(tmp_path / "mine.doc"), code=2)
    assert "its ending must be one of .csv, .json, .jsonl, .xlsx, .parquet." in refused
    refused = run(exports, "create", "usage", str(file), "--filter", "channel=chat", code=1)
    assert "has no filters" in refused
