"""The page of one evaluation over HTTP: forms of reviews, second opinions, masked and erased words."""

import re
from datetime import datetime
from html import unescape
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import select

from app.audio_files import jobs
from app.core.runtime import Runtime
from app.people.models import AuditEntry
from app.privacy import service
from tests.caller import Caller
from tests.contacts import get, judge, put_call, put_chat
from tests.recordings import CALL, SPEECH, upload, work


@pytest.fixture
def chat(client: Caller, runtime: Runtime) -> str:
    made = put_chat(client)
    judge()
    return str(made["evaluationId"])


def noted(runtime: Runtime) -> list[str]:
    with runtime.db.reading() as session:
        return [
            action
            for action in session.scalars(select(AuditEntry.action).order_by(AuditEntry.at))
            if not action.startswith("signed")
        ]


def test_opening_an_evaluation_is_noted_once_a_day(runtime: Runtime, visit: Any, chat: str) -> None:
    viewer = visit("viewer")
    for _ in range(2):
        page = viewer.get(f"/evaluations/{chat}")
        assert page.status_code == 200
        assert "Scorecard" in page.text
    assert noted(runtime) == ["evaluation_opened"]
    another = chat[:-1] + ("1" if chat.endswith("0") else "0")
    assert viewer.get(f"/evaluations/{another}").status_code == 404


def test_a_page_says_on_which_platform_a_conversation_was(client: Caller, visit: Any) -> None:
    viewer, shown = visit("viewer"), {}
    for platform in ("email", "whatsapp", "web"):
        made = put_chat(client, platform, platform=platform)
        judge()
        page = viewer.get(f"/evaluations/{made['evaluationId']}").text
        shown[platform] = " ".join(
            re.findall(r"<h1>.*?</h1>\s*<p[^>]*>(.*?)</p>", page, re.S)[0].split()
        )
    assert shown["email"].startswith("E-mail of ")
    assert shown["whatsapp"].startswith("WhatsApp of ")
    assert shown["web"].startswith("Chat of ")


def test_a_review_of_a_form_is_the_review_of_the_person(
    client: Caller, runtime: Runtime, visit: Any, chat: str
) -> None:
    before = get(client, f"/evaluations/{chat}/results")
    reviewer = visit("reviewer")
    reviewer.get(f"/evaluations/{chat}")
    form = {
        "action": "override",
        "reason": "I read it otherwise.",
        "reviewsSeen": "0",
        "reviewer": "Somebody Else",
        "resolution": "escalated",
        "answer.opening.greeting": "answer:no",
        "reason.opening.greeting": "No name.",
        "answer.closing.recap": "not_applicable",
        "answer.discovery.probing": "",
    }
    preview = reviewer.post(f"/live/preview/{chat}", form)
    assert preview.status_code == 200, preview.text
    saved = reviewer.post(f"/evaluations/{chat}/reviews", form)
    assert saved.status_code == 303
    after = get(client, f"/evaluations/{chat}/results")
    assert before["score"] != after["score"] == preview.json()["score"]
    assert after["resolution"]["status"] == "escalated"
    [review] = after["reviews"]
    assert review["reviewer"] == "reviewer"
    assert [rating["key"] for rating in review["criteria"]] == ["opening.greeting", "closing.recap"]
    assert "reviewed" in noted(runtime)
    page = reviewer.get(f"/evaluations/{chat}").text
    assert "The judge's answer: <b>Yes</b>" in page
    judged = reviewer.get(f"/evaluations/{chat}?asJudged=true").text
    assert "The judge's answer" not in judged


def test_a_reviewer_confirms_unless_another_action_is_chosen(visit: Any, chat: str) -> None:
    reviewer = visit("reviewer")
    page = reviewer.get(f"/evaluations/{chat}").text
    assert re.findall(r'<option value="(\w+)" selected>[^<]*judgement', page) == ["confirm"]
    assert '<option value="request">' in page
    refused = reviewer.post(f"/evaluations/{chat}/reviews", {"action": "dispute"})
    assert refused.status_code == 422
    assert '<option value="dispute" selected>' in refused.text
    assert '<option value="confirm">' in refused.text


