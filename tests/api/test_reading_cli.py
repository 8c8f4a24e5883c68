"""Commands that read: `evaluations list` and `show`, `executives list`, `exports create`."""

import csv
import json
from pathlib import Path

import click
import pytest

from app.analytics.cli import executives, exports
from app.evaluations.cli import evaluations
from tests.caller import Caller
from tests.contacts import get, judge, put_call, put_chat
from tests.running import CommandRunner


def run(group: click.Command, *arguments: str, code: int = 0) -> str:
    result = CommandRunner().invoke(group, arguments)
    assert result.exit_code == code, result.output
    return str(result.output)


@pytest.fixture
def judged(client: Caller) -> str:
    """The evaluation of one chat that was judged; a call waits for that."""
    evaluation_id = str(put_chat(client, "chat-1")["evaluationId"])
    judge()
    put_call(client, "call-1")
    return evaluation_id


def test_evaluations_are_listed_with_filters(client: Caller, judged: str) -> None:
    listed = json.loads(run(evaluations, "list", "--json"))
    assert [row["id"] for row in listed] == [row["id"] for row in get(client, "/evaluations")]
    [line] = run(evaluations, "list", "--filter", "status=completed").splitlines()
    assert line.startswith(judged)
    assert "chat-1" in line
    shortened = run(evaluations, "list", "--limit", "1", "--sort", "score").splitlines()
    assert shortened[-1] == "1 of 2; --limit and --filter change the list"
    assert "minScore" in run(evaluations, "list", "--filter", "minScore=x", code=2)
    assert run(evaluations, "list", "--filter", "maxScore=100").splitlines() == [line]
    assert judged not in run(evaluations, "list", "--filter", "q=2026")


def test_one_evaluation_is_shown(client: Caller, judged: str) -> None:
    results = get(client, f"/evaluations/{judged}/results")
    assert json.loads(run(evaluations, "show", judged, "--json"))["criteria"] == results["criteria"]
    shown = run(evaluations, "show", judged)
    assert results["summary"]["overview"] in shown
    scored = [
        criterion for criterion in results["criteria"] if criterion["normalizedScore"] is not None
    ]
    assert all(f"{each['title']}: {each['explanation']}" in shown for each in scored)
    assert "Error" in run(evaluations, "show", "eval_01k9zq4v2me8wb7xq3s5ndt6ha", code=1)


def test_a_failed_evaluation_is_shown_with_its_reason(client: Caller) -> None:
    short = [{"role": "customer", "text": "Hello?"}]
    evaluation_id = put_chat(client, "chat-1", messages=short)["evaluationId"]
    judge()
    error = get(client, f"/evaluations/{evaluation_id}")["error"]
    assert f"Failed: {error['message']}" in run(evaluations, "show", evaluation_id)
    again = run(evaluations, "re-evaluate", evaluation_id, "--wait")
    assert again.endswith(f" is revision 2: failed: {error['message']}\n")


def test_executives_are_compared(client: Caller, judged: str) -> None:
    ranked = get(client, "/analytics/executives?minEvaluations=1")
    assert json.loads(run(executives, "list", "--json")) == ranked
    heading, *lines = run(executives, "list").splitlines()
    assert heading.split() == ["rank", "kind", "score", "passed", "evaluations", "name"]
    assert len(lines) == len(ranked)


def test_an_export_is_written_into_a_file(client: Caller, judged: str, tmp_path: Path) -> None:
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
