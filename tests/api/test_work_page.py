"""The page of the service's work: what waits, what has failed, and trying it again."""

from collections.abc import Callable

from app.analytics.exports import service as exports
from app.audio_files import jobs
from app.core.jobs import leases
from app.core.jobs.leases import TRIES_AFTER_FAILURE
from app.core.runtime import Runtime
from app.evaluations.judging import bulk
from app.imports import service as imports
from app.imports.models import Import
from tests.caller import Caller
from tests.contacts import judge, put_chat
from tests.recordings import ask, upload
from tests.visitor import Visitor


def test_failed_work_says_why_and_is_tried_again(
    client: Caller, runtime: Runtime, visit: Callable[[str], Visitor]
) -> None:
    reviewer = visit("reviewer")
    assert "Nothing waits or runs." in reviewer.get("/work").text
    audio_file_id = upload(client, b"no sound at all", fileName="call.wav")
    job_id = ask(client, audio_file_id)
    page = reviewer.get("/work").text
    assert "Under way: 1" in page
    assert f'data-live="{audio_file_id}"' in page
    jobs.process_audio(runtime, job_id)
    page = reviewer.get("/work").text
    assert "Under way: 0" in page
    assert "Failed: 1" in page
    assert "Try again" not in visit("viewer").get("/work").text
    assert reviewer.post(f"/work/recordings/{audio_file_id}/retry").status_code == 303
    assert "Under way: 1" in reviewer.get("/work").text


def test_every_kind_of_open_work_is_shown_to_those_who_may_see_it(
    client: Caller, visit: Callable[[str], Visitor]
) -> None:
    put_chat(client)
    client.post("/analytics/export", {"dataset": "evaluations", "format": "csv"})
    client.post("/imports", {"items": [{"externalId": "c", "name": "C", "kind": "campaign"}]})
    assert "Under way: 3" in visit("reviewer").get("/work").text
    assert "Under way: 1" in visit("viewer").get("/work").text


def test_a_failed_import_and_a_failed_re_evaluation_continue(
    client: Caller, runtime: Runtime, visit: Callable[[str], Visitor]
) -> None:
    put_chat(client)
    judge()
    sent = client.post(
        "/imports", {"items": [{"externalId": "c", "name": "C", "kind": "campaign"}]}
    )
    import_id = sent.json()["data"]["id"]
    many = client.post("/re-evaluations", {"filters": {}}).json()["data"]["id"]
    with runtime.db.writing() as session:
        lease = leases.claim(session, import_id, Import)
        assert lease
        imports.fail(session, lease, "INTERRUPTED", "The import was interrupted too often.")
    for _ in range(TRIES_AFTER_FAILURE):
        with runtime.db.writing() as session:
            bulk.note_failure(session, many)
    reviewer, viewer = visit("reviewer"), visit("viewer")
    page = reviewer.get("/work").text
    assert "1 evaluation<" in page
    retries = [f"/work/imports/{import_id}/retry", f"/work/re-evaluations/{many}/retry"]
    for retry in retries:
        assert retry in page
        assert viewer.post(retry).status_code == 403
        assert reviewer.post(retry).status_code == 303
        assert reviewer.post(retry).status_code == 409
    page = reviewer.get("/work").text
    assert ("Under way: 2" in page, "Failed: 0" in page) == (True, True)


def test_a_failed_export_is_requested_again(
    client: Caller, runtime: Runtime, visit: Callable[[str], Visitor]
) -> None:
    asked = {"dataset": "evaluations", "format": "csv", "fileName": "mine"}
    export_id = client.post("/analytics/export", asked).json()["data"]["jobId"]
    reviewer = visit("reviewer")
    reviewer.get("/work")
    retry = f"/work/exports/{export_id}/retry"
    assert reviewer.post(retry).status_code == 409
    with runtime.db.writing() as session:
        lease = exports.claim(session, export_id)
        assert lease
        exports.fail(session, lease, code="INTERNAL_ERROR", message="The disk broke.")
    assert retry in reviewer.get("/work").text
    assert visit("viewer").post(retry).status_code == 403
    assert reviewer.post(retry).status_code == 303
    assert "Under way: 1" in reviewer.get("/work").text
    listed = client.get("/analytics/exports").json()["data"]
    assert [item["status"] for item in listed] == ["queued", "failed"]