def test_the_list_of_keys_has_those_that_work_on_the_page(visit: Any, chat: str) -> None:
    for role in ("reviewer", "viewer"):
        keys = visit(role).get(f"/evaluations/{chat}").text.partition('id="keys-title"')[2]
        assert "Previous criterion, or the next" in keys
        assert ("Change the answer of the criterion" in keys) is (role == "reviewer")
        assert "Play or pause" not in keys


def test_the_number_of_measured_latencies_is_not_in_milliseconds(
    client: Caller, visit: Any
) -> None:
    made = put_call(client, latencyMs=[900, 1000])
    judge()
    page = visit("viewer").get(f"/evaluations/{made['evaluationId']}").text
    assert "<dt>Max</dt><dd>1000 ms</dd>" in page
    assert "<dt>Count</dt><dd>2</dd>" in page


def test_a_critical_failure_is_named_and_leads_to_its_criterion(visit: Any, chat: str) -> None:
    reviewer = visit("reviewer")
    reviewer.get(f"/evaluations/{chat}")
    form = {
        "action": "override",
        "reason": "The agent asked for the code of the card.",
        "reviewsSeen": "0",
        "answer.compliance.data_handling": "answer:no",
    }
    assert reviewer.post(f"/evaluations/{chat}/reviews", form).status_code == 303
    page = reviewer.get(f"/evaluations/{chat}").text
    link = '<a href="#criterion-compliance.data_handling">Data handling</a>'
    assert f"{link} failed, which fails the whole evaluation." in page
    assert 'id="criterion-compliance.data_handling"' in page


def test_the_history_has_the_times_of_the_persons_zone(
    client: Caller, visit: Any, chat: str
) -> None:
    reviewer = visit("reviewer")
    reviewer.get(f"/evaluations/{chat}")
    comment = {"action": "comment", "reason": "Read.", "reviewsSeen": "0"}
    assert reviewer.post(f"/evaluations/{chat}/reviews", comment).status_code == 303
    profile = {"displayName": "R", "theme": "dark", "letterKeys": "on"}
    zone = {"timezone": "Asia/Kathmandu", **profile}
    assert reviewer.post("/settings", zone).status_code == 303
    [review] = get(client, f"/evaluations/{chat}/results")["reviews"]
    there = datetime.fromisoformat(review["createdAt"]).astimezone(ZoneInfo("Asia/Kathmandu"))
    history = reviewer.get(f"/evaluations/{chat}").text.partition(">Reviews</h3>")[2]
    assert f">{there.day} {there:%b %Y, %H:%M}</time>" in history


def test_a_refused_review_says_why_and_keeps_what_was_typed(
    client: Caller, visit: Any, chat: str
) -> None:
    reviewer = visit("reviewer")
    reviewer.get(f"/evaluations/{chat}")
    form = {
        "action": "override",
        "reason": "Typed with care.",
        "answer.opening.greeting": "answer:9",
    }
    refused = reviewer.post(f"/evaluations/{chat}/reviews", form)
    assert refused.status_code == 422
    assert "answer must be one of yes, no" in refused.text
    assert "Typed with care." in refused.text
    reason = "No name was given."
    unanswered = {
        "action": "confirm",
        "answer.opening.greeting": "",
        "reason.opening.greeting": reason,
    }
    refused = reviewer.post(f"/evaluations/{chat}/reviews", unanswered)
    assert refused.status_code == 422
    assert "opening.greeting: Choose an answer" in refused.text
    assert re.search(r'id="criterion-opening.greeting" open>', refused.text)
    assert 'value="No name was given."' in refused.text
    late = {"action": "confirm", "reason": "Typed with care.", "reviewsSeen": "7"}
    conflict = reviewer.post(f"/evaluations/{chat}/reviews", late)
    assert conflict.status_code == 409
    assert "Typed with care." in conflict.text
    assert get(client, f"/evaluations/{chat}/results")["reviews"] == []
    viewer = visit("viewer")
    viewer.get(f"/evaluations/{chat}")
    assert viewer.post(f"/evaluations/{chat}/reviews", form).status_code == 403


