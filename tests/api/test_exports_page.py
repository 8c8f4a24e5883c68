"""The page of exports: requested, followed, downloaded, canceled, and who may do so."""

import re
from collections.abc import Callable

import pytest

from app.analytics import jobs
from app.analytics.models import ExportJob
from app.core.runtime import Runtime
from app.people import audit
from tests.caller import Caller
from tests.evaluation_rows import rows_of
from tests.visitor import Visitor


def requested(visitor: Visitor, **form: str) -> str:
    """Request an export by the form; return its id."""
    visitor.get("/exports")
    answer = visitor.post("/exports", {"dataset": "evaluations", "format": "csv", **form})
    assert answer.status_code == 303, answer.text
    match = re.search("exp_[0-9a-z]{26}", visitor.get("/exports").text)
    assert match
    return match[0]


def test_an_export_runs_to_its_download_and_is_audited(
    runtime: Runtime, visit: Callable[[str], Visitor]
) -> None:
    rows_of(runtime, {"score": 80}, {"score": 31})
    reviewer = visit("reviewer")
    export_id = requested(reviewer, minScore="50", fileName="good ones")
    page = reviewer.get("/exports").text
    assert "Waiting" in page
    assert "<td>reviewer</td>" in page
    jobs.run_export(runtime, export_id)
    page = reviewer.get("/exports").text
    assert "Ready" in page
    leads = reviewer.get(f"/exports/{export_id}/file")
    assert leads.status_code == 303
    assert leads.headers["Location"].startswith("/storage/")
    file = reviewer.get(leads.headers["Location"])
    assert len(file.text.splitlines()) == 2
    assert "good ones.csv" in file.headers["Content-Disposition"]
    with runtime.db.reading() as session:
        for action in (audit.Action.EXPORT_REQUESTED, audit.Action.EXPORT_DOWNLOADED):
            assert len(audit.users_who(session, action, export_id)) == 1


def test_a_deleted_file_has_no_link(runtime: Runtime, visit: Callable[[str], Visitor]) -> None:
    reviewer = visit("reviewer")
    export_id = requested(reviewer)
    jobs.run_export(runtime, export_id)
    assert reviewer.post(f"/exports/{export_id}/cancel").status_code == 303
    assert "File deleted" in reviewer.get("/exports").text
    assert reviewer.get(f"/exports/{export_id}/file").status_code == 409


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"minScore": "abc"}, "minScore"),
        ({"minScore": "9" * 5_000}, "minScore"),
        ({"from": "2026-11-02", "to": "2026-11-01"}, "to must be later than from."),
        ({"columns-evaluations": "id,shoe size"}, "columns must be among"),
        ({"dataset": "usage"}, "Your role may not do this."),
    ],
)
def test_a_refused_request_says_why(
    visit: Callable[[str], Visitor], form: dict[str, str], message: str
) -> None:
    reviewer = visit("reviewer")
    reviewer.get("/exports")
    answer = reviewer.post("/exports", {"dataset": "evaluations", "format": "csv", **form})
    assert answer.status_code in (403, 422)
    assert message in answer.text
    assert "Files: 0" in reviewer.get("/exports").text


def test_columns_are_chosen_from_a_list(runtime: Runtime, visit: Callable[[str], Visitor]) -> None:
    reviewer = visit("reviewer")
    page = reviewer.get("/exports").text
    assert 'name="columns-criteria" value="evidence_quotes">Evidence quotes</label>' in page
    assert 'name="columns-evaluations" value="executive_id">Agent id</label>' in page
    form = {"columns-evaluations": "executive,score", "columns-criteria": "weight"}
    export_id = requested(reviewer, dataset="evaluations", **form)
    with runtime.db.reading() as session:
        assert session.get_one(ExportJob, export_id).request["columns"] == ["executive", "score"]


def test_a_viewer_has_no_exports(visit: Callable[[str], Visitor]) -> None:
    viewer = visit("viewer")
    assert viewer.get("/exports").status_code == 403
    assert 'href="/exports"' not in viewer.get("/").text
    assert viewer.post("/exports", {"dataset": "evaluations", "format": "csv"}).status_code == 403


def test_the_list_of_the_api_has_the_exports_whose_rows_a_key_may_read(
    base: str,
    client: Caller,
    make_caller: Callable[..., Caller],
    visit: Callable[[str], Visitor],
) -> None:
    admin = visit("admin")
    ids = [requested(admin, dataset=dataset) for dataset in ("usage", "evaluations", "criteria")]
    requested(admin, dataset="segments", includeText="true")
    narrow = make_caller(base, scopes=["analytics:export", "evaluations:read"])
    listed = narrow.get("/analytics/exports").json()
    assert [item["jobId"] for item in listed["data"]] == [ids[2], ids[1]]
    assert client.get("/analytics/exports").json()["pagination"]["totalCount"] == 4
    assert (
        client.get("/analytics/exports?status=queued&dataset=usage").json()["data"][0]["jobId"]
        == ids[0]
    )
    assert client.get("/analytics/exports?status=ready,failed").json()["data"] == []
    assert (
        make_caller(base, scopes=["evaluations:read"]).get("/analytics/exports").status_code == 403
    )