def test_digits_that_are_no_number_are_refused_like_other_texts(visit: Any, chat: str) -> None:
    reviewer = visit("reviewer")
    reviewer.get(f"/evaluations/{chat}")
    form = {"action": "override", "reason": "Typed.", "answer.opening.greeting": "answer:no"}
    for field in (
        {"answer.opening.greeting": f"answer:{'9' * 5_000}"},
        {"quote.opening.greeting": "seg_0001:\N{SUPERSCRIPT TWO}:never said"},
    ):
        refused = reviewer.post(f"/evaluations/{chat}/reviews", {**form, **field})
        assert refused.status_code == 422
    seen = {"reviewsSeen": "\N{SUPERSCRIPT TWO}"}
    assert reviewer.post(f"/evaluations/{chat}/reviews", {**form, **seen}).status_code == 303


def test_a_second_opinion_is_given_without_seeing_the_first(
    client: Caller, visit: Any, chat: str
) -> None:
    results = get(client, f"/evaluations/{chat}/results")
    reviewer = visit("reviewer")
    page = reviewer.get(f"/evaluations/{chat}/blind")
    assert page.status_code == 200
    shown = re.sub(r"\s+", " ", page.text)
    assert "Does the agent" in shown
    assert "of 100" not in shown
    assert "<mark" not in shown
    assert " selected" not in shown
    secrets = [item["explanation"] for item in results["criteria"] if item["explanation"]]
    secrets += [results["summary"]["overview"]]
    assert [secret for secret in secrets if secret in page.text] == []
    form = {"blind": "1", "action": "comment", "reason": "", "answer.opening.greeting": "answer:no"}
    refused = reviewer.post(f"/evaluations/{chat}/reviews", form)
    assert refused.status_code == 422
    assert "of 100" not in refused.text
    given = reviewer.post(f"/evaluations/{chat}/reviews", {**form, "reason": "My own view."})
    assert given.status_code == 303
    after = get(client, f"/evaluations/{chat}/results")
    assert (after["score"], len(after["reviews"])) == (results["score"], 1)


def test_unmasked_words_need_the_scope_and_are_noted(
    runtime: Runtime, visit: Any, chat: str
) -> None:
    assert visit("lead").get(f"/evaluations/{chat}?words=raw").status_code == 403
    assert noted(runtime) == []
    assert visit("admin").get(f"/evaluations/{chat}?words=raw").status_code == 200
    assert noted(runtime) == ["raw_texts_read"]


def test_a_sheet_has_score_and_advice_and_is_noted_as_opened(
    client: Caller, runtime: Runtime, visit: Any, chat: str
) -> None:
    results = get(client, f"/evaluations/{chat}/results")
    viewer = visit("viewer")
    sheet = viewer.get(f"/evaluations/{chat}/sheet")
    assert sheet.status_code == 200
    assert f"<b>{results['score']}</b> of 100" in sheet.text
    advice = [item["text"][:60] for kind in results["coaching"].values() for item in kind]
    assert advice
    assert [text for text in advice if text not in unescape(sheet.text)] == []
    assert noted(runtime) == ["evaluation_opened"]
    waiting = put_chat(client, "waiting")["evaluationId"]
    assert viewer.get(f"/evaluations/{waiting}/sheet").status_code == 409


def test_an_erased_conversation_keeps_its_numbers_and_says_so(
    client: Caller, runtime: Runtime, visit: Any, chat: str
) -> None:
    score = get(client, f"/evaluations/{chat}/results")["score"]
    conversation = get(client, f"/evaluations/{chat}")["sourceId"]
    with runtime.db.writing() as session:
        service.erase_conversations(session, [conversation])
    page = visit("viewer").get(f"/evaluations/{chat}")
    assert page.status_code == 200
    assert "The words were erased" in page.text
    assert f"<b>{score}</b> of 100" in page.text


def test_a_recording_that_failed_is_tried_again_from_its_file(
    client: Caller, runtime: Runtime, visit: Any
) -> None:
    recording = upload(client, b"RIFF not a recording")
    assert work(client, recording)["status"] == "failed"
    evaluation = get(client, f"/audio-files/{recording}")["evaluationId"]
    reviewer = visit("reviewer")
    page = reviewer.get(f"/evaluations/{evaluation}")
    assert "The recording could not be transcribed" in page.text
    assert "Try again" in page.text
    again = reviewer.post(f"/evaluations/{evaluation}/again")
    assert again.status_code == 303
    waiting = reviewer.get(again.headers["Location"])
    assert "Waiting" in waiting.text
    jobs.process_audio(runtime, jobs.due_ids(runtime)[0])
    assert "Try again" in reviewer.get(again.headers["Location"]).text
    assert "recording_retried" in noted(runtime)
    assert "re_evaluated" not in noted(runtime)


def test_judging_again_opens_a_revision_with_what_changed(
    client: Caller, visit: Any, chat: str
) -> None:
    reviewer = visit("reviewer")
    reviewer.get(f"/evaluations/{chat}")
    override = {"action": "override", "reason": "No.", "answer.opening.greeting": "answer:no"}
    assert reviewer.post(f"/evaluations/{chat}/reviews", override).status_code == 303
    unknown = reviewer.post(f"/evaluations/{chat}/again", {"scorecardId": "sc_nothing"})
    assert unknown.status_code == 422
    scorecard = get(client, f"/evaluations/{chat}")["scorecardId"]
    again = reviewer.post(f"/evaluations/{chat}/again", {"scorecardId": scorecard})
    opened = again.headers["Location"]
    assert reviewer.post(f"/evaluations/{chat}/again").status_code == 409
    judge()
    page = reviewer.get(opened).text
    assert "Changed since revision 1" in page
    assert re.search(r"<td>No</td><td>Yes</td><td>by rule</td>", page)
    assert "Another revision" in reviewer.get(f"/evaluations/{chat}").text


def test_a_list_leads_to_the_neighbours(visit: Any, chat: str) -> None:
    page = visit("viewer").get(f"/evaluations/{chat}?in=minScore%3D1&at=3").text
    assert 'href="/evaluations/at?in=minScore%3D1&amp;at=2"' in page
    assert 'href="/evaluations/at?in=minScore%3D1&amp;at=4"' in page


def test_a_recording_that_is_processed_has_its_words_and_its_sound(
    client: Caller, visit: Any
) -> None:
    recording = upload(client, SPEECH.read_bytes(), contentType="audio/mpeg")
    evaluation = work(client, recording)["evaluationId"]
    page = visit("reviewer").get(f"/evaluations/{evaluation}").text
    assert f'src="/recordings/{recording}/sound"' in page
    assert f'data-wave="/recordings/{recording}/wave"' in page
    assert 'class="turn' in page


def test_one_click_swaps_the_sides_of_a_recording(
    client: Caller, runtime: Runtime, visit: Any
) -> None:
    recording = upload(client, CALL.read_bytes())
    evaluation_id = work(client, recording, language="en")["evaluationId"]
    visitor = visit("reviewer")
    page = visitor.get(f"/evaluations/{evaluation_id}").text
    assert page.count("This voice is the agent") == 1
    assert visitor.post(f"/evaluations/{evaluation_id}/sides", {"agent": "7"}).status_code == 422
    answer = visitor.post(f"/evaluations/{evaluation_id}/sides", {"agent": "1"})
    assert answer.status_code == 303
    jobs.process_audio(runtime, jobs.due_ids(runtime)[0])
    shown = client.get(f"/audio-files/{recording}").json()["data"]
    assert shown["channelMap"] == {"agent": 1, "customer": 0}
    transcript = client.get(f"/audio-files/{recording}/transcript").json()["data"]
    roles = {part["channelIndex"]: part["role"] for part in transcript["segments"]}
    assert roles == {0: "customer", 1: "agent"}
